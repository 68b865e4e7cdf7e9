package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestGradientsThatAreNotFinite pushes NaN and infinities under every policy, in every mode: what is skipped or clipped
// leaves no trace beside itself.
//
// Promise: [G8] NaN and infinities are named by feed, row and column, and counted in every kind of job; an id of
// which all gradients were skipped gets no row
// Also: TestSkippedGradientsBringNoRowToLife, TestWhatIsNotFiniteIsNamedByItsFeed, TestCountsInEveryKindOfJob,
// TestGradientsThatAreNotFinite (optimizer/local)
func TestGradientsThatAreNotFinite(t *testing.T) {
	t.Parallel()
	want := map[strategy.NotFinite][]float32{ // three weights, and three rows of two
		strategy.NotFiniteSkip: {0, 0, 0, 1, 1, 0, 0, 0, 0},
		strategy.NotFiniteClip: {0, 2, -2, 1, 1, 3, 3, 0, 0},
	}
	for _, mode := range strategy.Modes() {
		for policy, want := range want {
			t.Run(fmt.Sprintf("%s/%s", mode, policy), func(t *testing.T) {
				fleettest.Run(t, 2, 1, oneBadStep(strategy.Strategy{Mode: mode, NotFinite: policy}, want))
			})
		}
		t.Run(fmt.Sprintf("%s/refuse", mode), func(t *testing.T) {
			errs := trial.Cluster(1, 1).Errors(t, oneBadStep(strategy.Strategy{Mode: mode}, nil))
			checkNamed(t, errs["worker 0"])
		})
	}
	for policy, want := range want {
		t.Run(fmt.Sprintf("alone/%s", policy), func(t *testing.T) {
			fleettest.Run(t, 0, 1, oneBadStep(strategy.Strategy{NotFinite: policy}, want))
		})
		t.Run(fmt.Sprintf("collective/%s", policy), func(t *testing.T) {
			fleettest.Run(t, 0, 2, oneBadStep(strategy.Strategy{NotFinite: policy}, want))
		})
		t.Run(fmt.Sprintf("localsgd/%s", policy), func(t *testing.T) {
			fleettest.Run(t, 0, 2, oneBadStep(strategy.Strategy{NotFinite: policy, LocalSGD: strategy.LocalSGD{KSteps: 1}}, want[:3]))
		})
	}
	t.Run("alone/refuse", func(t *testing.T) {
		fleettest.Run(t, 0, 1, trial.Counters(3, strategy.Async(), func(ctx context.Context, _ *fleet.Fleet, c *trial.Counter) error {
			session, err := c.OpenSession()
			if err != nil {
				return err
			}
			if err := session.Begin(ctx, badStep(c)); err != nil {
				return err
			}
			checkNamed(t, session.End(ctx, badStep(c)))
			checkNamed(t, session.Begin(ctx, badStep(c))) // the session is over, and still says why
			return nil
		}))
	})
}

// TestGradientsBeyondTheirRule: a gradient whose square is no float32 is refused by rules that square it, with its param and row, before
// any row is written, and passed on by others.
//
// Promise: [G8] a gradient too large for its rule's state is refused with its param and row, before any row is
// written
func TestGradientsBeyondTheirRule(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]trial.Job{
		"sync":       {Cluster: trial.Cluster(2, 1), Strategy: strategy.Sync()},
		"async":      {Cluster: trial.Cluster(1, 1), Strategy: strategy.Async()},
		"half_async": {Cluster: trial.Cluster(1, 1), Strategy: strategy.HalfAsync()},
		"collective": {Cluster: trial.Cluster(0, 2), Strategy: strategy.Sync()},
		"alone":      {Cluster: trial.Cluster(0, 1), Strategy: strategy.Sync()},
	} {
		for _, rule := range []optimizer.Rule{optimizer.Adagrad{}, optimizer.Ftrl{}, optimizer.Adam{}, optimizer.SGD{LR: 0.1}} {
			t.Run(fmt.Sprint(name, " ", rule.Name()), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := trial.Drawn{Shapes: []optimizer.Param{{Name: "w", Shape: []int{3}}, {Name: "rows", Shape: []int{0, 2}, Embedding: true}}}
					errs := job.Cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
						m := d.Model()
						return trial.Play(ctx, f, m, rule, job.Strategy, func() error {
							s, err := m.OpenSession()
							if err != nil {
								return err
							}
							st := m.Step(trial.Batch{Samples: 1, IDs: [][]uint64{{4, 5}}}, nil)
							return errors.Join(trial.Step(ctx, s, st, func() { st.Rows[0].G[3] = math.MaxFloat32 }), s.Close(ctx))
						})
					})
					for role, err := range errs {
						named := err != nil && strings.Contains(err.Error(), `the gradient of row 5 of "rows" is 3.4028235e+38, and its rule`)
						if plain := rule.Name() == "sgd"; strings.HasPrefix(role, "worker") && named == plain || plain && err != nil {
							t.Errorf("%s: %v", role, err)
						}
					}
				})
			})
		}
	}
}

// TestSkippedGradientsBringNoRowToLife: in every kind of job an id of which all gradients were skipped has no row, in an evaluation and in
// what is saved, and one beside it, in the next step, has.
func TestSkippedGradientsBringNoRowToLife(t *testing.T) {
	t.Parallel()
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			s := job.Strategy
			s.NotFinite = strategy.NotFiniteSkip
			dir := t.TempDir()
			job.Cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				g := nn.NewGraph(1)
				rows := nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Name: "rows", Dim: 2, Init: optimizer.Constant{Value: 3}})
				y := nn.Linear(rows, 1, nn.LinearOptions{})
				return trial.PlayGraph(ctx, f, nn.Mean(nn.SquareError(y, g.Input("y", 1))), optimizer.SGD{LR: 0.01}, s, func(exe *nn.Executor) error {
					batch := func(id uint64, y float32) dataset.Batch {
						return dataset.Batch{"id": nn.IDs([]uint64{id}, 1), "y": nn.Floats([]float32{y}, 1)}
					}
					for id, label := range map[uint64]float32{7: float32(math.NaN()), 8: 1} {
						if _, err := exe.Train(ctx, batch(id, label)); err != nil {
							return err
						}
					}
					if err := f.BarrierWorker(ctx); err != nil {
						return err
					}
					out, err := exe.Eval(ctx, batch(7, 0), rows)
					if err == nil && !slices.Equal(out[0].Float32s(), []float32{0, 0}) {
						t.Errorf("an evaluation reads %v of the id, want zeros", out[0].Float32s())
					}
					if err == nil && f.IsFirstWorker() {
						err = f.SaveInferenceModel(ctx, dir, nn.Inference(y))
					}
					return err
				})
			})
			if ids := trial.Tensor[uint64](t, trial.Weights(t, dir), "rows.ids"); !slices.Equal(ids, []uint64{8}) {
				t.Errorf("rows %v are published, want 8", ids)
			}
		})
	}
}

// badStep is a counter's step with gradients that are not finite, and others.
func badStep(c *trial.Counter) *optimizer.Step {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	st := c.Step()
	copy(c.W.G, []float32{nan, -2, inf})
	for _, r := range st.Rows {
		copy(r.G, []float32{-1, -1, -3, -inf, nan, nan})
	}
	return st
}

// checkNamed checks that the gradient that is not finite is named.
func checkNamed(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), `gradient of "w" is NaN at element 0`) {
		t.Errorf("got %v", err)
	}
}

// oneBadStep is the program of a worker that makes that step and reads what became of it. Copies that drift apart have no rows,
// and meet at the end of the step.
func oneBadStep(s strategy.Strategy, want []float32) fleettest.Program {
	return func(ctx context.Context, f *fleet.Fleet) error {
		c, counts := trial.NewCounter(3), stats.Counts{Steps: 1, Rows: 3, NotFinite: 3}
		if s.NotFinite == strategy.NotFiniteSkip {
			counts.Rows = 1
		}
		drifts := s.LocalSGD.KSteps > 0
		if drifts {
			c, counts = trial.NewWeights(3), stats.Counts{Steps: 1, NotFinite: 1}
		}
		return c.Play(ctx, f, s, func() error {
			session, err := c.OpenSession()
			if err != nil {
				return err
			}
			if err := session.Begin(ctx, badStep(c)); err != nil {
				return err
			}
			if err := session.End(ctx, badStep(c)); err != nil {
				return errors.Join(err, f.StopWorker(ctx)) // so that servers need not miss it
			}
			if !drifts {
				if err := f.BarrierWorker(ctx); err != nil {
					return err
				}
			}
			if got, err := c.Seen(ctx, session); err != nil || !slices.Equal(got, want) {
				return fmt.Errorf("weights and rows are %v, want %v, error %w", got, want, err)
			}
			got := f.Stats().Counts
			if !drifts {
				got.Pushes = 0 // are counted where their staleness is known
			}
			if got != counts {
				return fmt.Errorf("counts are %+v, want %+v", got, counts)
			}
			return session.Close(ctx)
		})
	}
}

// faulty is a rule with a mistake: its second update of an embedding's rows, or of dense weights, panics.
type faulty struct {
	optimizer.SGD
	Rows bool
}

func (f faulty) Update(w, g, state []float32, s *optimizer.State) {
	if s.Row == f.Rows && s.Step > 1 {
		w[len(w)] = 0
	}
	f.SGD.Update(w, g, state, s)
}

// TestARulePanics: a panic of a rule ends the job, and every worker is told of it, and of the line that it comes from.
func TestARulePanics(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		for _, rows := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, rows %v", name, rows), func(t *testing.T) {
				errs := trial.Cluster(1, 2).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					o := trial.NewToy()
					return trial.Play(ctx, f, o, faulty{optimizer.SGD{LR: 0.1}, rows}, s, func() error {
						err := f.BarrierWorker(ctx) // all have joined
						for i := 0; i < 4 && err == nil; i++ {
							err = o.Train(ctx, trial.Samples(2, 0), nil)
						}
						return errors.Join(err, o.Close(ctx))
					})
				})
				for role, err := range errs {
					if err == nil || !strings.Contains(err.Error(), "the update rule panicked: runtime error: index out of range") ||
						!strings.Contains(err.Error(), "faulty.Update, finite_test.go:") {
						t.Errorf("%s: %v", role, err)
					}
				}
			})
		}
	}
}
