package fleet_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// deathJob is a job of which one process ends in the middle of training: by kill -9, or stopped, as by SIGTERM.
type deathJob struct {
	strategy strategy.Strategy
	victim   string // "worker 1"
	stopped  bool
	returns  bool          // as another process, when it has been declared dead
	soon     time.Duration // or so long after its end, if that is set
	network  transport.Transport

	mu      sync.Mutex
	died    time.Time
	ends    map[string]deathEnd
	longest time.Duration // of a step
}

// deathEnd is how a role ended, and how long after the death.
type deathEnd struct {
	err   error
	after time.Duration
}

// deathSteps is how many steps a worker makes, one a second where nobody holds it up; after deathAfter of them the victim has
// gone.
const deathSteps, deathAfter = 120, 5

// deathModes are the presets of all modes; in geo workers meet servers more often, since between exchanges they miss nobody.
func deathModes(t *testing.T) (all []strategy.Strategy) {
	for _, m := range strategy.Modes() {
		s, err := strategy.Named(string(m))
		if err != nil {
			t.Fatal(err)
		}
		if s.Mode == strategy.ModeGeo {
			s.KSteps = 5
		}
		all = append(all, s)
	}
	return all
}

// inStep says whether workers wait for each other.
func inStep(m strategy.Mode) bool { return m == strategy.ModeSync || m == strategy.ModeSSP }

// TestWhenARoleDies holds "When a role dies" of RECOVERY.md to what happens, in every mode: a worker's death ends
// nobody's training, and holds up the others for a worker timeout where they wait for each other, unless the worker has said that it
// ends; a server's ends the job, within seconds.
//
// Promise: [G5] if any role dies, the others end, or go on, as RECOVERY.md says
// Also: TestASecondLife, TestWorkerDies, TestServerTakesWorkersWithIt, TestLastWorkerDiesHalfway,
// TestTornRoundsAreTold, TestTheLastGradientOfTheDead
func TestWhenARoleDies(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, s := range trial.Some(t, deathModes(t)) {
		for _, victim := range []string{"worker 0", "worker 1", "server 0", "server 1"} {
			for _, stopped := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, stopped %t", s.Mode, victim, stopped), func(t *testing.T) {
					j := &deathJob{strategy: s.WithDefaults(), victim: victim, stopped: stopped,
						ends: map[string]deathEnd{}}
					j.run(t)
					if len(j.ends) != 5 {
						t.Errorf("%d roles ended, want 5", len(j.ends))
					}
					delete(j.ends, victim)
					if strings.HasPrefix(victim, "worker") {
						j.checkWorkerDied(t)
					} else {
						j.checkServerDied(t)
					}
				})
			}
		}
	}
}

// TestASecondLife has the dead worker come back as another process: it trains on where nobody waits for each other, and is
// refused with what to do where the others went on without it.
func TestASecondLife(t *testing.T) {
	t.Parallel()
	for _, s := range trial.Some(t, deathModes(t)) {
		t.Run(string(s.Mode), func(t *testing.T) {
			j := playDeath(t, s, "worker 1", true)
			for role, end := range j.ends {
				switch refused := role == "worker 1" && inStep(s.Mode); {
				case refused && (!errors.Is(end.err, fleet.ErrWentBack) ||
					!strings.Contains(end.err.Error(), "start the job again from its last checkpoint")):
					t.Errorf("its second life ended with %v, want it to be refused with what to do", end.err)
				case !refused && inStep(s.Mode) && strings.HasPrefix(role, "server"):
					if !errors.Is(end.err, fleet.ErrWorkersDied) {
						t.Errorf("%s: %v, want ErrWorkersDied", role, end.err)
					}
				case !refused && end.err != nil:
					t.Errorf("%s: %v", role, end.err)
				}
			}
		})
	}
}

// TestANextLifeIsADeath: where a worker's death sends all back, or the others go on without it, another process in its place is word enough
// of it when three heartbeats are missed: nobody waits for the worker timeout.
//
// Promise: [G5] another process in a dead worker's place is word of its death after three missed heartbeats
func TestANextLifeIsADeath(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, s := range deathModes(t) {
		if !inStep(s.Mode) {
			continue
		}
		for _, lost := range []strategy.WorkerLost{"", strategy.WorkerGoOn} {
			t.Run(fmt.Sprintf("%s, %q", s.Mode, lost), func(t *testing.T) {
				s.Recovery = strategy.Recovery{Dir: t.TempDir(), WorkerLost: lost}
				j := &deathJob{strategy: s.WithDefaults(), victim: "worker 1", returns: true, soon: 5 * time.Second,
					ends: map[string]deathEnd{}}
				j.run(t)
				delete(j.ends, j.victim)
				for role, end := range j.ends {
					if back := lost == ""; back != errors.Is(end.err, fleet.ErrWentBack) || back &&
						end.after > 8*time.Second {
						t.Errorf("%s ended after %v with %v", role, end.after, end.err)
					}
				}
				if j.longest > 10*time.Second || len(j.ends) != 4 {
					t.Errorf("the longest step took %v; %d roles ended", j.longest, len(j.ends))
				}
			})
		}
	}
}

// playDeath plays the job in virtual time.
func playDeath(t *testing.T, s strategy.Strategy, victim string, returns bool) *deathJob {
	j := &deathJob{strategy: s.WithDefaults(), victim: victim, returns: returns, ends: map[string]deathEnd{}}
	j.run(t)
	return j
}

func (j *deathJob) run(t *testing.T) {
	keep := func(below transport.Transport) transport.Transport {
		j.network = below
		return below
	}
	trial.Cluster(2, 3).Simulate(t, keep, j.play)
}

// checkWorkerDied: the others end well, and servers end with the death; nobody waited longer than it took to notice, and where
// nobody waits for each other not at all.
func (j *deathJob) checkWorkerDied(t *testing.T) {
	for role, end := range j.ends {
		switch number := strings.TrimPrefix(j.victim, "worker "); {
		case strings.HasPrefix(role, "worker") && end.err != nil:
			t.Errorf("%s: %v, want it to train to its end", role, end.err)
		case strings.HasPrefix(role, "server") && (!errors.Is(end.err, fleet.ErrWorkersDied) ||
			!strings.Contains(end.err.Error(), "worker ["+number+"]")):
			t.Errorf("%s: %v, want ErrWorkersDied that names the worker", role, end.err)
		}
	}
	least, most := time.Duration(0), 2*time.Second
	if timeout := j.strategy.WithDefaults().WorkerTimeout.Std(); inStep(j.strategy.Mode) && !j.stopped {
		least, most = timeout-5*time.Second, timeout+timeout/8+5*time.Second
	}
	if j.longest < least || j.longest > most {
		t.Errorf("the longest step took %v, want %v to %v", j.longest, least, most)
	}
}

// checkServerDied: all others end with ErrWentBack and the server's name, a heartbeat after it has said that it ends, and else when
// nobody has listened at its endpoint for some heartbeats.
func (j *deathJob) checkServerDied(t *testing.T) {
	most := 4 * time.Second
	if j.stopped {
		most = 1500 * time.Millisecond
	}
	if j.strategy.Mode == strategy.ModeGeo { // a worker asks no server in a step, and is told at its next
		most += time.Second
	}
	for role, end := range j.ends {
		if !errors.Is(end.err, fleet.ErrWentBack) || !strings.Contains(end.err.Error(), j.victim+" (") ||
			end.after > most {
			t.Errorf("%s ended after %v with %v, want ErrWentBack within %v, with the name of %s", role, end.after,
				end.err, most, j.victim)
		}
		e, about := errors.AsType[*fleet.Error](end.err)
		if !strings.HasPrefix(role, "server") {
			if !about {
				t.Errorf("the error of %s is about nobody: %v", role, end.err)
			}
			continue
		}
		told := strings.Contains(end.err.Error(), " was told: ") // by a worker, whose word names the server
		if !told && (!about || fmt.Sprint(e.Role, " ", e.Index) != j.victim || e.Endpoint != fmt.Sprintf("server-%d:1", e.Index) || e.Worker != -1) {
			t.Errorf("the error of %s is about %+v, want %s", role, e, j.victim)
		}
	}
}

// play is what every role runs. It returns no error, so that each role comes to the end that it would have.
func (j *deathJob) play(ctx context.Context, f *fleet.Fleet) error {
	role := fmt.Sprintf("worker %d", f.WorkerIndex())
	if f.IsServer() {
		role = fmt.Sprintf("server %d", f.ServerIndex())
	}
	err := j.live(ctx, f, role == j.victim)
	if role == j.victim && j.returns {
		<-time.After(cmp.Or(j.soon, 2*j.strategy.WorkerTimeout.Std()))
		err = j.again(ctx, f)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ends[role] = deathEnd{err, time.Since(j.died)}
	return nil
}

// again is the second life of a worker.
func (j *deathJob) again(ctx context.Context, f *fleet.Fleet) error {
	again, err := trial.Another(f, j.network)
	if err != nil {
		return err
	}
	return j.live(ctx, again, false)
}

// live is a life of any role; a victim's ends without a word.
func (j *deathJob) live(ctx context.Context, f *fleet.Fleet, dies bool) error {
	o := trial.NewGiven(make([]float32, 16)...)
	if dies {
		cable := &trial.Cable{Transport: j.network}
		own, err := trial.Another(f, cable)
		if err != nil {
			return err
		}
		f = own
		defer f.Close()
		if !j.stopped {
			defer cable.Kill()
		}
		if f.IsServer() {
			mortal, cancel := context.WithCancel(ctx)
			defer cancel()
			death := time.AfterFunc(deathAfter*time.Second, func() {
				if j.dead(); !j.stopped {
					cable.Kill()
				}
				cancel()
			})
			defer death.Stop()
			ctx = mortal
		}
	}
	if worker, err := trial.Join(ctx, f, o, optimizer.SGD{LR: 1}, j.strategy); !worker {
		return err
	}
	if dies {
		defer j.dead()
		return j.train(ctx, o, deathAfter)
	}
	defer f.Close()
	if err := j.train(ctx, o, deathSteps); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}

func (j *deathJob) dead() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.died = time.Now()
}

// train makes steps of a second, with no gradients, and notes how long the longest took.
func (j *deathJob) train(ctx context.Context, o *trial.Given, steps int) error {
	session, err := o.OpenSession()
	if err != nil {
		return err
	}
	defer session.Close(ctx)
	for range steps {
		began := time.Now()
		if err := trial.Step(ctx, session, &optimizer.Step{Samples: 1},
			func() { <-time.After(time.Second) }); err != nil {
			return err
		}
		j.mu.Lock()
		j.longest = max(j.longest, time.Since(began))
		j.mu.Unlock()
	}
	return nil
}

// TestALateLifeDoesNotLead: a worker that was started again alone knows less of the job than those that went on. Until it meets them again,
// checkpoints have the progress of these, and the lowest of them sets the rate; so may the late one, as worker 0.
//
// Promise: [G6] a worker that was started again alone leads no save before it has met the others, which know more of
// the job, nor when it is asked to end
// Also: TestALateLifeIsAskedToEnd
func TestALateLifeDoesNotLead(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo}) {
		t.Run(string(mode), func(t *testing.T) {
			s := trial.Patient(strategy.Strategy{Mode: mode})
			s.Recovery = strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Second)}
			saved := func(f *fleet.Fleet, want string) error {
				c, err := checkpoints.Latest(s.Recovery.Dir)
				if err == nil && string(c.Progress.User) != want {
					err = fmt.Errorf("worker %d: a checkpoint has the progress of %q, want %q", f.WorkerIndex(),
						c.Progress.User, want)
				}
				return err
			}
			says := func(f *fleet.Fleet, who string) error { return f.SetProgress(fleet.Progress{User: []byte(who)}) }
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 3)
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.CounterFor(s)
					played := func(do func(ctx context.Context, f *fleet.Fleet) error) func(context.Context,
						*fleet.Fleet) error {
						return func(ctx context.Context, f *fleet.Fleet) error {
							return c.Play(ctx, f, s, func() error { return do(ctx, f) })
						}
					}
					train := func(ctx context.Context, steps int) error {
						err := c.Train(ctx, steps)
						time.Sleep(3 * time.Second)
						return err
					}
					goesOn := played(func(ctx context.Context, f *fleet.Fleet) error {
						// worker 0 dies and joins meanwhile
						err := errors.Join(says(f, "one that went on"), train(ctx, 3))
						if err == nil && f.WorkerIndex() == 1 {
							time.Sleep(12 * time.Second)
							err = errors.Join(saved(f, "one that went on"), f.SetRateFactor(ctx, 0.5), train(ctx, 1))
						}
						return errors.Join(err, f.BarrierWorker(ctx), train(ctx, 1), f.BarrierWorker(ctx))
					})
					if f.WorkerIndex() != 0 {
						return goesOn(ctx, f)
					}
					first := make(chan bool, 1)
					go func() { // what is left of a process that was killed ends later
						ended, _ := live(ctx, f, network, 2*time.Second, played(func(ctx context.Context,
							f *fleet.Fleet) error {
							return errors.Join(says(f, "the first life"), train(ctx, 2), f.BarrierWorker(ctx))
						}))
						first <- ended
					}()
					time.Sleep(4 * time.Second)
					_, err := live(ctx, f, network, 0, played(func(ctx context.Context, f *fleet.Fleet) error {
						err := errors.Join(says(f, "a late one"), train(ctx, 1))
						time.Sleep(5 * time.Second)
						err = errors.Join(err, saved(f, "one that went on"), f.SetRateFactor(ctx, 0.25),
							f.BarrierWorker(ctx), train(ctx, 2))
						return errors.Join(err, saved(f, "a late one"), f.BarrierWorker(ctx)) // and leads again
					}))
					if <-first {
						t.Error("the first life was not killed")
					}
					return err
				}))
			})
		})
	}
}
