package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// ratedRun is a training of the toy in two epochs, in the middle of which and between which worker 0 changes the rate.
type ratedRun struct {
	servers, workers int
	strategy         strategy.Strategy
	uneven           bool // worker 0 ends its epoch before the others, and sets the rate when it has
}

// updates of the first epoch before worker 0 sets a rate, of others behind that, of others without worker 0, and of the second
// epoch.
const ratedFirst, ratedThen, ratedAlone, ratedLast = 3, 2, 2, 4

// rules are a rule of each kind, with rates that are set or given by a schedule of their own.
func (r ratedRun) rules(schedule func(float64) lr.Schedule) optimizer.Rule {
	rated := func(rate float64) (float64, lr.Schedule) {
		if schedule == nil {
			return rate, nil
		}
		return 0, schedule(rate)
	}
	adam, adagrad := optimizer.Adam{Dense: true}, optimizer.Adagrad{}
	adam.LR, adam.Schedule = rated(0.01)
	adagrad.LR, adagrad.Schedule = rated(0.1)
	return optimizer.PerParam{Rule: adam, By: map[string]optimizer.Rule{"open": adagrad}}
}

// scheduled are the same rates as a schedule says them.
func (r ratedRun) scheduled(rate float64) lr.Schedule {
	end := int64(ratedFirst + ratedThen)
	if r.uneven {
		end += ratedAlone
	}
	return lr.PiecewiseDecay{Boundaries: []int64{ratedFirst, end}, Values: []float64{rate, rate / 4, rate * 2}}
}

// train returns the model; by rates that worker 0 sets, or by a schedule.
func (r ratedRun) train(t *testing.T, sets bool) []byte {
	t.Helper()
	x := trial.Training{Rule: r.rules(nil), Strategy: r.strategy}
	if !sets {
		x.Rule = r.rules(r.scheduled)
	}
	x.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
		return r.epochs(ctx, f, o, func(rate float64) error {
			if !sets || !f.IsFirstWorker() {
				return nil
			}
			return f.SetRate(ctx, rate)
		})
	}
	return x.Weights(t, trial.Cluster(r.servers, r.workers))
}

func (r ratedRun) epochs(ctx context.Context, f *fleet.Fleet, o *trial.Toy, set func(float64) error) error {
	step := 0
	steps := func(n int) error {
		for range n {
			if err := o.Train(ctx, trial.Share(f, step), nil); err != nil {
				return err
			}
			step++
		}
		return nil
	}
	if err := errors.Join(steps(ratedFirst), set(0.01/4), steps(ratedThen)); err != nil {
		return err
	}
	if r.uneven && !f.IsFirstWorker() {
		if err := steps(ratedAlone); err != nil {
			return err
		}
	}
	if err := o.Trainer.EndEpoch(ctx); err != nil {
		return err
	}
	if r.uneven {
		if err := set(0.01 * 2); err != nil {
			return err
		}
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	step = 100
	return errors.Join(set(0.01*2), steps(ratedLast))
}

// TestRateInRounds sets the rate on clusters of every form: each trains bit for bit as under a schedule that says the same, and
// as one process does, up to the rounding of its sums.
//
// Promise: [G2] a rate that is set meanwhile acts as a schedule that says the same, in rounds and in other modes, by
// faulty networks, after worker 0's death and out of checkpoints
// Also: TestRateInEveryMode, TestRatesUnderFaults, TestRateThatOneServerHeard, TestRateOutlivesTheJob
func TestRateInRounds(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	alone := ratedRun{}.train(t, true)
	if !bytes.Equal(alone, ratedRun{}.train(t, false)) {
		t.Error("one process differs from itself under a schedule")
	}
	for servers := range trial.Some(t, []int{0, 1, 2, 3}) {
		for _, workers := range trial.Some(t, []int{1, 2, 3}) {
			for _, uneven := range []bool{false, true} {
				if servers == 0 && workers == 1 || uneven && workers == 1 {
					continue
				}
				r := ratedRun{servers: servers, workers: workers, strategy: strategy.Sync(), uneven: uneven}
				t.Run(fmt.Sprintf("%d servers, %d workers, uneven %t", servers, workers, uneven), func(t *testing.T) {
					got, want := r.train(t, true), r.train(t, false)
					if !bytes.Equal(got, want) {
						t.Errorf("weights differ by up to %g from a schedule's", trial.Distance(t, got, want))
					}
					if !uneven {
						if far := trial.Distance(t, alone, got); far > 1e-5 {
							t.Errorf("weights are %g away from one process", far)
						}
					}
				})
			}
		}
	}
}

// rateModes are all ways of training, with what a step of one worker adds to a counter when all make as many.
func rateModes(workers int) map[string]struct {
	servers  int
	strategy strategy.Strategy
	counts   float32
} {
	type kind = struct {
		servers  int
		strategy strategy.Strategy
		counts   float32
	}
	all := float32(workers)
	return map[string]kind{
		"sync":             {2, strategy.Sync(), 1},
		"async":            {2, strategy.Async(), all},
		"async, merged":    {2, strategy.Strategy{MaxMergeVarNum: 4, SendQueueSize: 4, SendWaitTimes: 1}, all},
		"half_async":       {2, strategy.HalfAsync(), all},
		"ssp":              {2, strategy.SSP(2), all},
		"geo":              {2, strategy.Geo(3), all},
		"merged gradients": {2, strategy.Strategy{Mode: strategy.ModeSync, GradientMerge: strategy.GradientMerge{KSteps: 2}}, 0.5},
		"collective":       {0, strategy.Sync(), 1},
		"merged together":  {0, strategy.Strategy{Mode: strategy.ModeSync, GradientMerge: strategy.GradientMerge{KSteps: 2}}, 0.5},
		"localsgd":         {0, strategy.Strategy{LocalSGD: strategy.LocalSGD{KSteps: 3}}, 1},
	}
}

// TestRateInEveryMode counts steps at one rate and then at another, which all workers have after a barrier, in every mode: whole
// numbers add up exactly.
func TestRateInEveryMode(t *testing.T) {
	t.Parallel()
	const workers, steps = 2, 6
	for name, m := range rateModes(workers) {
		t.Run(name, func(t *testing.T) {
			fleettest.Run(t, m.servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
				c := trial.NewCounter(5)
				if m.strategy.LocalSGD.KSteps > 0 {
					c = trial.NewWeights(5)
				}
				return trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, m.strategy.WithDefaults(), func() error {
					return rated(ctx, f, c, steps, m.counts)
				})
			})
		})
	}
}

// rated makes some steps at rate 1 and as many at 0.5.
func rated(ctx context.Context, f *fleet.Fleet, c *trial.Counter, steps int, counts float32) error {
	if err := errors.Join(c.Train(ctx, steps), c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
		return err
	}
	if f.IsFirstWorker() {
		if err := f.SetRate(ctx, 0.5); err != nil {
			return err
		}
	}
	if err := errors.Join(f.BarrierWorker(ctx), c.Train(ctx, steps), c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
		return err
	}
	if factor, err := f.RateFactor(ctx); err != nil || factor != 0.5 {
		return fmt.Errorf("the factor is %v: %w", factor, err)
	}
	return c.Holds(ctx, float32(steps)*1.5*counts)
}

// TestALoadBringsItsRate: a checkpoint that servers load while they run brings the factor that it was saved with, also where another was
// set that waits for its round.
func TestALoadBringsItsRate(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeSSP, strategy.ModeAsync, strategy.ModeHalfAsync} {
		for _, between := range []int{0, 1} { // steps that the rate in between is trained with
			t.Run(fmt.Sprintf("%s, %d steps", mode, between), func(t *testing.T) {
				dir := t.TempDir()
				fleettest.Run(t, 2, 2, func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.NewCounter(5)
					return trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, strategy.Strategy{Mode: mode}, func() error {
						first := func(do func() error) error {
							if err := errors.Join(c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil || !f.IsFirstWorker() {
								return errors.Join(err, f.BarrierWorker(ctx))
							}
							return errors.Join(do(), f.BarrierWorker(ctx))
						}
						if err := errors.Join(
							first(func() error { return f.SetRateFactor(ctx, 2) }),
							first(func() error { return f.SavePersistables(ctx, dir) }),
							first(func() error { return f.SetRateFactor(ctx, 0.5) }),
							c.Train(ctx, between),
							first(func() error { return f.LoadModel(ctx, dir) })); err != nil {
							return err
						}
						if factor, err := f.RateFactor(ctx); err != nil || factor != 2 {
							return fmt.Errorf("the factor is %v behind a checkpoint with 2, error %v", factor, err)
						}
						all := float32(2)
						if mode != strategy.ModeSync {
							all *= 2 // workers
						}
						return errors.Join(c.Train(ctx, 3), c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx), c.Holds(ctx, 3*all))
					})
				})
			})
		}
	}
}

// TestWhoSetsTheRate: worker 0, once it has joined, and a rate that can be.
func TestWhoSetsTheRate(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 1} {
		fleettest.Run(t, servers, 2, func(ctx context.Context, f *fleet.Fleet) error {
			rates := func(of string, sentinel error) error {
				for _, err := range []error{f.SetRate(ctx, 0.1), f.SetRateFactor(ctx, 0.5)} {
					if err == nil || !strings.Contains(err.Error(), of) || sentinel != nil && !errors.Is(err, sentinel) {
						return fmt.Errorf("%v, want an error that says %q and is %v", err, of, sentinel)
					}
				}
				return nil
			}
			if f.IsWorker() {
				if err := rates("call DistributedOptimizer and Minimize first", fleet.ErrOrder); err != nil {
					return err
				}
			}
			err := trial.Minimize(f, trial.NewCounter(1), optimizer.SGD{LR: 0.2}, strategy.Sync())
			switch {
			case err != nil:
				return err
			case f.IsServer():
				err = rates("this is server 0 of 1", fleet.ErrRole)
			case !f.IsFirstWorker():
				err = rates("this is worker 1 of 2: worker 0 sets the rate, for all", fleet.ErrRole)
			default:
				err = rates("call InitWorker first", fleet.ErrOrder)
			}
			if err != nil {
				return err
			}
			return trial.Begin(ctx, f, "", func() error {
				if !f.IsFirstWorker() {
					return nil
				}
				for _, err := range []error{f.SetRate(ctx, 0), f.SetRate(ctx, -1), f.SetRateFactor(ctx, 0)} {
					if err == nil || !strings.Contains(err.Error(), "must be a positive number") {
						return fmt.Errorf("a bad rate: %v", err)
					}
				}
				factor, err := f.RateFactor(ctx)
				if factor != 1 {
					return fmt.Errorf("the factor is %v: %w", factor, err)
				}
				return err
			})
		})
	}
}

// TestRateOutlivesTheJob saves when the rate was set and no step has followed: a job that begins from there trains as one that
// never stopped, and one that takes some params begins with the rule's rate.
func TestRateOutlivesTheJob(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, map[string]struct {
		servers, workers, later int
	}{"sync": {2, 2, 3}, "alone": {0, 1, 0}, "collective": {0, 2, 0}}) {
		t.Run(name, func(t *testing.T) {
			rule, middle := ratedRun{}.rules(nil), t.TempDir()
			c, later := trial.Cluster(job.servers, job.workers), trial.Cluster(job.later, job.workers)
			leg := trial.Training{Rule: rule, Strategy: strategy.Sync()}
			leg.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error { return quartered(ctx, f, o, 8) }
			want := leg.Weights(t, c)
			leg.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
				if err := errors.Join(quartered(ctx, f, o, 4), f.BarrierWorker(ctx)); err != nil || !f.IsFirstWorker() {
					return err
				}
				return errors.Join(f.SetRate(ctx, 0.01/4), f.SavePersistables(ctx, middle))
			}
			leg.On(t, c)
			if manifest := string(trial.Read(t, filepath.Join(middle, "manifest.json"))); !strings.Contains(manifest, `"rate_factors"`) {
				t.Errorf("the checkpoint says nothing of the rate: %s", manifest)
			}
			got := trial.Training{Rule: rule, Strategy: strategy.Sync(), From: 4, To: 8, Load: middle}.Weights(t, later)
			if !bytes.Equal(want, got) {
				t.Errorf("weights differ by up to %g from those of a job that never stopped", trial.Distance(t, want, got))
			}
			fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
				err := trial.Minimize(f, trial.NewToy(), rule, strategy.Sync())
				if err == nil {
					err = f.LoadModel(ctx, middle, "emb")
				}
				if factor, _ := f.RateFactor(ctx); factor != 1 {
					return fmt.Errorf("with one param of the checkpoint the factor is %v", factor)
				}
				return err
			})
		})
	}
}

// quartered makes some steps, before the fifth of which worker 0 sets a quarter of the rate.
func quartered(ctx context.Context, f *fleet.Fleet, o *trial.Toy, steps int) error {
	for i := range steps {
		if i == 4 && f.IsFirstWorker() {
			if err := f.SetRate(ctx, 0.01/4); err != nil {
				return err
			}
		}
		if err := o.Train(ctx, trial.Share(f, i), nil); err != nil {
			return err
		}
	}
	return nil
}

// TestCheckpointsWithoutARate: where none was set, a checkpoint is as it always was.
func TestCheckpointsWithoutARate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trial.Training{Strategy: strategy.Sync(), To: 2, Save: dir}.On(t, trial.Cluster(0, 1))
	if manifest := string(trial.Read(t, filepath.Join(dir, "manifest.json"))); strings.Contains(manifest, "rate") {
		t.Error(manifest)
	}
}

// TestRatesUnderFaults has worker 0 set another rate before every step while messages are lost, repeated, late and out of order:
// each rate counts for its own step, also when the word of an earlier one comes again.
func TestRatesUnderFaults(t *testing.T) {
	t.Parallel()
	trial.EachSeed(t, 6, func(seed trial.Seed) {
		for name, job := range map[string]struct {
			workers  int
			strategy strategy.Strategy
		}{"sync": {2, strategy.Sync()}, "async": {1, strategy.Async()}} {
			t.Run(fmt.Sprintf("%s/%d", name, seed.N), func(t *testing.T) {
				seed.Simulate(t, job.workers, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
					return everyStepAnother(ctx, f, trial.Patient(job.strategy))
				})
			})
		}
	})
}

func everyStepAnother(ctx context.Context, f *fleet.Fleet, s strategy.Strategy) error {
	c, sum := trial.NewCounter(5), float32(0)
	return trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, s, func() error {
		err := c.InSession(ctx, func(session optimizer.Session) error {
			for i := range 8 {
				rate := []float64{2, 0.5, 4, 1}[i%4]
				sum += float32(rate)
				if f.IsFirstWorker() {
					if err := f.SetRate(ctx, rate); err != nil {
						return err
					}
				}
				if err := c.Steps(ctx, session, 1); err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(err, c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		return c.Holds(ctx, sum)
	})
}

// TestRateThatOneServerHeard has worker 0 die when it has told the first of two servers of a rate: the others go on with one rate
// on both.
func TestRateThatOneServerHeard(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s = trial.Hasty(s).WithDefaults()
				net, dead := transport.NewMemory(), make(chan struct{})
				errs := fleettest.Cluster{Servers: 2, Workers: 2, Options: fleet.Options{Transport: net}}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.NewCounter(5)
					if f.IsWorker() && f.IsFirstWorker() {
						defer close(dead)
						return dieSetting(ctx, f, c, net, s)
					}
					return c.Play(ctx, f, s, func() error {
						if err := errors.Join(c.Train(ctx, 2), f.BarrierWorker(ctx)); err != nil {
							return err
						}
						<-dead
						if _, err := f.AllGather(ctx, nil); err != nil { // waits until worker 0 is out of the job
							return err
						}
						if err := c.Train(ctx, 2); err != nil {
							return err
						}
						return c.Holds(ctx, map[strategy.Mode]float32{strategy.ModeSync: 2 + 2*0.5, strategy.ModeAsync: 4 + 2*0.5}[s.Mode])
					})
				})
				if err := errs["worker 1"]; err != nil {
					t.Error(err)
				}
				if err := errs["worker 0"]; !errors.Is(err, trial.ErrPulled) {
					t.Errorf("worker 0: %v, want its silence", err)
				}
			})
		})
	}
}

// dieSetting trains two steps, and dies when one server has heard of a rate.
func dieSetting(ctx context.Context, f *fleet.Fleet, c *trial.Counter, net transport.Transport, s strategy.Strategy) error {
	line := &trial.Cable{Transport: net, Left: f.ServerEndpoints()[0]}
	own, err := trial.Another(f, line)
	if err != nil {
		return err
	}
	defer own.Close()
	if _, err := c.Join(ctx, own, s); err != nil {
		return err
	}
	if err := errors.Join(c.Train(ctx, 2), own.BarrierWorker(ctx)); err != nil {
		return err
	}
	line.Pulled.Store(true)
	return own.SetRate(ctx, 0.5)
}

// TestRateOfALateWorker: a worker that joins a job in mode geo, where workers apply the rule, when the rate has been set.
func TestRateOfALateWorker(t *testing.T) {
	t.Parallel()
	set := make(chan struct{})
	fleettest.Run(t, 2, 2, func(ctx context.Context, f *fleet.Fleet) error {
		c := trial.NewCounter(3)
		if f.IsWorker() && !f.IsFirstWorker() {
			<-set
		}
		return c.Play(ctx, f, strategy.Geo(2).WithDefaults(), func() (err error) {
			if f.IsFirstWorker() {
				err = f.SetRate(ctx, 0.25)
				close(set)
			} else {
				err = errors.Join(c.Train(ctx, 3), c.Trainer.EndEpoch(ctx))
			}
			if err := errors.Join(err, f.BarrierWorker(ctx)); err != nil {
				return err
			}
			return c.Holds(ctx, 3*0.25)
		})
	})
}
