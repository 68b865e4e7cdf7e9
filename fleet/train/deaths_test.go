package train_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// mortal is a job of which single workers die, by a seed.
type mortal struct {
	Mode                       string
	GoOn                       bool // without workers that die, in modes in step
	Servers, Workers           int
	Rows, Batch, Every, Epochs int
	Patience, Lower            int
	Rest                       time.Duration // behind a step
	Deaths                     []death
}

// death is the end of a worker's process, which is started again after a while.
type death struct {
	Worker, Epoch, Step int
	Where               string // "step", "evaluated" or "epoch"
	Away                time.Duration
}

func drawMortal(seed uint64) mortal {
	r := rand.New(rand.NewPCG(seed, 9))
	d := mortal{Mode: []string{"sync", "async", "half_async", "ssp", "geo"}[r.IntN(5)], Servers: 1 + r.IntN(2), Workers: 1 + r.IntN(3),
		Rows: 60 + r.IntN(100), Batch: 5 + r.IntN(12), Every: r.IntN(4), Epochs: 2 + r.IntN(4), Patience: 2 + r.IntN(8),
		Lower: r.IntN(4), Rest: []time.Duration{50, 400, 1500}[r.IntN(3)] * time.Millisecond}
	d.GoOn = (d.Mode == "sync" || d.Mode == "ssp") && r.IntN(2) == 0
	if r.IntN(3) > 0 { // an undisturbed rate has the ledger count whole numbers
		d.Patience, d.Lower = 1000, 1000
	}
	for range 1 + r.IntN(2) {
		d.Deaths = append(d.Deaths, death{Worker: r.IntN(d.Workers), Epoch: r.IntN(d.Epochs), Step: 1 + r.IntN(max(1, d.Rows/d.Workers/d.Batch-1)),
			Where: []string{"step", "step", "evaluated", "epoch"}[r.IntN(4)],
			Away:  []time.Duration{100 * time.Millisecond, 2 * time.Second, 9 * time.Second, time.Minute, 20 * time.Minute}[r.IntN(5)]})
	}
	return d
}

// countSamples is 0, and has the row of each example grow by 1 where it is trained by plain descent at rate 1.
type countSamples struct{}

func (countSamples) Shape(in [][]int) ([]int, error) { return in[0], nil }

func (countSamples) Forward(c *nn.OpCall) { clear(c.Out.Value) }

func (countSamples) Backward(c *nn.OpCall) {
	for i := range c.In[0].Grad {
		c.In[0].Grad[i]--
	}
}

// job is that of a process, which may be struck behind a step, an evaluation or an epoch.
func (d mortal) job(dir string, strike func(where string, r *train.Run, step int) error) train.Job {
	g := nn.NewGraph(1)
	label, x := g.Input("y", 1), g.Input("x", 1)
	pred := nn.Linear(x, 1, nn.LinearOptions{Act: nn.Sigmoid})
	line := nn.Embedding(g.IDs("sample", 1), nn.EmbeddingOptions{Name: "ledger", Dim: 1, Init: optimizer.Constant{}})
	j := train.Job{Loss: nn.Mean(nn.Add(nn.LogLoss(pred, label), nn.Custom(countSamples{}, line))), Outputs: []*nn.Node{pred},
		Rule:   optimizer.PerParam{Rule: optimizer.SGD{LR: 0.05}, By: map[string]optimizer.Rule{"ledger": optimizer.SGD{LR: 1}}},
		Stdout: io.Discard, Options: train.Options{Mode: d.Mode, Epochs: d.Epochs, Batch: d.Batch, EvalEvery: d.Every,
			Checkpoint: filepath.Join(dir, "checkpoints"), Out: filepath.Join(dir, "out"), Patience: d.Patience}}
	rows := func(n int) *dataset.Dataset {
		x, y, ids := make([]float32, n), make([]float32, n), make([]uint64, n)
		for i := range x {
			x[i], ids[i] = float32(i%20)/10-0.95, uint64(i)
			if x[i] > 0 {
				y[i] = 1
			}
		}
		return dataset.FromColumns(dataset.FloatValues("x", x, 1), dataset.FloatValues("y", y, 1), dataset.IDValues("sample", ids, 1))
	}
	s, err := j.Options.Strategy()
	if err != nil {
		panic(err)
	}
	s.WorkerTimeout, s.HeartbeatInterval = strategy.Duration(5*time.Second), strategy.Duration(time.Second)
	if s.StartTimeout = strategy.Duration(time.Minute); d.Mode == "sync" {
		s.Weighting = strategy.WeightPushes // a row counts as the one that has it says
	}
	if d.Mode == "geo" {
		s.KSteps = 3
	}
	if d.GoOn {
		s.Recovery.WorkerLost = strategy.WorkerGoOn
	}
	j.Strategy = &s
	j.Data = func(context.Context) (_, _ *dataset.Dataset, err error) { return rows(d.Rows), rows(20), nil }
	j.Rows = func(epoch int, rows *dataset.Dataset) *dataset.Dataset {
		if rows = rows.Shuffle(0).Epoch(epoch); epoch == 0 {
			return rows
		}
		return rows.MapFloats("y", func(y float32) float32 { return 1 - y }) // worse with every step
	}
	j.Hooks = []train.Hooks{
		train.Plateau{ReduceOnPlateau: lr.ReduceOnPlateau{LR: 0.05, Patience: d.Lower - 1, Factor: 0.3}}.Hooks(),
		train.BestModel{Dir: filepath.Join(dir, "best")}.Hooks(),
		{
			Step: func(_ context.Context, r *train.Run, so nn.TrainResult) error {
				time.Sleep(d.Rest)
				return strike("step", r, so.Steps)
			},
			Evaluated: func(_ context.Context, r *train.Run, _ train.Evaluation) error { return strike("evaluated", r, 0) },
			EpochEnd:  func(_ context.Context, r *train.Run, _ nn.TrainResult) error { return strike("epoch", r, 0) },
			End:       func(_ context.Context, r *train.Run) error { return strike("end", r, 0) },
		},
	}
	return j
}

// operator starts the processes of a mortal job: one that was killed again after a while, one that goes back at once, and all
// where one ends by itself with another error, as a launcher does.
type operator struct {
	mortal
	dir string
	net transport.Transport

	mu     sync.Mutex // guards what follows
	died   map[int]bool
	starts int
	again  chan struct{} // closed when all are to start again
	done   map[string]bool
	over   chan struct{} // closed when all workers have done their work
	got    lasting
	lives  map[string]func()
	log    []string
	short  bool
}

var errKilled = errors.New("killed")

func (o *operator) note(format string, args ...any) {
	o.log = append(o.log, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

// Write keeps lines of the log.
func (o *operator) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note("%s", strings.TrimSpace(string(b)))
	return len(b), nil
}

// process is one life of a role.
func (o *operator) process(maker rolemaker.RoleMaker, name string) (away time.Duration, err error) {
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	cable := &trial.Cable{Transport: o.net}
	f, err := fleet.New(ctx, maker, fleet.Options{Transport: cable,
		Logger: slog.New(slog.NewTextHandler(o, &slog.HandlerOptions{Level: slog.LevelWarn})).With("at", name)})
	if err != nil {
		return 0, err
	}
	var ended sync.Once
	kill := func() { ended.Do(func() { cable.Kill(); end(errKilled) }) }
	o.mu.Lock()
	o.lives[name] = kill
	o.mu.Unlock()
	strike := func(where string, r *train.Run, step int) error {
		if err := o.ends(where, r); err != nil || where == "end" {
			return err
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		for i, d := range o.Deaths {
			if !o.died[i] && d.Worker == f.WorkerIndex() && d.Where == where && r.Epoch == d.Epoch && (where != "step" || step == d.Step) {
				o.died[i], away = true, d.Away
				o.note("%s dies: %+v", name, d)
				kill()
				return errKilled
			}
		}
		return nil
	}
	job := o.job(o.dir, strike)
	job.Anew(func() (train.Job, error) { // the life of another is not struck again
		return o.job(o.dir, func(where string, r *train.Run, _ int) error { return o.ends(where, r) }), nil
	})
	res, err := job.Run(ctx, f)
	f.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note("%s ends: %v", name, err)
	over := errors.Is(err, train.ErrOver) // it was started again behind the end of the job
	if over {
		err = nil
	}
	if errors.Is(err, train.ErrShort) {
		o.short, err = true, nil
	}
	if err == nil && f.IsWorker() && !over {
		o.got.Stopped = res.Stopped
	}
	if context.Cause(ctx) != nil {
		err = errKilled
	}
	return away, err
}

// ends notes what the job leaves.
func (o *operator) ends(where string, r *train.Run) error {
	if where != "end" || !r.Leads() {
		return nil
	}
	factor, err := r.Fleet.RateFactor(context.Background())
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got.Factor, o.got.History, o.got.Stopped = factor, r.History, ""
	return err
}

// role is all lives of a role.
func (o *operator) role(maker rolemaker.RoleMaker, name string) {
	back := 0
	for {
		o.mu.Lock()
		again := o.again
		o.mu.Unlock()
		away, err := o.process(maker, name)
		wait := (<-chan time.Time)(nil)
		switch {
		case err == nil:
			o.finish(name, again)
		case errors.Is(err, errKilled):
			wait = time.After(max(away, time.Second))
		case errors.Is(err, fleet.ErrWentBack) && back < 3:
			back++
			wait = time.After(time.Second)
		default:
			o.restart(again)
		}
		select {
		case <-o.over:
			return
		case <-again:
			back = 0
			time.Sleep(time.Second)
		case <-wait:
		}
	}
}

// finish notes that a role has done its work.
func (o *operator) finish(name string, start chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if start != o.again {
		return
	}
	o.done[name] = true
	for w := range o.Workers {
		if !o.done[fmt.Sprint("worker ", w)] && !o.isOver() {
			return
		}
	}
	select {
	case <-o.over:
	default:
		close(o.over)
	}
}

func (o *operator) isOver() bool { return o.short }

// restart starts all again.
func (o *operator) restart(start chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if start != o.again {
		return
	}
	if o.starts++; o.starts > 10 {
		close(o.over)
	}
	for _, kill := range o.lives {
		go kill()
	}
	clear(o.done)
	close(o.again)
	o.again = make(chan struct{})
}

func (d mortal) play(dir string) *operator {
	o := &operator{mortal: d, dir: dir, net: transport.NewMemory(), died: map[int]bool{}, again: make(chan struct{}), over: make(chan struct{}),
		done: map[string]bool{}, lives: map[string]func(){}}
	var servers []string
	for i := range d.Servers {
		servers = append(servers, fmt.Sprintf("server-%d:1", i))
	}
	var all sync.WaitGroup
	begin := func(role rolemaker.Role, i int, name string) {
		all.Go(func() {
			o.role(rolemaker.UserDefined{CurrentID: i, Role: role, WorkerNum: d.Workers, ServerEndpoints: servers}, name)
		})
	}
	for i := range d.Servers {
		begin(rolemaker.Server, i, fmt.Sprint("server ", i))
	}
	for i := range d.Workers {
		begin(rolemaker.Worker, i, fmt.Sprint("worker ", i))
	}
	all.Wait()
	return o
}

// counts are how often each sample counts in a checkpoint.
func (d mortal) counts(t *testing.T, dir string) (all []float64) {
	t.Helper()
	f, err := fleet.New(t.Context(), rolemaker.Local{}, fleet.Options{})
	law.Check(t, err)
	defer f.Close()
	j := d.job(t.TempDir(), nil)
	opt, err := f.DistributedOptimizer(j.Rule, strategy.Sync())
	err = errors.Join(err, opt.Minimize(j.Loss), f.Restore(t.Context(), dir, fleet.RestoreOptions{}), f.InitWorker(t.Context()))
	law.Check(t, err)
	all = make([]float64, d.Rows)
	for row, err := range f.Rows(t.Context(), "ledger") {
		law.Check(t, err)
		all[row.ID] = float64(row.W[0])
	}
	return all
}

// TestDeathsInTheLoop: single workers die at any place of the loop and come back after a while, or never before the job's end. The job ends
// with every epoch evaluated once, its rate, its end and its best model are what its evaluations say, and each sample has
// counted as often as there are epochs: exactly where workers go in step, but for those of a worker that the others go on without.
//
// Promise: [G6] evaluations are of all test rows, whichever workers live
//
// Promise: [G6] when single workers die anywhere in the loop, the job ends with each epoch evaluated, the rate, end
// and best model that its evaluations say, and each sample counted as often as its mode promises
func TestDeathsInTheLoop(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	trial.EachSeed(t, 24, func(seed trial.Seed) {
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			d, dir := drawMortal(seed.N), t.TempDir()
			var o *operator
			synctest.Test(t, func(*testing.T) { o = d.play(dir) })
			wrong := func(format string, args ...any) {
				t.Errorf("%+v: %s\n%s", d, fmt.Sprintf(format, args...), strings.Join(o.log, "\n"))
				for _, e := range o.got.History {
					t.Logf("%+v", e)
				}
			}
			if o.starts > 10 {
				wrong("the job does not end")
				return
			}
			want, got := replayed{}, o.got
			asked := drawn{Patience: d.Patience, Lower: d.Lower}
			want = asked.replay(got.History)
			if best := mustLoss(t, filepath.Join(dir, "best")); math.Abs(got.Factor-want.factor) > 1e-9 || math.Abs(best-want.best) > 1e-4 {
				wrong("the factor is %v, the best model's loss %v; the history says %+v", got.Factor, best, want)
			}
			if stopped := got.Stopped != ""; stopped != (want.stops > 0) {
				wrong("%q behind %d evaluations; the history says %+v", got.Stopped, len(got.History), want)
			}
			var ends []int
			for _, e := range got.History {
				if e.End {
					ends = append(ends, e.Epoch)
				}
			}
			if all := slices.Compact(slices.Clone(ends)); !slices.IsSorted(ends) || len(ends) > len(all)+len(d.Deaths) || got.Stopped == "" &&
				len(all) != d.Epochs {
				wrong("epochs end: %v", ends)
			}
			more, less, most := 0.0, 0.0, float64(d.Epochs)
			for _, n := range d.counts(t, filepath.Join(dir, "out", "checkpoint")) {
				more, less = more+max(0, n-most), less+max(0, most-n)
			}
			may, lacks := 0.0, 0.0
			switch d.Mode {
			case "async", "half_async":
				may = float64(2 * d.Batch * len(d.Deaths))
			case "geo":
				lacks = float64(len(d.Deaths) * d.Batch * 3)
			}
			if o.short || d.GoOn {
				lacks = float64(len(d.Deaths) * (d.Rows/d.Workers + 1) * d.Epochs)
			}
			if got.Stopped != "" || got.Factor < 1 {
				return
			}
			if more > may+0.01 || less > lacks+0.01 {
				wrong("%v samples too often, may be %v; %v missing, may be %v", more, may, less, lacks)
			}
		})
	})
}
