package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// ratedRun is a training of the toy in two epochs, in the middle of which and between which worker 0 changes the rate.
type ratedRun struct {
	servers, workers int
	strategy         strategy.Strategy
	uneven           bool // worker 0 ends its epoch before the others, and sets the rate when it has
}

// updates of the first epoch before worker 0 sets a rate, of others behind that, of others without worker 0, and of the second epoch.
const ratedFirst, ratedThen, ratedAlone, ratedLast = 3, 2, 2, 4

// rules are a rule of each kind, with rates that are set or given by a schedule of their own.
func (r ratedRun) rules(lr func(float64) optimizer.Schedule) optimizer.Rule {
	rated := func(rate float64) (float64, optimizer.Schedule) {
		if lr == nil {
			return rate, nil
		}
		return 0, lr(rate)
	}
	adam, adagrad := optimizer.Adam{Dense: true}, optimizer.Adagrad{}
	adam.LR, adam.Schedule = rated(0.01)
	adagrad.LR, adagrad.Schedule = rated(0.1)
	return optimizer.PerParam{Rule: adam, By: map[string]optimizer.Rule{"open": adagrad}}
}

// scheduled are the same rates as a schedule says them.
func (r ratedRun) scheduled(rate float64) optimizer.Schedule {
	end := int64(ratedFirst + ratedThen)
	if r.uneven {
		end += ratedAlone
	}
	return optimizer.PiecewiseDecay{Boundaries: []int64{ratedFirst, end}, Values: []float64{rate, rate / 4, rate * 2}}
}

// train returns the model; by rates that worker 0 sets, or by a schedule.
func (r ratedRun) train(t *testing.T, sets bool) []byte {
	t.Helper()
	dir, rule := t.TempDir(), r.rules(nil)
	if !sets {
		rule = r.rules(r.scheduled)
	}
	fleettest.Run(t, r.servers, r.workers, func(ctx context.Context, f *fleet.Fleet) error {
		o := newToy()
		opt, err := f.DistributedOptimizer(rule, r.strategy)
		if err != nil {
			return err
		}
		if err := opt.Minimize(o); err != nil {
			return err
		}
		return from(ctx, f, "", func() error {
			set := func(rate float64) error {
				if !sets || !f.IsFirstWorker() {
					return nil
				}
				return f.SetRate(ctx, rate)
			}
			if err := r.epochs(ctx, f, o, set); err != nil {
				return err
			}
			return saveFirst(ctx, f, dir)(o)
		})
	})
	return read(t, filepath.Join(dir, "weights.safetensors"))
}

func (r ratedRun) epochs(ctx context.Context, f *fleet.Fleet, o *toy, set func(float64) error) error {
	step := 0
	steps := func(n int) error {
		for range n {
			share := 24 / f.WorkerNum()
			if err := o.train(ctx, samples(24, step)[f.WorkerIndex()*share:][:share], nil); err != nil {
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
	if err := o.trainer.EndEpoch(ctx); err != nil {
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

// TestRateInRounds sets the rate on clusters of every form: each trains bit for bit as under a schedule that says the same, and as one
// process does, up to the rounding of its sums.
func TestRateInRounds(t *testing.T) {
	alone := ratedRun{}.train(t, true)
	if !bytes.Equal(alone, ratedRun{}.train(t, false)) {
		t.Error("one process differs from itself under a schedule")
	}
	for servers := range 4 {
		for workers := 1; workers <= 3; workers++ {
			for _, uneven := range []bool{false, true} {
				if servers == 0 && workers == 1 || uneven && workers == 1 {
					continue
				}
				r := ratedRun{servers: servers, workers: workers, strategy: strategy.Sync(), uneven: uneven}
				t.Run(fmt.Sprintf("%d servers, %d workers, uneven %t", servers, workers, uneven), func(t *testing.T) {
					got, want := r.train(t, true), r.train(t, false)
					if !bytes.Equal(got, want) {
						t.Errorf("weights differ by up to %g from a schedule's", distance(t, got, want))
					}
					if !uneven {
						if far := distance(t, alone, got); far > 1e-5 {
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

// TestRateInEveryMode counts steps at one rate and then at another, which all workers have after a barrier, in every mode: whole numbers add up
// exactly.
func TestRateInEveryMode(t *testing.T) {
	const workers, steps = 2, 6
	for name, m := range rateModes(workers) {
		t.Run(name, func(t *testing.T) {
			fleettest.Run(t, m.servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
				c := newCounter(5)
				return c.rated(ctx, f, m.strategy.WithDefaults(), steps, m.counts)
			})
		})
	}
}

// rated makes some steps at rate 1 and as many at 0.5.
func (c *counter) rated(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, steps int, counts float32) error {
	objective := optimizer.Objective(c)
	if s.LocalSGD.KSteps > 0 {
		objective = denseCounter{c}
	}
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, s)
	if err != nil {
		return err
	}
	if err := opt.Minimize(objective); err != nil {
		return err
	}
	return from(ctx, f, "", func() error {
		if err := errors.Join(c.makes(ctx, objective, steps), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		if f.IsFirstWorker() {
			if err := f.SetRate(ctx, 0.5); err != nil {
				return err
			}
		}
		if err := errors.Join(f.BarrierWorker(ctx), c.makes(ctx, objective, steps), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		if factor, err := f.RateFactor(ctx); err != nil || factor != 0.5 {
			return fmt.Errorf("the factor is %v: %w", factor, err)
		}
		return c.holds(ctx, objective, float32(steps)*1.5*counts)
	})
}

// denseCounter is the counter without its rows.
type denseCounter struct{ *counter }

func (c denseCounter) Params() []*optimizer.Param { return c.counter.Params()[:1] }

func stepOf(c *counter, o optimizer.Objective, eval bool) *optimizer.Step {
	st := c.step(eval)
	if len(o.Params()) == 1 {
		st.Rows = nil
	}
	return st
}

func (c *counter) makes(ctx context.Context, o optimizer.Objective, steps int) error {
	session, err := c.trainer.Open(o.Params())
	if err != nil {
		return err
	}
	for range steps {
		copy(c.w.G, []float32{-1, -1, -1, -1, -1})
		st := stepOf(c, o, false)
		if err := errors.Join(session.Begin(ctx, st), session.End(ctx, st)); err != nil {
			return err
		}
	}
	return errors.Join(session.Close(ctx), c.trainer.EndEpoch(ctx))
}

// holds compares all values with what they must be when all workers have ended.
func (c *counter) holds(ctx context.Context, o optimizer.Objective, want float32) error {
	session, err := c.trainer.Open(o.Params())
	if err != nil {
		return err
	}
	st := stepOf(c, o, true)
	if err := session.Begin(ctx, st); err != nil {
		return err
	}
	values := c.w.W
	for _, r := range st.Rows {
		values = append(values[:len(values):len(values)], r.W...)
	}
	for i, w := range values {
		if w != want {
			return fmt.Errorf("value %d is %v, want %v", i, w, want)
		}
	}
	return errors.Join(session.End(ctx, st), session.Close(ctx))
}

// TestWhoSetsTheRate: worker 0, once it has joined, and a rate that can be.
func TestWhoSetsTheRate(t *testing.T) {
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
			c := newCounter(1)
			if f.IsWorker() {
				if err := rates("call DistributedOptimizer and Minimize first", fleet.ErrOrder); err != nil {
					return err
				}
			}
			opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.2}, strategy.Sync())
			if err == nil {
				err = opt.Minimize(c)
			}
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
			return from(ctx, f, "", func() error {
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

// TestRateOutlivesTheJob saves when the rate was set and no step has followed: a job that begins from there trains as one that never
// stopped, and one that takes some params begins with the rule's rate.
func TestRateOutlivesTheJob(t *testing.T) {
	for name, job := range map[string]struct {
		servers, workers, later int
	}{"sync": {2, 2, 3}, "alone": {0, 1, 0}, "collective": {0, 2, 0}} {
		t.Run(name, func(t *testing.T) {
			rule := ratedRun{}.rules(nil)
			middle, models := t.TempDir(), [2]string{t.TempDir(), t.TempDir()}
			leg := func(servers int, load, save, model string, begin, end int) {
				fleettest.Run(t, servers, job.workers, func(ctx context.Context, f *fleet.Fleet) error {
					o := newToy()
					opt, err := f.DistributedOptimizer(rule, strategy.Sync())
					if err != nil {
						return err
					}
					if err := opt.Minimize(o); err != nil {
						return err
					}
					return from(ctx, f, load, func() error {
						return ratedLeg(ctx, f, o, save, model, begin, end)
					})
				})
			}
			leg(job.servers, "", "", models[0], 0, 8)
			leg(job.servers, "", middle, "", 0, 4)
			manifest := string(read(t, filepath.Join(middle, "manifest.json")))
			if !strings.Contains(manifest, `"rate_factors"`) {
				t.Errorf("the checkpoint says nothing of the rate: %s", manifest)
			}
			leg(job.later, middle, "", models[1], 4, 8)
			var got [2][]byte
			for i, dir := range models {
				got[i] = read(t, filepath.Join(dir, "weights.safetensors"))
			}
			if !bytes.Equal(got[0], got[1]) {
				t.Errorf("weights differ by up to %g from those of a job that never stopped", distance(t, got[0], got[1]))
			}
			fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
				opt, err := f.DistributedOptimizer(rule, strategy.Sync())
				if err == nil {
					err = opt.Minimize(newToy())
				}
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

// ratedLeg makes steps [begin, end), before the fifth of which worker 0 sets the rate, and saves.
func ratedLeg(ctx context.Context, f *fleet.Fleet, o *toy, save, model string, begin, end int) error {
	for i := begin; i < end; i++ {
		if i == 4 && begin < 4 && f.IsFirstWorker() {
			if err := f.SetRate(ctx, 0.01/4); err != nil {
				return err
			}
		}
		share := 24 / f.WorkerNum()
		if err := o.train(ctx, samples(24, i)[f.WorkerIndex()*share:][:share], nil); err != nil {
			return err
		}
	}
	if save == "" {
		return saveFirst(ctx, f, model)(o)
	}
	if err := f.BarrierWorker(ctx); err != nil || !f.IsFirstWorker() {
		return err
	}
	return errors.Join(f.SetRate(ctx, 0.01/4), f.SavePersistables(ctx, save))
}

// TestCheckpointsWithoutARate: where none was set, a checkpoint is as it always was.
func TestCheckpointsWithoutARate(t *testing.T) {
	dir := t.TempDir()
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		return train(ctx, f, optimizer.SGD{LR: 0.1}, strategy.Sync(), 2, func(*toy) error { return f.SavePersistables(ctx, dir) })
	})
	manifest, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil || strings.Contains(string(manifest), "rate") {
		t.Errorf("%v: %s", err, manifest)
	}
}

// TestRatesUnderFaults has worker 0 set another rate before every step while messages are lost, repeated, late and out of order: each rate
// counts for its own step, also when the word of an earlier one comes again.
func TestRatesUnderFaults(t *testing.T) {
	first, end := seeds(t, 6)
	met := map[string]int{}
	for name, job := range map[string]struct {
		workers  int
		strategy strategy.Strategy
	}{"sync": {2, strategy.Sync()}, "async": {1, strategy.Async()}} {
		for seed := first; seed < end; seed++ {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				underFaults(t, seed, job.workers, met, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
					return everyStepAnother(ctx, f, patient(job.strategy))
				})
			})
		}
	}
	report(t, end-first, met)
}

func everyStepAnother(ctx context.Context, f *fleet.Fleet, s strategy.Strategy) error {
	c := newCounter(5)
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, s)
	if err == nil {
		err = opt.Minimize(c)
	}
	if err != nil {
		return err
	}
	return from(ctx, f, "", func() error {
		sum := float32(0)
		session, err := c.trainer.Open(c.Params())
		if err != nil {
			return err
		}
		for i := range 8 {
			rate := []float64{2, 0.5, 4, 1}[i%4]
			sum += float32(rate)
			if f.IsFirstWorker() {
				if err := f.SetRate(ctx, rate); err != nil {
					return err
				}
			}
			st := c.step(false)
			if err := errors.Join(session.Begin(ctx, st), session.End(ctx, st)); err != nil {
				return err
			}
		}
		if err := errors.Join(session.Close(ctx), c.trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		return c.holds(ctx, c, sum)
	})
}

// onlyTo is worker 0's way to the network: once cut, what it says reaches server 0 alone.
type onlyTo struct {
	transport.Transport
	server string
	cut    atomic.Bool
}

func (o *onlyTo) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if o.cut.Load() && endpoint != o.server {
		return errPulled
	}
	return o.Transport.Call(ctx, endpoint, req, read)
}

// TestRateThatOneServerHeard has worker 0 die when it has told the first of two servers of a rate: the others go on with one rate on both.
func TestRateThatOneServerHeard(t *testing.T) {
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			s.WorkerTimeout, s.HeartbeatInterval = strategy.Duration(400*time.Millisecond), strategy.Duration(20*time.Millisecond)
			s = s.WithDefaults()
			net, dead := transport.NewMemory(), make(chan struct{})
			errs := fleettest.Cluster{Servers: 2, Workers: 2, Options: fleet.Options{Transport: net}}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				c := newCounter(5)
				if f.IsWorker() && f.IsFirstWorker() {
					defer close(dead)
					return c.dieSetting(ctx, f, net, s)
				}
				trainer, err := c.join(ctx, f, s)
				if err != nil || trainer == nil {
					return err
				}
				if err := errors.Join(c.makesAll(ctx, 2), f.BarrierWorker(ctx)); err != nil {
					return err
				}
				<-dead
				if _, err := f.Util().AllGather(ctx, nil); err != nil { // waits until worker 0 is out of the job
					return err
				}
				if err := c.makesAll(ctx, 2); err != nil {
					return err
				}
				session, err := trainer.Open(c.Params())
				if err != nil {
					return err
				}
				st := c.step(true)
				if err := session.Begin(ctx, st); err != nil {
					return err
				}
				want := map[strategy.Mode]float32{strategy.ModeSync: 2 + 2*0.5, strategy.ModeAsync: 4 + 2*0.5}[s.Mode]
				for _, w := range append(slices.Clone(c.w.W), st.Rows[0].W...) {
					if w != want {
						return fmt.Errorf("values %v and %v, want %v everywhere", c.w.W, st.Rows[0].W, want)
					}
				}
				return errors.Join(session.Close(ctx), f.StopWorker(ctx))
			})
			if err := errs["worker 1"]; err != nil {
				t.Error(err)
			}
			if err := errs["worker 0"]; !errors.Is(err, errPulled) {
				t.Errorf("worker 0: %v, want its silence", err)
			}
		})
	}
}

// dieSetting trains two steps, and dies when one server has heard of a rate.
func (c *counter) dieSetting(ctx context.Context, f *fleet.Fleet, net transport.Transport, s strategy.Strategy) error {
	line := &onlyTo{Transport: net, server: f.ServerEndpoints()[0]}
	role := rolemaker.UserDefined{CurrentID: 0, Role: rolemaker.Worker, WorkerNum: f.WorkerNum(), ServerEndpoints: f.ServerEndpoints()}
	own, err := fleet.New(role, fleet.Options{Transport: line})
	if err != nil {
		return err
	}
	defer own.Close()
	if _, err := c.join(ctx, own, s); err != nil {
		return err
	}
	if err := errors.Join(c.makesAll(ctx, 2), own.BarrierWorker(ctx)); err != nil {
		return err
	}
	line.cut.Store(true)
	return own.SetRate(ctx, 0.5)
}

// makesAll makes some steps, which are in the weights when it returns.
func (c *counter) makesAll(ctx context.Context, steps int) error {
	session, err := c.trainer.Open(c.Params())
	if err != nil {
		return err
	}
	for range steps {
		st := c.step(false)
		if err := errors.Join(session.Begin(ctx, st), session.End(ctx, st)); err != nil {
			return err
		}
	}
	return session.Close(ctx)
}

// TestRateOfALateWorker: a worker that joins a job in mode geo, where workers apply the rule, when the rate has been set.
func TestRateOfALateWorker(t *testing.T) {
	set := make(chan struct{})
	fleettest.Run(t, 2, 2, func(ctx context.Context, f *fleet.Fleet) error {
		c := newCounter(3)
		if f.IsWorker() && !f.IsFirstWorker() {
			<-set
		}
		trainer, err := c.join(ctx, f, strategy.Geo(2).WithDefaults())
		if err != nil || trainer == nil {
			return err
		}
		if f.IsFirstWorker() {
			err = f.SetRate(ctx, 0.25)
			close(set)
		} else {
			err = c.makes(ctx, c, 3)
		}
		if err := errors.Join(err, f.BarrierWorker(ctx), c.holds(ctx, c, 3*0.25)); err != nil {
			return err
		}
		return f.StopWorker(ctx)
	})
}
