package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"sync/atomic"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/nn"
)

// Run is a job under way on a worker, as its hooks see it.
type Run struct {
	Fleet *fleet.Fleet
	Job   *Job
	// Epoch is the one that is under way, from 0.
	Epoch int
	// History is the evaluations so far, also from before the job was started again; a checkpoint has room for
	// some hundreds of them, and the others are read back from history.csv. Hooks keep what they need of them in a
	// State.
	History []Evaluation
	// User is the program's own, at most a few kilobytes: checkpoints have it, and a job that is started again begins
	// with it.
	User []byte

	hooks       []Hooks
	recovers    bool        // checkpoints are saved by themselves
	dir         string      // there
	gone        []int       // workers that were not there when workers met last
	lost        map[int]int // by worker that is gone, the epoch that ended without it first
	together    bool        // threads wait for each other's steps before any of them counts
	inStep      bool        // workers wait for each other's steps
	train, test *dataset.Dataset
	exe, judge  *nn.Executor // that trains, that evaluates
	share, all  int          // examples of this worker, and of all, in the epoch, 0 if unknown
	least       int          // of the worker that has the fewest
	// epochs that the job has ended: a worker that was lost trains what it lacks of them by itself
	front int
	lag   bool // a worker lacked some when workers met last
	// examples of such epochs that this worker has trained on, and that no epoch's end has counted
	extra   int
	behind  int // steps of the epoch that this worker had behind it when it began
	due     int // the step of the epoch behind which the next evaluation comes
	before  int // examples that all workers trained on in epochs before
	middles int // evaluations in the middle of the epoch so far
	lacking int // evaluations that History lacks, since the checkpoint had no room for them
	last    nn.TrainResult
	curve   curve
	then    *order // that of the checkpoint which the job goes on from, nil if it is not known
	partly  part   // how much of the last epoch was trained
	stock   stock  // what there is to train on, of all workers
	left    string // what the job says last: what it has saved
	small   bool   // it was said that a batch is larger than the data
	leads   bool
	lowest  bool                   // of the workers that live, which may set the rate
	dead    bool                   // the model was said to predict without regard to the rows
	keeps   *keeper                // of the best model; nil if the job leaves that of its last step
	late    bool                   // this worker was started again alone, and the others train on
	stop    atomic.Pointer[string] // why this worker wants to end; nil if it does not
	agreed  atomic.Bool            // workers have met, of which one wants to end
	apart   atomic.Bool            // a worker without servers has come to the end of its share
	over    bool                   // by agreement of all workers
}

// Leads says whether this worker is the one that acts for all, prints and saves: the lowest that lived when workers met
// last.
func (r *Run) Leads() bool { return r.leads }

// Stop ends the epoch of this worker, after the step that is under way and the one that was read ahead, and the job
// when the others have come to the end of theirs: all then evaluate, and the model is saved. Workers without servers,
// where EvalEvery has them evaluate together, end at the next evaluation. Hooks that decide by an evaluation decide
// alike, so that all workers end at once. why is for people. Any goroutine may call it.
func (r *Run) Stop(why string) {
	r.stop.CompareAndSwap(nil, &why)
}

func (r *Run) stopping() bool { return r.stop.Load() != nil }

// why is why the job is over.
func (r *Run) why() string {
	switch p := r.stop.Load(); {
	case !r.over:
		return ""
	case p == nil:
		return "another worker has stopped the job"
	default:
		return *p
	}
}

func (r *Run) result() Result {
	res := Result{History: r.History, Epoch: r.last, Stopped: r.why()}
	if n := len(r.History); n > 0 {
		res.Last = r.History[n-1]
	}
	return res
}

// work is a worker's part of the job.
func (r *Run) work(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	for ; r.Epoch < r.Job.Epochs && !r.over; r.Epoch++ {
		if err := r.epoch(ctx); err != nil {
			return err
		}
	}
	if err := r.await(ctx); err != nil {
		return err
	}
	if r.over && r.leads {
		fmt.Fprintf(r.Job.Stdout, "stopped %s: %s\n", r.stoppedAt(), r.why())
	}
	if err := r.save(ctx); err != nil {
		return err
	}
	return r.plain(ctx, func(h Hooks) func(context.Context, *Run) error { return h.End })
}

// begin brings the rows and the place where the job goes on.
func (r *Run) begin(ctx context.Context) (err error) {
	j := r.Job
	r.hooks = append(r.hooks, j.Hooks...)
	if j.Patience > 0 {
		r.hooks = append(r.hooks, EarlyStopping{Patience: j.Patience}.Hooks())
	}
	if j.Out != "" {
		r.hooks = append(r.hooks, HistoryCSV(filepath.Join(j.Out, "history.csv")),
			Curves(filepath.Join(j.Out, "curves.svg")))
	}
	if r.train, r.test, err = j.Data(ctx); err != nil {
		return err
	}
	if r.train == nil {
		return fmt.Errorf("train: Job.Data gave no rows to train on")
	}
	own := stockOf(r.train)
	if r.stock = own; j.Sharded {
		r.stock = stock{Rows: -1} // until all have said what they have
	}
	r.late = r.Fleet.CatchUp() > 0
	if err := r.resume(); err != nil {
		return err
	}
	r.exe, r.judge = nn.NewExecutor(j.Loss.Graph()), nn.NewExecutor(j.Loss.Graph())
	r.lowest = r.Fleet.WorkerIndex() == 0
	r.leads = r.lowest && !r.late
	if err := r.tellRate(ctx); err != nil {
		return err
	}
	if j.Out != "" && r.leads { // what can't be written is told before hours of training
		if err := files.CheckWritable(j.Out); err != nil {
			return fmt.Errorf("train: -out=%s, where the job leaves what it has trained: %w", j.Out, err)
		}
	}
	if !r.late { // all begin together, so that their rates are of the same time
		words, _, err := r.meet(ctx, word{Ended: true, Card: &card{r.Fleet.WorkerIndex(),
			[2]stock{own, stockOf(r.test)}}})
		if err == nil {
			err = r.compare(ctx, words)
		}
		if err != nil {
			return err
		}
	}
	r.warn()
	return r.plain(ctx, func(h Hooks) func(context.Context, *Run) error { return h.Begin })
}

// epoch trains, and evaluates with the others when all have finished. One that the others have ended without this
// worker it trains alone.
func (r *Run) epoch(ctx context.Context) (err error) {
	alone := r.Epoch < r.front
	if !alone {
		if err := r.plain(ctx, func(h Hooks) func(context.Context, *Run) error { return h.EpochBegin }); err != nil {
			return err
		}
	}
	if r.last, err = r.pass(ctx); err != nil {
		return err
	}
	if err := r.exe.Close(ctx); err != nil { // what was pushed is applied
		return err
	}
	if !alone {
		if alone, err = r.end(ctx); err != nil {
			return err
		}
	}
	if alone && r.last.Samples > 0 {
		r.extra += r.last.Samples + r.last.Passed
	}
	if err := r.progress(r.Epoch + 1); err != nil || alone {
		return err
	}
	return r.checkpoint(ctx)
}

// end waits until all have ended the epoch, evaluates as often as others on their way do, and agrees with them whether
// it was the last. Where a worker lacks epochs before, all wait until it has trained them; alone says that it is this
// one.
func (r *Run) end(ctx context.Context) (alone bool, err error) {
	for over := false; !over; {
		words, others, err := r.meet(ctx, word{Ended: true})
		if err != nil || r.Epoch < r.front {
			return true, err
		}
		switch over = !slices.ContainsFunc(words, func(w word) bool { return !w.Ended }); {
		case over && others == meets && !r.lag && r.stands():
			over, err = false, r.standIn(ctx)
		case others == meets && !r.lag:
			err = r.evaluate(ctx, r.last, over)
		case others == measures:
			over, err = r.adopt(ctx, words)
		default:
			over = false
		}
		if err != nil {
			return false, err
		}
	}
	if err := r.epochEnded(ctx, r.last); err != nil {
		return false, err
	}
	_, _, err = r.meet(ctx, word{Kind: agrees, Ended: true}) // hooks may have stopped the job
	return false, err
}

// await has a job that has ended all epochs, and goes on since a worker lacks some of them, wait for that one and
// evaluate again.
func (r *Run) await(ctx context.Context) error {
	if !r.lag || r.over {
		return nil
	}
	for r.lag {
		if _, _, err := r.meet(ctx, word{Ended: true}); err != nil {
			return err
		}
	}
	if err := r.evaluate(ctx, nn.TrainResult{}, true); err != nil {
		return err
	}
	return r.checkpoint(ctx)
}

// pass trains on this worker's share of the epoch; on none of it where the job was stopped before the first step.
func (r *Run) pass(ctx context.Context) (nn.TrainResult, error) {
	res, err := r.trainShare(ctx)
	if errors.Is(err, nn.ErrNoBatches) && r.stopping() {
		none := func(func(dataset.Batch, error) bool) {}
		at := r.Fleet.Position()
		// the others have to know that this epoch is over
		res, err = r.exe.TrainFrom(ctx, none, nn.TrainOptions{MayBeEmpty: true})
		if at.Epoch == r.Epoch {
			res.Passed = at.Samples
		}
	}
	return res, err
}

func (r *Run) trainShare(ctx context.Context) (nn.TrainResult, error) {
	j := r.Job
	r.exe.ResetMetrics()
	r.curve.restart()
	rows := r.rows()
	if rows == nil {
		return nn.TrainResult{}, fmt.Errorf("train: Job.Rows(%d, …) gave no rows: an epoch needs a dataset", r.Epoch)
	}
	mine, err := r.deal(ctx, rows)
	if err != nil {
		return nn.TrainResult{}, err
	}
	r.warnBatch()
	r.apart.Store(false)
	if err := r.goOn(ctx); err != nil {
		return nn.TrainResult{}, err
	}
	options := nn.TrainOptions{Fetch: j.Show, Step: r.step,
		Progress: &nn.Progress{Out: j.Stdout, Label: r.label() + r.whose(), Total: r.share}}
	if j.Threads > 1 {
		return nn.TrainThreads(ctx, j.Loss.Graph(), j.Threads, func(thread int) iter.Seq2[dataset.Batch, error] {
			return r.untilStopped(mine.Shard(thread, j.Threads).Prefetch(2).MayBeEmpty().BatchesContext(ctx, j.Batch))
		}, options)
	}
	return r.exe.TrainFrom(ctx, r.untilStopped(r.batches(ctx, mine)), options)
}

// batches are this worker's share. Of one that is trained in part a batch ends where the checkpoint did,
// though batches had another size then.
func (r *Run) batches(ctx context.Context, mine *dataset.Dataset) iter.Seq2[dataset.Batch, error] {
	of := func(rows *dataset.Dataset) iter.Seq2[dataset.Batch, error] {
		return rows.Prefetch(2).BatchesContext(ctx, r.Job.Batch)
	}
	at := r.Fleet.Position().In(r.Epoch)
	if at == math.MaxInt || at%r.Job.Batch == 0 {
		return of(mine)
	}
	return func(yield func(dataset.Batch, error) bool) {
		for _, rows := range []*dataset.Dataset{mine.Take(at), mine.Skip(at).MayBeEmpty()} {
			for batch, err := range of(rows) {
				if !yield(batch, err) {
					return
				}
			}
		}
	}
}

// rows are the epoch's, of all workers.
func (r *Run) rows() *dataset.Dataset { return r.rowsOf(r.Epoch) }

func (r *Run) rowsOf(epoch int) *dataset.Dataset {
	if r.Job.Rows != nil {
		return r.Job.Rows(epoch, r.train)
	}
	return r.train.Shuffle(r.Job.Seed).Epoch(epoch)
}

// whose says that progress is of one worker alone.
func (r *Run) whose() string {
	if r.Fleet.WorkerNum() == 1 {
		return ""
	}
	return fmt.Sprintf("  worker %d", r.Fleet.WorkerIndex())
}

func (r *Run) label() string {
	return fmt.Sprintf("epoch %d/%d", min(r.Epoch+1, r.Job.Epochs), r.Job.Epochs)
}

// untilStopped are the batches until the job is over.
func (r *Run) untilStopped(batches iter.Seq2[dataset.Batch, error]) iter.Seq2[map[string]*tensor.Dense, error] {
	return func(yield func(map[string]*tensor.Dense, error) bool) {
		for batch, err := range batches {
			if r.ending() || !yield(batch, err) {
				return
			}
		}
	}
}

// step is called after each step of the epoch.
func (r *Run) step(ctx context.Context, so nn.TrainResult) error {
	r.curve.step(so, r.before+(so.Samples+so.Passed)*r.Fleet.WorkerNum())
	if err := r.stepped(ctx, so); err != nil {
		return err
	}
	return r.between(ctx, so)
}

// goOn finds where the next evaluation comes in an epoch of which this worker has some steps behind it. It comes at
// once where it is due behind these, and had not been made when the checkpoint was saved.
func (r *Run) goOn(ctx context.Context) error {
	every, passed := r.Job.EvalEvery, r.Fleet.Position().In(r.Epoch)
	if r.behind, r.due = passed/r.Job.Batch, every; every == 0 || passed == 0 || passed == math.MaxInt {
		return nil
	}
	r.due = r.behind - r.behind%every
	if r.due < r.behind || r.late || r.middles >= r.behind/every {
		r.due += every
	}
	return r.between(ctx, nn.TrainResult{Passed: passed})
}

// between evaluates between two steps of the epoch, where that is due.
func (r *Run) between(ctx context.Context, so nn.TrainResult) error {
	if r.parted(so) {
		r.apart.Store(true)
	}
	ended := so.Samples+so.Passed == r.share || r.apart.Load() // the epoch's end evaluates too
	if r.Job.EvalEvery == 0 || r.Epoch < r.front || r.behind+so.Steps < r.due || ended || r.ending() {
		return nil
	}
	r.due = r.behind + so.Steps + r.Job.EvalEvery
	return r.middle(ctx, so)
}

// ending says whether this worker trains no more in this epoch, since somebody has stopped the job. Workers without
// servers make their steps together, and workers that evaluate between two of them stop where they meet, which all do.
func (r *Run) ending() bool {
	if r.Fleet.ServerNum() > 0 || r.Fleet.WorkerNum() == 1 || r.Job.EvalEvery == 0 || r.apart.Load() {
		return r.stopping()
	}
	return r.agreed.Load()
}

// parted says whether another worker has come to the end of its share, of workers without servers: it makes the steps
// of the rest with them until all have, and can't evaluate between two. All make the same steps, so that all know.
func (r *Run) parted(so nn.TrainResult) bool {
	return r.Fleet.ServerNum() == 0 && r.share > 0 && so.Samples+so.Passed >= r.least
}

// middle evaluates in the middle of an epoch. A worker that is late finds the others where they are.
func (r *Run) middle(ctx context.Context, so nn.TrainResult) error {
	if !r.together {
		defer so.Still()()
	}
	for {
		words, others, err := r.meet(ctx, word{})
		if err != nil || r.Epoch < r.front {
			return err
		}
		switch {
		case others == meets && !r.lag:
			return r.evaluate(ctx, so, false)
		case others == measures:
			over, err := r.adopt(ctx, words)
			if err == nil && over {
				_, _, err = r.meet(ctx, word{Kind: agrees})
			}
			return err
		case others == agrees:
			return nil
		}
	}
}
