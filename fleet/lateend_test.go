package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestALateLifeIsAskedToEnd: a worker that was started again alone is asked to end before it has met the others, which know more of the
// job. They live and save, and it saves nothing. Where they have ended, it does.
func TestALateLifeIsAskedToEnd(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo}) {
		for _, others := range []bool{true, false} {
			s := trial.Patient(strategy.Strategy{Mode: mode})
			s.Recovery = strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour)}
			says := func(f *fleet.Fleet, who string) error { return f.SetProgress(fleet.Progress{User: []byte(who)}) }
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 2)
				errs := cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.CounterFor(s)
					if f.WorkerIndex() != 0 {
						return c.Play(ctx, f, s, func() error {
							err := errors.Join(says(f, "it went on"), c.Train(ctx, 3))
							time.Sleep(12 * time.Second)
							if others {
								time.Sleep(2 * time.Minute)
							}
							return err
						})
					}
					first := make(chan struct{})
					go func() { // what is left of a process that was killed ends later
						defer close(first)
						live(ctx, f, network, 2*time.Second, func(ctx context.Context, f *fleet.Fleet) error {
							return c.Play(ctx, f, s, func() error { return errors.Join(c.Train(ctx, 2), f.BarrierWorker(ctx)) })
						})
					}()
					time.Sleep(4 * time.Second)
					told, end := context.WithCancelCause(ctx)
					live(told, f, network, 0, func(ctx context.Context, f *fleet.Fleet) error {
						c := trial.CounterFor(s)
						return c.Play(ctx, f, s, func() error {
							err := errors.Join(says(f, "a late one"), c.Train(ctx, 1))
							time.Sleep(20 * time.Second)
							end(errTerminated)
							return errors.Join(err, context.Cause(ctx))
						})
					})
					saved, err := checkpoints.Latest(s.Recovery.Dir)
					if late := err == nil && string(saved.Progress.User) == "a late one"; late == others {
						t.Errorf("%s, others live %t: saved is %q, error %v", mode, others, saved.Progress.User, err)
					}
					<-first
					return nil
				})
				if err := errs["worker 1"]; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestALateLifeEndsBesideOthers: all workers are asked to end, of which one was started again and is late. What it trained and servers had not
// when the others had saved, and not ended yet, is saved as well; where there is nothing it leaves the checkpoint that they have saved.
//
// Promise: [G5] restarted workers that are asked to end save what they have beside the others
// Also: TestLateLivesAreAskedToEnd
func TestALateLifeEndsBesideOthers(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, s := range trial.SomeOf(t, map[string]strategy.Strategy{
		"async":      strategy.Async(),
		"half_async": {Mode: strategy.ModeHalfAsync},
		"geo of 1":   {Mode: strategy.ModeGeo, KSteps: 1},
		"geo of 4":   {Mode: strategy.ModeGeo, KSteps: 4},
	}) {
		for _, lost := range []bool{false, true} {
			for _, late := range trial.Some(t, []lateSteps{{1, 2}, {1, 0}, {0, 0}}) {
				t.Run(fmt.Sprintf("%s, goodbye lost %t, late steps %v", name, lost, late), func(t *testing.T) {
					s := trial.Patient(s)
					s.Recovery = strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour)}
					synctest.Test(t, func(t *testing.T) { endBesideOthers(t, s, lost, late) })
				})
			}
		}
	}
}

// lateSteps are how many a late worker makes before the others save, and behind that.
type lateSteps struct{ before, behind int }

// endBesideOthers has worker 1 asked to end at 8 s, whose goodbye takes most of a heartbeat or is lost, and worker 0 in its second life a moment
// later.
func endBesideOthers(t *testing.T, s strategy.Strategy, lost bool, steps lateSteps) {
	says := func(f *fleet.Fleet, who string) error { return f.SetProgress(fleet.Progress{User: []byte(who)}) }
	cluster, network := quiet(2, 2)
	slow := &trial.Tap{Transport: network, Before: func(_ string, req [][]byte) error {
		if strings.HasPrefix(trial.NameOf(req), "leave") {
			if lost {
				return errors.New("it is lost")
			}
			time.Sleep(s.HeartbeatInterval.Std() * 9 / 10)
		}
		return nil
	}}
	_ = cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		if f.IsServer() {
			asked, end := context.WithCancelCause(ctx)
			time.AfterFunc(30*time.Second, func() { end(errTerminated) })
			return trial.CounterFor(s).Play(asked, f, s, nil)
		}
		told, end := context.WithCancelCause(ctx)
		if f.WorkerIndex() == 1 {
			_, err := live(told, f, slow, 0, func(ctx context.Context, f *fleet.Fleet) error {
				c := trial.CounterFor(s)
				return c.Play(ctx, f, s, func() error {
					err := errors.Join(says(f, "it went on"), c.Train(ctx, 3))
					time.Sleep(time.Until(time.Unix(946684808, 0))) // 8 s behind the beginning
					end(errTerminated)
					return errors.Join(err, context.Cause(ctx))
				})
			})
			return err
		}
		first := make(chan struct{})
		go func() { // what is left of a process that was killed ends later
			defer close(first)
			live(ctx, f, network, 2*time.Second, func(ctx context.Context, f *fleet.Fleet) error {
				c := trial.CounterFor(s)
				return c.Play(ctx, f, s, func() error { return errors.Join(c.Train(ctx, 2), f.BarrierWorker(ctx)) })
			})
		}()
		time.Sleep(4 * time.Second)
		live(told, f, network, 0, func(ctx context.Context, f *fleet.Fleet) error {
			c := trial.CounterFor(s)
			return c.Play(ctx, f, s, func() error {
				err := errors.Join(says(f, "a late one"), c.Train(ctx, steps.before))
				time.Sleep(time.Until(time.Unix(946684808, 2e8)))
				err = errors.Join(err, c.Train(ctx, steps.behind))
				end(errTerminated)
				return errors.Join(err, context.Cause(ctx))
			})
		})
		<-first
		return nil
	})
	saved, err := checkpoints.Latest(s.Recovery.Dir)
	if err != nil {
		t.Fatal(err)
	}
	unsaved := steps.behind > 0 || s.Mode == strategy.ModeGeo && steps.before > 0 // of which geo sends a part before
	if late := string(saved.Progress.User) == "a late one"; late != unsaved {
		t.Errorf("saved is what %q has said last", saved.Progress.User)
	}
	again, _ := quiet(2, 2)
	again.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		c := trial.CounterFor(s)
		return c.Play(ctx, f, s, func() error { return c.Holds(ctx, float32(2+3+steps.before+steps.behind)) })
	})
}

// TestLateLivesAreAskedToEnd: both workers were started again and are late. Where the upper one is asked to end alone, the lower one saves for
// it; where both are, it saves what the lower one has not, when that has ended.
func TestLateLivesAreAskedToEnd(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo}) {
		for _, both := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, both are asked %t", mode, both), func(t *testing.T) {
				s := trial.Patient(strategy.Strategy{Mode: mode})
				s.Recovery = strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour)}
				synctest.Test(t, func(t *testing.T) { endsAmongLate(t, s, both) })
			})
		}
	}
}

// endsAmongLate has both workers killed at 2 s and begin again at 4 s, worker 0 asked to end at 8 s or not at all, whose goodbye takes most of a
// heartbeat, and worker 1 a moment later.
func endsAmongLate(t *testing.T, s strategy.Strategy, both bool) {
	cluster, network := quiet(2, 2)
	slow := &trial.Tap{Transport: network, Before: func(_ string, req [][]byte) error {
		if strings.HasPrefix(trial.NameOf(req), "leave") {
			time.Sleep(s.HeartbeatInterval.Std() * 9 / 10)
		}
		return nil
	}}
	saved := func() string {
		is, err := checkpoints.Latest(s.Recovery.Dir)
		if err != nil {
			return "nothing"
		}
		return string(is.Progress.User)
	}
	_ = cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		if f.IsServer() {
			asked, end := context.WithCancelCause(ctx)
			time.AfterFunc(30*time.Second, func() { end(errTerminated) })
			return trial.CounterFor(s).Play(asked, f, s, nil)
		}
		first := make(chan struct{})
		go func() { // what is left of a process that was killed ends later
			defer close(first)
			live(ctx, f, network, 2*time.Second, func(ctx context.Context, f *fleet.Fleet) error {
				c := trial.CounterFor(s)
				return c.Play(ctx, f, s, func() error {
					err := errors.Join(c.Train(ctx, 2), f.BarrierWorker(ctx))
					<-ctx.Done()
					return errors.Join(err, ctx.Err())
				})
			})
		}()
		time.Sleep(4 * time.Second)
		told, end := context.WithCancelCause(ctx)
		upper := f.WorkerIndex() == 1
		through := transport.Transport(network)
		if !upper {
			through = slow
		}
		live(told, f, through, 0, func(ctx context.Context, f *fleet.Fleet) error {
			c := trial.CounterFor(s)
			return c.Play(ctx, f, s, func() error {
				err := errors.Join(f.SetProgress(fleet.Progress{User: []byte(fmt.Sprint("worker ", f.WorkerIndex()))}), c.Train(ctx, 1))
				switch time.Sleep(time.Until(time.Unix(946684808, 0))); { // 8 s behind the beginning
				case upper:
					time.Sleep(200 * time.Millisecond)
					err = errors.Join(err, c.Train(ctx, 2))
				case !both:
					time.Sleep(time.Minute)
				}
				end(errTerminated)
				return errors.Join(err, context.Cause(ctx))
			})
		})
		if is := saved(); upper && !both && is != "nothing" {
			t.Errorf("saved is what %q has said last, while worker 0 goes on", is)
		}
		<-first
		return nil
	})
	if is := saved(); both != (is == "worker 1") {
		t.Errorf("in the end saved is what %q has said last", is)
	}
	again, _ := quiet(2, 2)
	again.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		c := trial.CounterFor(s)
		return c.Play(ctx, f, s, func() error { return c.Holds(ctx, 2+2+1+1+2) })
	})
}
