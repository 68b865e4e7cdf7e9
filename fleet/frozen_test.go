package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// channels are so many that what is frozen travels in several messages of the smallest size.
const channels = 1200

// normalised is a model whose evaluation depends on moving averages.
type normalised struct {
	graph     *nn.Graph
	out, loss *nn.Node
}

func newNormalised() normalised {
	g := nn.NewGraph(1)
	out := nn.Linear(nn.BatchNorm(g.Input("x", channels), nn.NormOptions{Name: "bn", Momentum: 0.5}), 1, nn.LinearOptions{})
	return normalised{g, out, nn.Mean(nn.Multiply(out, out))}
}

func (normalised) batch(seed int) map[string]*gorgonia.Dense {
	x := make([]float32, 4*channels)
	for i := range x {
		x[i] = float32((i*7+seed*13)%29)/8 + float32(seed)
	}
	return map[string]*gorgonia.Dense{"x": gorgonia.New(gorgonia.WithShape(4, channels), gorgonia.WithBacking(x))}
}

// saying runs a model on a batch that it was not trained on.
func (m normalised) saying(ctx context.Context) ([]float32, error) {
	e := nn.NewExecutor(m.graph)
	out, err := e.Eval(ctx, m.batch(50), m.out)
	if err != nil {
		return nil, err
	}
	return slices.Clone(out[0].Float32s()), e.Close(ctx)
}

// normLeg is a job of that model: it loads, or trains and saves, and tells what each worker's model says.
type normLeg struct {
	strategy          strategy.Strategy
	load, save, model string
	late              string // what worker 0 has servers load that run, behind a step
	saver             int

	mu   sync.Mutex
	says map[int][]float32 // by worker
}

func (l *normLeg) run(ctx context.Context, f *fleet.Fleet) error {
	m := newNormalised()
	if err := trial.Minimize(f, m.loss, optimizer.SGD{LR: 0.01}, l.strategy); err != nil {
		return err
	}
	return trial.Begin(ctx, f, l.load, func() error { return l.work(ctx, f, m) })
}

func (l *normLeg) work(ctx context.Context, f *fleet.Fleet, m normalised) error {
	if l.save != "" {
		if err := l.train(ctx, f, m); err != nil {
			return err
		}
	}
	if l.late != "" {
		if err := l.replace(ctx, f, m); err != nil {
			return err
		}
	}
	says, err := m.saying(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.says[f.WorkerIndex()] = says
	l.mu.Unlock()
	if l.model != "" && f.WorkerIndex() == l.saver {
		return f.SaveInferenceModel(ctx, l.model, nn.Inference(m.out))
	}
	return nil
}

// replace trains a step, and has the servers load a checkpoint.
func (l *normLeg) replace(ctx context.Context, f *fleet.Fleet, m normalised) error {
	e := nn.NewExecutor(m.graph)
	if _, err := e.Train(ctx, m.batch(30+f.WorkerIndex())); err != nil {
		return err
	}
	if err := errors.Join(e.Close(ctx), f.BarrierWorker(ctx)); err != nil {
		return err
	}
	if f.IsFirstWorker() {
		if err := f.LoadModel(ctx, l.late); err != nil {
			return err
		}
	}
	return f.BarrierWorker(ctx)
}

// train trains each worker on batches of its own, so that their averages differ.
func (l *normLeg) train(ctx context.Context, f *fleet.Fleet, m normalised) error {
	e := nn.NewExecutor(m.graph)
	for i := range 3 {
		if _, err := e.Train(ctx, m.batch(i+10*f.WorkerIndex())); err != nil {
			return err
		}
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	if f.WorkerIndex() == l.saver {
		if err := f.SavePersistables(ctx, l.save); err != nil {
			return err
		}
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	return e.Close(ctx)
}

func (l *normLeg) on(t *testing.T, servers, workers int) {
	t.Helper()
	l.says = map[int][]float32{}
	fleettest.Cluster{Servers: servers, Workers: workers}.Run(t, l.run)
}

// TestStatisticsOutliveTheJob trains a model with batch norm, saves it, and has jobs of other sizes begin from the checkpoint:
// the model says on every worker of theirs what it said on the worker that saved, bit for bit, and so does the one saved for
// inference. So does a job whose servers load it while they run.
//
// Promise: [G6] frozen values outlive the job, and sessions see what is set
// Also: TestSessionsSeeWhatIsSet
func TestStatisticsOutliveTheJob(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	sizes := map[string][2]int{"alone": {0, 1}, "collective": {0, 2}, "one server": {1, 1}, "three servers": {3, 2}}
	for _, mode := range trial.Some(t, append(strategy.Modes(), "alone", "collective")) {
		t.Run(string(mode), func(t *testing.T) {
			small := strategy.Strategy{Mode: mode, MaxFrame: 4096}
			first := normLeg{strategy: small, save: t.TempDir(), model: t.TempDir(), saver: 1}
			size := [2]int{2, 2}
			if s, without := sizes[string(mode)]; without {
				first.strategy, first.saver, size = strategy.Strategy{Mode: strategy.ModeSync}, 0, s
			}
			first.on(t, size[0], size[1])
			want := first.says[first.saver]
			if size[1] > 1 && !slices.Equal(first.says[0], first.says[1]) {
				t.Errorf("behind a barrier the model says %v on worker 0 and %v on worker 1", first.says[0], first.says[1])
			}
			saysModel(t, first.model, want)
			for name, size := range sizes {
				next := normLeg{strategy: first.strategy, load: first.save, model: t.TempDir()}
				if size[0] == 0 {
					next.strategy = strategy.Strategy{Mode: strategy.ModeSync}
				}
				next.on(t, size[0], size[1])
				for worker, got := range next.says {
					if !slices.Equal(got, want) {
						t.Errorf("%s: the model says %v on worker %d, it said %v when it was saved", name, got, worker, want)
					}
				}
				saysModel(t, next.model, want)
				if size[0] == 0 || mode == strategy.ModeGeo {
					continue
				}
				late := normLeg{strategy: first.strategy, late: first.save, model: t.TempDir()}
				late.on(t, size[0], size[1])
				for worker, got := range late.says {
					if !slices.Equal(got, want) {
						t.Errorf("%s: the model says %v on worker %d behind a load, it said %v when it was saved", name, got, worker, want)
					}
				}
				saysModel(t, late.model, want)
			}
		})
	}
}

// saysModel compares what a model says that was saved for inference.
func saysModel(t *testing.T, dir string, want []float32) {
	t.Helper()
	m, err := serve.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := normalised{graph: m.Graph, out: m.Outputs[0]}.saying(t.Context())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the inference model says %v, want %v: error %v", got, want, err)
	}
}

// set gives a frozen param other values, as layers do whose values are computed without gradients.
func set(t optimizer.Trainer, name string, w []float32) error {
	return t.(interface {
		SetDense(name string, w []float32) error
	}).SetDense(name, w)
}

// TestOnlyFrozenParamsAreSet refuses values for what gradients train.
func TestOnlyFrozenParamsAreSet(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 1} {
		x := trial.Training{Rule: optimizer.SGD{LR: 0.1}, Strategy: strategy.Sync(), To: 1, Ahead: true}
		x.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
			for _, name := range []string{"w", "emb", "nothing"} {
				err := set(o.Trainer, name, make([]float32, 21))
				if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q is given values", name)) {
					t.Errorf("%d servers: %q: %v", servers, name, err)
				}
			}
			return nil
		}
		x.On(t, trial.Cluster(servers, 1))
	}
}

// TestSessionsSeeWhatIsSet: a session that trains and evaluates has the newest values of what is frozen from its next step on,
// and keeps them, in every mode.
func TestSessionsSeeWhatIsSet(t *testing.T) {
	t.Parallel()
	for _, mode := range append(strategy.Modes(), "alone", "collective") {
		t.Run(string(mode), func(t *testing.T) {
			d := trial.Drawn{Servers: 2, Workers: 2, Strategy: strategy.Strategy{Mode: mode}, Rule: optimizer.SGD{LR: 0.1}, Samples: 1, Steps: [][2]int{{4, 0}, {4, 0}},
				Shapes: []optimizer.Param{{Name: "w", Shape: []int{3}}, {Name: "still", Shape: []int{2}, Frozen: true}}}
			switch mode {
			case "alone":
				d.Servers, d.Workers, d.Strategy.Mode = 0, 1, strategy.ModeSync
			case "collective":
				d.Servers, d.Strategy.Mode = 0, strategy.ModeSync
			}
			fleettest.Run(t, d.Servers, d.Workers, func(ctx context.Context, f *fleet.Fleet) error { return setsAndLooks(ctx, f, d) })
		})
	}
}

// setsAndLooks trains, and before each other step gives the frozen param other values.
func setsAndLooks(ctx context.Context, f *fleet.Fleet, d trial.Drawn) error {
	m := d.Model()
	return trial.Play(ctx, f, m, d.Rule, d.Strategy, func() error {
		s, err := m.OpenSession()
		if err != nil {
			return err
		}
		want := make([]float32, 2)
		for i, b := range d.Batches(m, f.WorkerIndex(), 0, 0) {
			if i%2 == 1 {
				want = []float32{float32(i), float32(f.WorkerIndex())}
				if err := set(m.Trainer, "still", want); err != nil {
					return err
				}
			}
			for _, eval := range []bool{false, true} {
				st := m.Step(b, nil)
				st.Eval = eval
				if err := s.Begin(ctx, st); err != nil {
					return err
				}
				if got := m.List[1].W; !slices.Equal(got, want) {
					return fmt.Errorf("step %d, evaluation %t: the session has %v, %v was set", i, eval, got, want)
				}
				if err := errors.Join(m.Gradients(st, b.X), s.End(ctx, st)); err != nil {
					return err
				}
			}
		}
		return errors.Join(s.Close(ctx), m.Trainer.EndEpoch(ctx))
	})
}

// TestFrozenVariablesMayHaveGradients: room for the gradient of a frozen variable is in nobody's way, where steps are merged.
func TestFrozenVariablesMayHaveGradients(t *testing.T) {
	t.Parallel()
	merging := strategy.Strategy{MaxMergeVarNum: 2, SendWaitTimes: 1000, Merge: strategy.MergeSum}
	trial.Cluster(1, 1).Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		w := &optimizer.Param{Name: "w", Shape: []int{1}, W: make([]float32, 1), G: []float32{1}}
		frozen := &optimizer.Param{Name: "f", Shape: []int{2}, W: make([]float32, 2), G: []float32{3, 4}, Frozen: true}
		o := &trial.Objective{List: []*optimizer.Param{w, frozen}}
		return trial.Play(ctx, f, o, optimizer.SGD{LR: 1}, merging, func() error {
			return o.InSession(ctx, func(s optimizer.Session) error {
				for range 2 {
					if err := trial.Step(ctx, s, &optimizer.Step{Samples: 1}, nil); err != nil {
						return err
					}
				}
				if err := errors.Join(f.BarrierWorker(ctx), trial.Look(ctx, s)); err != nil {
					return err
				}
				return trial.AllAre(w.W, -2)
			})
		})
	})
}
