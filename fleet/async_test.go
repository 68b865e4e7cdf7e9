package fleet_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestLoopsMerge trains as programs do, with and without embeddings, by Train and by TrainFrom: 100 steps of which 16 may be one
// push are 7 pushes.
func TestLoopsMerge(t *testing.T) {
	t.Parallel()
	const steps = 100
	s := strategy.Strategy{MaxMergeVarNum: 16, SendQueueSize: 16, SendWaitTimes: 200}
	for _, embeds := range []bool{false, true} {
		for _, ahead := range []bool{false, true} {
			t.Run(fmt.Sprintf("embeddings %t, next batch known %t", embeds, ahead), func(t *testing.T) {
				trial.Cluster(1, 1).Simulate(t, trial.Latent(5*time.Millisecond), func(ctx context.Context, f *fleet.Fleet) error {
					loss, rows := regression(embeds, steps)
					train := func() error { return trainBy(ctx, nn.NewExecutor(loss.Graph()), loss, rows, ahead) }
					if err := trial.Play(ctx, f, loss, optimizer.SGD{LR: 0.01}, s, train); err != nil || f.IsServer() {
						return err
					}
					// The staleness of the first few is not known, before an answer has come.
					if c, most := f.Stats().Counts, int64(steps+15)/16; c.Steps != steps || c.Pushes < most-2 || c.Pushes > most {
						return fmt.Errorf("%d steps went in %d pushes, want %d in %d", c.Steps, c.Pushes, steps, most)
					}
					return nil
				})
			})
		}
	}
}

// regression is a small model with its rows, one batch of one for every step.
func regression(embeds bool, steps int) (*nn.Node, *dataset.Dataset) {
	g := nn.NewGraph(1)
	x := g.Input("x", 2)
	if embeds {
		x = nn.Concat(x, nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Dim: 2}))
	}
	loss := nn.Mean(nn.SquareError(nn.Linear(x, 1, nn.LinearOptions{}), g.Input("y", 1)))
	xs, ys, ids := make([]float32, 2*steps), make([]float32, steps), make([]int64, steps)
	for i := range steps {
		xs[2*i], xs[2*i+1], ys[i], ids[i] = float32(i%3), 1, float32(i%5), int64(i%7)
	}
	return loss, dataset.FromColumns(dataset.FloatValues("x", xs, 2), dataset.FloatValues("y", ys), dataset.IntValues("id", ids))
}

// trainBy makes an epoch with batches of one, by TrainFrom, which knows the next batch, or step by step.
func trainBy(ctx context.Context, exe *nn.Executor, loss *nn.Node, rows *dataset.Dataset, ahead bool) error {
	batches := slowly(rows.Batches(1), time.Millisecond)
	if ahead {
		_, err := exe.TrainFrom(ctx, batches, nn.TrainOptions{})
		return err
	}
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if _, err := exe.Train(ctx, batch, loss); err != nil {
			return err
		}
	}
	return nil
}

// slowly yields batches that take some time to come.
func slowly(batches iter.Seq2[dataset.Batch, error], each time.Duration) iter.Seq2[dataset.Batch, error] {
	return func(yield func(dataset.Batch, error) bool) {
		for batch, err := range batches {
			if time.Sleep(each); !yield(batch, err) {
				return
			}
		}
	}
}

// TestLookAheadOverlaps makes steps that compute for 20 ms on a network of 20 ms: with LookAhead a step waits for no push, with
// embeddings and without; by default it waits for its worker's last one.
func TestLookAheadOverlaps(t *testing.T) {
	t.Parallel()
	const steps, tick = 50, 20 * time.Millisecond
	for _, ahead := range []bool{false, true} {
		for _, embeds := range []bool{false, true} {
			t.Run(fmt.Sprintf("look ahead %t, embeddings %t", ahead, embeds), func(t *testing.T) {
				trial.Cluster(1, 1).Simulate(t, trial.Latent(tick), func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.NewCounter(4)
					if !embeds {
						c = trial.NewWeights(4)
					}
					return trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, strategy.Strategy{LookAhead: ahead}, func() error {
						took, err := compute(ctx, c, steps, tick)
						want := 2 * steps * tick
						if ahead {
							want = steps * tick
						}
						if most := want + 4*tick; err == nil && (took < want-tick || took > most) {
							err = fmt.Errorf("%d steps took %v, want %v to %v", steps, took, want, most)
						}
						return err
					})
				})
			})
		}
	}
}

// compute makes steps that take some time between Begin and End, and says how long they took until the last one's end.
func compute(ctx context.Context, c *trial.Counter, steps int, each time.Duration) (took time.Duration, err error) {
	err = c.InSession(ctx, func(session optimizer.Session) error {
		for start := time.Now(); steps > 0; steps-- {
			if err := trial.Step(ctx, session, c.Step(), func() { time.Sleep(each) }); err != nil {
				return err
			}
			took = time.Since(start)
		}
		return nil
	})
	return took, err
}

// TestSumsStaySums merges pushes under every rule that is additive, and under one of a param: what is merged trains as what is
// not.
//
// Promise: [G2] async: what is merged adds up as it would one by one under additive rules, and merging acts in
// training loops
// Also: TestLoopsMerge, TestFrozenVariablesMayHaveGradients
func TestSumsStaySums(t *testing.T) {
	t.Parallel()
	sgd := optimizer.SGD{LR: 1}
	for name, rule := range map[string]optimizer.Rule{
		"plain":                sgd,
		"limited":              optimizer.ClipByValue{Rule: sgd, Max: 0.5},
		"limited twice":        optimizer.ClipByValue{Rule: optimizer.ClipByValue{Rule: sgd, Max: 0.5}, Min: -0.25, Max: 3},
		"clipped":              optimizer.ClipByNorm{Rule: sgd, Norm: 0.5},
		"clipped globally":     optimizer.ClipByGlobalNorm{Rule: sgd, Norm: 0.5},
		"clipped and limited":  optimizer.ClipByNorm{Rule: optimizer.ClipByValue{Rule: sgd, Max: 0.125}, Norm: 1},
		"one rule more":        optimizer.PerParam{Rule: sgd, By: map[string]optimizer.Rule{"w": optimizer.SGD{LR: 0.5}}},
		"beside another":       optimizer.PerParam{Rule: optimizer.Adam{}, By: map[string]optimizer.Rule{"w": sgd}},
		"decayed by nothing":   optimizer.Decay{Rule: sgd},
		"limited, and decayed": optimizer.ClipByValue{Rule: optimizer.Decay{Rule: sgd}, Max: 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			single, merged := strategy.Async(), strategy.Strategy{MaxMergeVarNum: 5, SendQueueSize: 3, SendWaitTimes: 100}
			want, pushes := countedBy(t, rule, single)
			if pushes != countedSteps {
				t.Fatalf("%d pushes of %d steps", pushes, countedSteps)
			}
			got, pushes := countedBy(t, rule, merged)
			if pushes != countedSteps/5 {
				t.Errorf("%d pushes of %d steps, want %d", pushes, countedSteps, countedSteps/5)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-5, 0)); diff != "" { // clips by norm round
				t.Errorf("merged (+) is not what single pushes are (-):\n%s", diff)
			}
		})
	}
}

const countedSteps = 20

// countedBy trains the counter on one worker, and returns its dense weights and how many pushes it took.
func countedBy(t *testing.T, rule optimizer.Rule, s strategy.Strategy) (w []float32, pushes int64) {
	t.Helper()
	trial.Cluster(1, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		c := trial.NewCounter(3)
		return trial.Play(ctx, f, c, rule, s, func() error {
			if err := c.Train(ctx, countedSteps); err != nil {
				return err
			}
			pushes = f.Stats().Counts.Pushes
			values, err := c.Values(ctx)
			if err == nil {
				w = values[:3]
			}
			return err
		})
	})
	return w, pushes
}
