package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// clicking is a model of two embeddings, of which one counts shows and clicks.
type clicking struct {
	loss, out *nn.Node
	exe       *nn.Executor
}

func newClicking() *clicking {
	g := nn.NewGraph(3)
	ids, click := g.IDs("ids"), g.Input("click", 1)
	shown := nn.Embedding(ids, nn.EmbeddingOptions{Name: "shown", Dim: 2, Click: click,
		Entry: optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: .2}}})
	plain := nn.Embedding(ids, nn.EmbeddingOptions{Name: "plain", Dim: 3})
	out := nn.Linear(nn.Concat(shown, plain), 1, nn.LinearOptions{})
	off := nn.Subtract(out, click)
	return &clicking{loss: nn.Mean(nn.Multiply(off, off)), out: out}
}

// feed is a batch of examples, each an id and whether it was clicked.
func (c *clicking) feed(ids []int64, clicked func(i int) bool) map[string]*gorgonia.Dense {
	clicks := make([]float32, len(ids))
	for i := range clicks {
		if clicked(i) {
			clicks[i] = 1
		}
	}
	return map[string]*gorgonia.Dense{
		"ids":   gorgonia.New(gorgonia.WithShape(len(ids)), gorgonia.WithBacking(ids)),
		"click": gorgonia.New(gorgonia.WithShape(len(ids), 1), gorgonia.WithBacking(clicks)),
	}
}

// train makes one step.
func (c *clicking) train(ctx context.Context, click bool, ids ...int64) error {
	_, err := c.exe.Train(ctx, c.feed(ids, func(int) bool { return click }))
	return err
}

// play plays a role that trains the model.
func (c *clicking) play(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, load string, work func() error) error {
	if err := trial.Minimize(f, c.loss, optimizer.Adagrad{LR: .1}, s); err != nil {
		return err
	}
	return trial.Begin(ctx, f, load, func() error {
		c.exe = nn.NewExecutor(c.loss.Graph())
		return errors.Join(work(), c.exe.Close(ctx))
	})
}

// model is what is saved for serving.
func (c *clicking) model() optimizer.Model { return nn.Inference(c.out) }

func (c *clicking) base(ctx context.Context, f *fleet.Fleet, dir string) error {
	return f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: fleet.SaveBase, Model: c.model()})
}

// delta saves every change.
func (c *clicking) delta(ctx context.Context, f *fleet.Fleet, dir string) error {
	return f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: fleet.SaveDelta, Model: c.model(), DeltaThreshold: -1})
}

// loaded says all of a model: its rows, and what it predicts for the first ids.
func loaded(dir string, deltas ...string) (string, error) {
	m, err := nn.Load(dir, deltas...)
	if err != nil {
		return "", err
	}
	ids := make([]int64, 20)
	for i := range ids {
		ids[i] = int64(i)
	}
	c := new(clicking)
	says, err := nn.NewExecutor(m.Graph).Eval(context.Background(), c.feed(ids, func(int) bool { return false }), m.Outputs[0])
	if err != nil {
		return "", err
	}
	text := fmt.Sprint(says[0].Float32s())
	for _, p := range m.Outputs[0].Params() {
		text += fmt.Sprintf("\n%s %v %v", p.Name, p.Rows, p.W)
	}
	return text, nil
}

// TestABaseAndItsDeltas: whatever is trained, shrunk and saved between, a base and its deltas are the base that is saved in the place of the
// last one's, rows and predictions to the bits, in jobs of every kind, also when the job goes on from a checkpoint.
func TestABaseAndItsDeltas(t *testing.T) {
	for name, k := range map[string]struct {
		servers, workers int
		strategy         strategy.Strategy
	}{
		"alone":      {0, 1, strategy.Sync()},
		"collective": {0, 2, strategy.Sync()},
		"sync":       {1, 2, strategy.Sync()},
		"async":      {3, 1, strategy.Async()},
		"ssp":        {2, 2, strategy.Strategy{Mode: strategy.ModeSSP}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				s := &servingStory{dir: t.TempDir(), strategy: k.strategy, draw: func() *rand.Rand { return rand.New(rand.NewPCG(seed, 5)) }}
				for leg := range 2 {
					s.load, s.leg = s.save, leg
					s.save = filepath.Join(s.dir, fmt.Sprint("checkpoint", leg))
					fleettest.Cluster{Servers: k.servers, Workers: k.workers}.Run(t, s.run)
				}
			}
		})
	}
}

// servingStory is a job that trains, ends days, and saves for serving as it is drawn; the last thing is a checkpoint, from which the next leg
// goes on.
type servingStory struct {
	dir, load, save string
	leg             int
	strategy        strategy.Strategy
	draw            func() *rand.Rand

	base   string
	deltas []string
	saved  int
}

func (s *servingStory) run(ctx context.Context, f *fleet.Fleet) error {
	c := newClicking()
	return c.play(ctx, f, s.strategy, s.load, func() error {
		r := s.draw() // the same on all workers
		if s.leg == 0 {
			if err := s.first(ctx, f, func() error { return s.saveBase(ctx, f, c) }); err != nil {
				return err
			}
		}
		for range 20 {
			if err := s.act(ctx, f, c, r); err != nil {
				return err
			}
		}
		return s.first(ctx, f, func() error { return f.SavePersistables(ctx, s.save) })
	})
}

// first has worker 0 do something that the others wait for.
func (s *servingStory) first(ctx context.Context, f *fleet.Fleet, do func() error) error {
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	if f.WorkerIndex() == 0 {
		if err := do(); err != nil {
			return err
		}
	}
	return f.BarrierWorker(ctx)
}

func (s *servingStory) act(ctx context.Context, f *fleet.Fleet, c *clicking, r *rand.Rand) error {
	switch what := r.IntN(8); {
	case what < 4:
		ids := make([]int64, 6)
		for i := range ids {
			ids[i] = r.Int64N(20)
		}
		return c.train(ctx, r.IntN(2) == 0, ids...)
	case what < 6:
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		_, err := f.Shrink(ctx, fleet.ShrinkOptions{Decay: .8, MinScore: r.Float64(), Unseen: uint32(r.IntN(4))})
		return err
	case what < 7:
		return s.first(ctx, f, func() error { return s.saveDelta(ctx, f, c) })
	}
	return s.first(ctx, f, func() error { return s.compare(ctx, f, c) })
}

func (s *servingStory) place() string {
	s.saved++
	return filepath.Join(s.dir, fmt.Sprint("model", s.saved))
}

func (s *servingStory) saveBase(ctx context.Context, f *fleet.Fleet, c *clicking) error {
	s.base, s.deltas = s.place(), nil
	return c.base(ctx, f, s.base)
}

func (s *servingStory) saveDelta(ctx context.Context, f *fleet.Fleet, c *clicking) error {
	s.deltas = append(s.deltas, s.place())
	return c.delta(ctx, f, s.deltas[len(s.deltas)-1])
}

// compare saves a delta, and then a base, from which it goes on.
func (s *servingStory) compare(ctx context.Context, f *fleet.Fleet, c *clicking) error {
	if err := s.saveDelta(ctx, f, c); err != nil {
		return err
	}
	merged, err := loaded(s.base, s.deltas...)
	if err != nil {
		return err
	}
	n := len(s.deltas)
	if err := s.saveBase(ctx, f, c); err != nil {
		return err
	}
	whole, err := loaded(s.base)
	if err == nil && merged != whole {
		err = fmt.Errorf("a base and %d deltas are\n%s\nand the base now is\n%s", n, merged, whole)
	}
	return err
}

// TestServingThresholds holds rows to PaddlePaddle's rules: score(show, click) = .1·(show − click) + click.
func TestServingThresholds(t *testing.T) {
	fleettest.Cluster{Servers: 2, Workers: 1}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		c, dir := newClicking(), t.TempDir()
		return c.play(ctx, f, strategy.Async(), "", func() error {
			push := func(times int, click bool, id int64) {
				for range times {
					if err := c.train(ctx, click, id); err != nil {
						t.Error(err)
					}
				}
			}
			saved := 0
			rows := func(o fleet.SaveOptions) []uint64 {
				o.Model = c.model()
				saved++
				to := filepath.Join(dir, fmt.Sprint(saved))
				if err := f.SaveModel(ctx, to, o); err != nil {
					t.Error(err)
					return nil
				}
				return idsIn(t, to, "shown")
			}
			want := func(what string, o fleet.SaveOptions, ids ...uint64) {
				t.Helper()
				if got := rows(o); !slices.Equal(got, ids) {
					t.Errorf("%s: rows %v, want %v", what, got, ids)
				}
			}
			push(14, false, 1) // 1.4
			push(16, false, 2) // 1.6
			push(1, true, 3)   // 1
			push(2, true, 4)   // 2
			base, delta := fleet.SaveOptions{Mode: fleet.SaveBase}, fleet.SaveOptions{Mode: fleet.SaveDelta}
			want("1.5 and more", base, 2, 4)
			want("nothing new", delta)
			push(2, false, 2) // 0.2 since
			push(3, false, 4) // 0.3 since
			push(2, false, 1) // 1.6, all of it new
			want("0.25 and more", delta, 1, 4)
			push(1, false, 2) // 0.3 since the base
			push(1, false, 1) // 0.1 since the delta
			want("the rest has added up", delta, 2)
			want("0.1 and more", fleet.SaveOptions{Mode: fleet.SaveDelta, DeltaThreshold: .09}, 1)
			push(1, false, 4)
			want("every change, of 2 and more", fleet.SaveOptions{Mode: fleet.SaveDelta, DeltaThreshold: -1, BaseThreshold: 2.2}, 4)
			want("all", fleet.SaveOptions{Mode: fleet.SaveBase, BaseThreshold: -1}, 1, 2, 3, 4)
			for range 17 {
				if _, err := f.Shrink(ctx, fleet.ShrinkOptions{}); err != nil {
					return err
				}
				push(1, false, 4)
			}
			want("used in the last 16 days", base, 4)
			want("in the last 17", fleet.SaveOptions{Mode: fleet.SaveBase, DeltaKeepDays: 17}, 1, 2, 4)
			want("whenever", fleet.SaveOptions{Mode: fleet.SaveBase, DeltaKeepDays: -1}, 1, 2, 4)
			return nil
		})
	})
}

// idsIn are the ids of an embedding's rows in a model or a delta.
func idsIn(t *testing.T, dir, name string) []uint64 {
	t.Helper()
	file, err := os.ReadFile(trial.WeightsFile(dir))
	if err == nil {
		var ids []uint64
		if ids, err = trial.TensorOf[uint64](file, name+".ids"); err == nil {
			return ids
		}
	}
	t.Error(err)
	return nil
}
