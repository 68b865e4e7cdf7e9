package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/nn"
)

// work is a worker's part of the job.
func (r *Run) work(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	for {
		t, err := r.stand(ctx)
		if err != nil {
			return err
		}
		if r.course.over != nil {
			break
		}
		if err := r.epoch(ctx, t); err != nil {
			return err
		}
	}
	if why := r.why(); why != "" {
		if err := r.record(r.Fleet.Progress().Epoch); err != nil {
			return err
		}
		if r.course.leads {
			fmt.Fprintf(r.Job.Stdout, "stopped %s: %s\n", r.past.stoppedAt(r.course.ended, r.Job.Epochs), why)
		}
	}
	if err := r.written(); err != nil {
		return err
	}
	if r.course.leads {
		r.warnUseless()
		if r.days != nil {
			r.sayDays()
		}
	}
	if err := r.save(ctx); err != nil {
		return err
	}
	return r.hooks.plain(ctx, r, func(h Hooks) func(context.Context, *Run) error { return h.End })
}

// prepare loads the rows and finds the place where the job goes on.
func (r *Run) prepare(ctx context.Context) (err error) {
	r.takeHooks()
	own, err := r.load(ctx)
	if err != nil {
		return err
	}
	stopped, err := r.resume()
	if err != nil {
		return err
	}
	j := r.Job
	r.exe, r.tests.exe = nn.NewExecutor(j.Loss.Graph()), nn.NewExecutor(j.Loss.Graph())
	if j.Out != "" && r.Fleet.WorkerIndex() == 0 {
		if err := r.takeOut(ctx); err != nil {
			return fmt.Errorf("train: -out=%s, where the job leaves what it has trained: %w", j.Out, err)
		}
	}
	if err := r.begin(ctx, card{r.Fleet.WorkerIndex(), [2]stock{own, stockOf(r.tests.rows)}, j.format(),
		r.shares.other}); err != nil {
		return err
	}
	if r.days != nil && r.days.Publish.Dir != "" && r.course.leads {
		switch err := r.publishing.Take(ctx, r.days.Publish.Dir); {
		case errors.Is(err, checkpoint.ErrOurs): // who has led before lets go once it is told
		case errors.Is(err, checkpoint.ErrTaken) || errors.Is(err, checkpoint.ErrNoConditions) || ctx.Err() != nil:
			return fmt.Errorf("train: Days.Publish: %w", err)
		case err != nil:
			slog.Warn("train: the directory of what is published could not be claimed, which is tried again before "+
				"anything is written there", "dir", r.days.Publish.Dir, "error", err)
		}
	}
	r.fitRows() // the number of all rows is known now
	r.warnShallow()
	if err := r.record(r.Epoch); err != nil {
		return err
	}
	if r.sayWhere(stopped); !stopped {
		if err := r.look(ctx); err != nil {
			return err
		}
	}
	if err := r.tellRate(ctx); err != nil {
		return err
	}
	if (r.course.leads || !r.inStep) && !stopped { // in step all are at the same place
		r.shares.warnOrder(r.Epoch)
	}
	r.shown.begin(&r.curve, r.History)
	if err := r.hooks.plain(ctx, r, func(h Hooks) func(context.Context, *Run) error { return h.Begin }); err != nil {
		return err
	}
	if r.days != nil {
		r.course.member.Chooses()
	}
	r.course.member.Begun(j.Epochs, r.leases(), j.Sharded && r.days == nil)
	return nil
}

// takeHooks takes the job's hooks, and those of its options behind them.
func (r *Run) takeHooks() {
	j := r.Job
	r.hooks = append(r.hooks, j.Hooks...)
	if r.stopping.idle = true; j.Patience > 0 || j.Epochs == 0 && !j.named("patience") && r.days == nil {
		r.stopping = EarlyStopping{Patience: j.Patience, idle: j.Patience == 0}
		r.hooks = append(r.hooks, r.stopping.hooks())
	}
	if j.TensorBoard != "" {
		r.hooks = append(r.hooks, TensorBoard{Dir: j.TensorBoard}.Hooks())
	}
	if j.LogJSON != "" {
		r.hooks = append(r.hooks, HistoryJSON(j.LogJSON))
	}
	if j.Out != "" {
		r.hooks = append(r.hooks, j.told(), HistoryCSV(files.Join(j.Out, "history.csv")),
			Curves(files.Join(j.Out, "curves.svg")), Calibration(files.Join(j.Out, "calibration.svg")))
	}
	if r.days != nil {
		r.hooks = append(r.hooks, Hooks{EpochEnd: r.endDay})
	}
}

// load loads the rows, unless days bring them, and returns what this worker has of them to train on.
func (r *Run) load(ctx context.Context) (own stock, err error) {
	daily := r.days != nil
	if !daily {
		if r.shares.train, r.tests.rows, err = r.Job.Data(ctx); err != nil {
			return own, err
		}
		if r.shares.train == nil {
			return own, errNoRows
		}
	}
	if daily || r.tests.rows != nil {
		r.tests.constant = newConstant(r.tests.nodes(), r.tests.names()[1:])
	}
	if c := r.tests.constant; c != nil {
		c.daily = daily
	}
	if own = stockOf(r.shares.train); daily {
		own.Rows = -1
	}
	if r.shares.stock = own; r.Job.Sharded {
		r.shares.stock = stock{Rows: -1} // until all workers have sent their numbers
	}
	return own, nil
}

// fitRows sets the options that nobody names by the rows of all workers.
func (r *Run) fitRows() {
	rows, of := r.shares.stock.Rows, "rows, whose number is not known"
	if rows >= 0 {
		of = grouped(rows) + " rows"
	}
	o := r.Job.fitting(rows, r.lanes)
	if o != r.Job.fitting(rows, 1) {
		of += fmt.Sprintf(" and %d gradients at a time", r.lanes)
	}
	r.fit(o, "for "+of)
}

func (r *Run) fit(o order, why string) {
	if r.days != nil {
		o.Epochs, o.Patience = 0, 0
	}
	said := r.Job.fit(o, r.tests.rows != nil)
	if n := r.Job.Patience; n > 0 {
		r.stopping.Patience, r.stopping.idle = n, false
	}
	if said != "" && r.Fleet.WorkerIndex() == 0 {
		fmt.Fprintf(r.Job.Stdout, "%s%s\n", said, why)
	}
}

// epoch trains this worker's share of an epoch. One that the others have ended without this worker it trains without
// hooks and evaluations.
func (r *Run) epoch(ctx context.Context, t *epoch.Told) (err error) {
	c := &r.course
	if r.Epoch, c.middles = t.Epoch, t.Middles; t.Why != "" {
		r.ends.agreed.Store(true)
	}
	if err := r.record(r.Epoch); err != nil {
		return err
	}
	if !t.Alone {
		if err := r.beginEpoch(ctx); err != nil {
			return err
		}
	}
	if r.days != nil {
		if err := r.beginDay(ctx, t); err != nil {
			return err
		}
	}
	if r.last, err = r.pass(ctx); err != nil {
		return err
	}
	if err := r.exe.Close(ctx); err != nil { // all pushes are applied then
		return err
	}
	if c.over != nil {
		return nil
	}
	if r.shares.past[r.Epoch] = r.last.Samples + r.last.Passed; c.alone {
		if err := r.record(r.Epoch + 1); err != nil {
			return err
		}
	}
	c.stands, c.of = r.last, r.Epoch
	c.member.Ended(r.tests.constant.learned())
	return nil
}

// pass trains on this worker's share of the epoch; on none of it if the job was stopped before the first step.
func (r *Run) pass(ctx context.Context) (nn.TrainResult, error) {
	res, err := nn.TrainResult{}, error(nn.ErrNoBatches)
	over := r.course.alone && r.shares.trained(r.Epoch)
	if !over {
		res, err = r.trainShare(ctx)
	}
	if errors.Is(err, nn.ErrNoBatches) && (over || r.ends.stopping() || r.ends.agreed.Load()) {
		none := func(func(dataset.Batch, error) bool) {}
		at := r.Fleet.Position()
		// the others must learn that this epoch is over
		res, err = r.exe.TrainFrom(ctx, none, nn.TrainOptions{MayBeEmpty: true})
		if at.Epoch == r.Epoch {
			res.Passed = at.Samples
		} else if over {
			res.Passed = r.shares.uncounted(r.Fleet.WorkerIndex(), r.Epoch, r.Epoch+1)
		}
	}
	return res, err
}

func (r *Run) trainShare(ctx context.Context) (nn.TrainResult, error) {
	j := r.Job
	r.exe.ResetMetrics()
	r.curve.restart()
	if c := r.tests.constant; c != nil && r.Epoch == 0 && r.days == nil {
		c.mine = nil
	}
	mine, err := r.shares.deal(ctx, r.Epoch)
	if err == nil && r.ends.meet && !r.course.alone {
		err = r.shares.meet(ctx, mine)
	}
	if err != nil {
		return nn.TrainResult{}, err
	}
	if r.course.leads {
		r.shares.warnBatch()
		r.shares.inGroups(ctx, r.Epoch)
	}
	r.ends.apart.Store(false)
	if err := r.goOn(ctx, mine); err != nil {
		return nn.TrainResult{}, err
	}
	r.meter.seen = 0
	r.meter.start()
	defer r.meter.stop()
	options := nn.TrainOptions{Fetch: j.Show, Step: r.step, Gradients: r.meter.see, MayBeEmpty: r.days != nil,
		Progress: &nn.Progress{Out: j.Stdout, Label: r.label() + r.whose(), Total: r.shares.mine}}
	if j.Threads > 1 {
		return nn.TrainThreads(ctx, j.Loss.Graph(), j.Threads, func(thread int) iter.Seq2[dataset.Batch, error] {
			rows := mine.Shard(thread, j.Threads).Prefetch(2).MayBeEmpty()
			return r.ends.until(r.tests.constant.learning(ctx, r.Epoch, rows.BatchesContext(ctx, j.Batch)))
		}, options)
	}
	return r.exe.TrainFrom(ctx, r.ends.until(r.tests.constant.learning(ctx, r.Epoch, r.shares.streaming(
		r.shares.batches(ctx, r.Epoch, mine)))), options)
}

// errNoRows is the error of a job without rows.
var errNoRows = errors.New("train: Job.Data gave no rows to train on")

// examples is the number of examples that all workers have trained on since the job began, estimated by this worker.
func (r *Run) examples(so nn.TrainResult) int {
	return r.past.before + (so.Samples+so.Passed)*r.Fleet.WorkerNum()
}

// step is called after each step of the epoch.
func (r *Run) step(ctx context.Context, so nn.TrainResult) error {
	r.meter.count(so.Samples)
	r.curve.step(so, r.examples(so))
	if len(r.curve.Points) != r.shown.points {
		r.shown.publish(&r.curve, r.History)
	}
	err := r.hooks.stepped(ctx, r, so)
	if err == nil && r.days != nil {
		err = r.delta(ctx, so)
	}
	if err != nil {
		return err
	}
	return r.between(ctx, so)
}

// goOn finds the next evaluation in an epoch of which this worker has made some steps. It is due at once if it comes
// after these steps, and had not been made when the checkpoint was saved. If that evaluation stops the job, one more
// batch follows, which had been read ahead. Workers without servers come to different places if a worker was lost and
// the others went on: all count their steps from the place of the one that is behind.
func (r *Run) goOn(ctx context.Context, mine *dataset.Dataset) error {
	every, passed := r.Job.EvalEvery, r.shares.passed
	r.ends.upTo = 0
	if r.pace.behind, r.pace.due = passed/r.Job.Batch, every; every == 0 || passed == 0 || passed == math.MaxInt {
		return nil
	}
	if passed = r.Fleet.Position().In(r.Epoch); passed == math.MaxInt {
		passed = r.shares.mine
	}
	r.pace.due = r.pace.behind - r.pace.behind%every
	stopped := r.ends.now() && r.pace.due == r.pace.behind && r.course.middles == r.pace.behind/every
	if r.pace.due < r.pace.behind || r.course.lone || r.course.middles >= r.pace.behind/every {
		r.pace.due += every
	}
	known := r.ends.now()
	if c := r.tests.constant; c != nil && r.pace.due == r.pace.behind { // it had read one batch ahead by then
		for range c.learning(ctx, r.Epoch, r.shares.batches(ctx, r.Epoch, mine.Take(passed+r.Job.Batch))) {
			continue
		}
		defer func() { c.mine = nil }()
	}
	err := r.between(ctx, nn.TrainResult{Passed: passed})
	if (stopped || !known && r.ends.now()) && passed%r.Job.Batch == 0 && r.Job.Threads <= 1 {
		r.ends.upTo = passed/r.Job.Batch + 1
	}
	return err
}

// between evaluates between two steps of the epoch, if an evaluation is due.
func (r *Run) between(ctx context.Context, so nn.TrainResult) error {
	if r.parted(so) {
		r.ends.apart.Store(true)
	}
	ended := so.Samples+so.Passed == r.shares.mine || r.ends.apart.Load() // the epoch's end evaluates too
	early := r.Job.EvalEvery == 0 || r.pace.behind+so.Steps < r.pace.due
	if early || ended || r.course.alone || r.ends.now() {
		return nil
	}
	r.pace.due = r.pace.behind + so.Steps + r.Job.EvalEvery
	return r.middle(ctx, so)
}

// parted reports, for workers without servers, whether another worker has come to the end of its share: it makes the
// remaining steps with the others, and can't evaluate between two of them. All make the same steps, so that the result
// is the same on all.
func (r *Run) parted(so nn.TrainResult) bool {
	return r.ends.meet && so.Samples >= r.shares.left
}

// middle evaluates in the middle of an epoch, and trains no more if the job is then to end.
func (r *Run) middle(ctx context.Context, so nn.TrainResult) error {
	if !r.together {
		defer so.Still()()
	}
	r.meter.stop()
	defer r.meter.start()
	c := &r.course
	c.stands, c.of = so, r.Epoch
	brings, err := r.tests.constant.learned(), error(nil)
	if r.days != nil && r.days.now.by != nil {
		brings, err = r.days.now.brings()
	}
	if err != nil {
		return err
	}
	c.member.Due(brings)
	t, err := r.stand(ctx)
	if err == nil && t.Do != epoch.Train {
		r.ends.agreed.Store(true)
	}
	return err
}
