package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/strategy"
)

// unsentLoop is a worker that trains alone, evaluates in between, and sets another rate.
type unsentLoop struct {
	servers       int // 0 for a process alone
	embeds, ahead bool
	pause         time.Duration // before each step
	rule          optimizer.Rule
	s             strategy.Strategy

	losses []float64 // of each step, and of each evaluation
	pushes int64
}

const unsentSteps = 60

func (l *unsentLoop) train(t *testing.T) {
	trial.Cluster(l.servers, 1).Simulate(t, trial.Latent(3*time.Millisecond), func(ctx context.Context, f *fleet.Fleet) error {
		loss, rows := regression(l.embeds, unsentSteps)
		exe := nn.NewExecutor(loss.Graph())
		see := func(v float64) { l.losses = append(l.losses, v) }
		after := func(step int) error {
			if step == 31 {
				if err := f.SetRateFactor(ctx, 0.25); err != nil {
					return err
				}
				return f.BarrierWorker(ctx)
			}
			if step%7 != 5 {
				return nil
			}
			for batch, err := range rows.Batches(unsentSteps) {
				if err != nil {
					return err
				}
				out, err := exe.Eval(ctx, batch, loss)
				if err != nil {
					return err
				}
				see(float64(out[0].Data().([]float32)[0]))
			}
			return nil
		}
		return trial.Play(ctx, f, loss, l.rule, l.s, func() error {
			batches, sum := slowly(rows.Batches(1), l.pause), 0.0
			if l.ahead {
				_, err := exe.TrainFrom(ctx, batches, nn.TrainOptions{Step: func(_ context.Context, r nn.TrainResult) error {
					see(r.Loss*float64(r.Steps) - sum)
					sum = r.Loss * float64(r.Steps)
					return after(r.Steps)
				}})
				l.pushes = f.Stats().Counts.Pushes
				return err
			}
			step := 0
			for batch, err := range batches {
				if err != nil {
					return err
				}
				out, err := exe.Train(ctx, batch, loss)
				if err != nil {
					return err
				}
				see(float64(out[0].Data().([]float32)[0]))
				if step++; after(step) != nil {
					return after(step)
				}
			}
			l.pushes = f.Stats().Counts.Pushes
			return f.BarrierWorker(ctx)
		})
	})
}

// TestUnsentUpdatesAreInTheWeights: a worker whose pushes wait for samples computes each step, and each evaluation, with all
// its own updates, as a process alone does: of rows and of dense weights, under clips, with rates that change, and
// where a push leaves because its time is over.
func TestUnsentUpdatesAreInTheWeights(t *testing.T) {
	t.Parallel()
	sgd := optimizer.SGD{LR: 0.05}
	for name, rule := range map[string]optimizer.Rule{
		"plain":   sgd,
		"clipped": optimizer.ClipByGlobalNorm{Rule: optimizer.ClipByValue{Rule: sgd, Max: 0.5}, Norm: 0.6},
		"by name": optimizer.PerParam{Rule: sgd, By: map[string]optimizer.Rule{"fc_0.w_0": optimizer.SGD{LR: 0.02}}},
	} {
		for _, pause := range []time.Duration{time.Millisecond, 30 * time.Millisecond} {
			for _, form := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
				l := unsentLoop{embeds: form[0], ahead: form[1], pause: pause, rule: rule}
				t.Run(fmt.Sprintf("%s, %v a step, embeddings %t, next batch known %t", name, pause, l.embeds, l.ahead), func(t *testing.T) {
					alone := l
					alone.train(t)
					l.servers, l.s.PushSamples = 2, 8
					l.train(t)
					if diff := cmp.Diff(alone.losses, l.losses, cmpopts.EquateApprox(1e-4, 1e-6)); diff != "" {
						t.Errorf("losses of a process alone (-) and with 8 samples a push (+):\n%s", diff)
					}
					if l.pushes == 0 || l.pushes > 2*unsentSteps/3 || len(l.losses) < unsentSteps {
						t.Errorf("%d pushes and %d losses, want at most %d and at least %d", l.pushes, len(l.losses), 2*unsentSteps/3, unsentSteps)
					}
				})
			}
		}
	}
}

// TestSmallBatchesOfLargeModels are pushed together of themselves, if the rule adds up and no other option queues pushes.
func TestSmallBatchesOfLargeModels(t *testing.T) {
	t.Parallel()
	const steps = 48
	for name, c := range map[string]struct {
		wide int
		rule optimizer.Rule
		s    strategy.Strategy
		want int64
	}{
		"large":            {wide: 300, want: 3}, // of 20 steps at most
		"small":            {wide: 100, want: steps},
		"each step":        {wide: 300, s: strategy.Strategy{PushSamples: 1}, want: steps},
		"with a schedule":  {wide: 300, rule: optimizer.SGD{Schedule: lr.ExponentialDecay{LR: 1e-4, Gamma: 0.9}}, want: steps},
		"with momentum":    {wide: 300, rule: optimizer.Momentum{LR: 1e-4}, want: steps},
		"looking ahead":    {wide: 300, s: strategy.Strategy{LookAhead: true}, want: steps},
		"in mode ssp":      {wide: 300, s: strategy.SSP(1), want: steps},
		"asked for, small": {wide: 10, s: strategy.Strategy{PushSamples: 12}, want: steps / 12},
	} {
		t.Run(name, func(t *testing.T) {
			if c.rule == nil {
				c.rule = optimizer.SGD{LR: 1e-4}
			}
			trial.Cluster(1, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				g := nn.NewGraph(1)
				x := nn.Linear(nn.Linear(g.Input("x", 2), c.wide, nn.LinearOptions{}), c.wide, nn.LinearOptions{})
				loss := nn.Mean(nn.SquareError(nn.Linear(x, 1, nn.LinearOptions{}), g.Input("y", 1)))
				_, rows := regression(false, steps)
				return trial.Play(ctx, f, loss, c.rule, c.s, func() error {
					err := trainBy(ctx, nn.NewExecutor(loss.Graph()), loss, rows, true)
					if got := f.Stats().Counts.Pushes; err == nil && got != c.want {
						err = fmt.Errorf("%d pushes of %d steps, want %d", got, steps, c.want)
					}
					return err
				})
			})
		})
	}
}

// TestPushSamplesOfOtherRules is refused where updates do not add up.
func TestPushSamplesOfOtherRules(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]optimizer.Rule{
		"adam": optimizer.Adam{}, "a schedule": optimizer.SGD{Schedule: lr.ExponentialDecay{LR: 1, Gamma: 0.9}},
		"decay": optimizer.Decay{Rule: optimizer.SGD{}, L2: 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			trial.Cluster(1, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				loss, _ := regression(true, 1)
				opt, err := f.DistributedOptimizer(rule, strategy.Strategy{PushSamples: 2})
				if err != nil {
					return err
				}
				if opt.Minimize(loss) == nil {
					return fmt.Errorf("rule %s has pushes of 2 samples", rule.Name())
				}
				return nil
			})
		})
	}
}
