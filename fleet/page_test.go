package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/internal/ui"
	"github.com/gofleet/gofleet/strategy"
)

// onlooker looks at the page of a simulated job's server 0, or worker 0 of one without servers.
type onlooker struct {
	mu   sync.Mutex
	look func() (ui.Job, []ui.Finding)
}

// of has it look at the page of a role, if that has one.
func (o *onlooker) of(f *fleet.Fleet) {
	if f.IsServer() && f.ServerIndex() == 0 || f.ServerNum() == 0 && f.WorkerIndex() == 0 {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.look = f.Watched()
	}
}

// watches looks once a second for so many seconds, and returns the last look.
func (o *onlooker) watches(seconds int) (job ui.Job, found []ui.Finding) {
	for range seconds {
		time.Sleep(time.Second)
		o.mu.Lock()
		job, found = o.look()
		o.mu.Unlock()
	}
	return job, found
}

func curveOf(of string) func() stats.Training {
	return func() stats.Training {
		return stats.Training{Curves: []stats.Curve{{Panel: "loss", Name: of, Points: [][2]float64{{1, 2}, {3, 4}}}}}
	}
}

// told are the roles that have said what they know of themselves, and those whose curves came too.
func told(job ui.Job) (stats, curves []string) {
	for _, r := range job.Roles {
		if r.Stats != nil {
			stats = append(stats, r.String())
			if r.Stats.Training != nil {
				curves = append(curves, r.String())
			}
		}
	}
	return stats, curves
}

// TestAPageOfTheWholeJob: in every mode the page of server 0 shows all roles with what they count, the curves of the first worker, and the
// warnings of all; nothing is told before somebody looks, and nothing soon after nobody does.
func TestAPageOfTheWholeJob(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range strategy.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			var o onlooker
			cluster := trial.Cluster(2, 2)
			cluster.Options.Logger = slog.New(slog.DiscardHandler)
			cluster.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				o.of(f)
				return trial.Counters(5, strategy.Strategy{Mode: mode}, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
					f.ShowTraining(curveOf(fmt.Sprint("of ", f.WorkerIndex())))
					if f.WorkerIndex() == 1 {
						_ = f.SavePersistables(ctx, "other://nowhere/x") // which warns
					}
					if f.WorkerIndex() == 0 {
						go watchAPage(t, &o)
					}
					return steps(ctx, c, 60, time.Second)
				})(ctx, f)
			})
		})
	}
}

// steps makes a step after each pause.
func steps(ctx context.Context, c *trial.Counter, n int, pause time.Duration) error {
	for range n {
		time.Sleep(pause)
		if err := c.Train(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}

func watchAPage(t *testing.T, o *onlooker) {
	job, found := o.watches(1)
	if said, _ := told(job); len(job.Roles) != 4 || fmt.Sprint(said) != "[server 0]" || len(found) != 0 {
		t.Errorf("at first %v say something: %+v, found %v", said, job, found)
	}
	job, found = o.watches(5)
	said, curves := told(job)
	if fmt.Sprint(said) != "[server 0 server 1 worker 0 worker 1]" || fmt.Sprint(curves) != "[worker 0]" || len(found) != 0 {
		t.Errorf("%v say something, and %v have curves; found %v", said, curves, found)
	}
	for _, r := range job.Roles {
		if r.Stats == nil || r.State != ui.Runs || r.Kind == "worker" && r.Stats.Work.Examples == 0 || r.Kind == "server" && len(r.Stats.Tables) == 0 ||
			r.Stats.Requests != nil && r.Index > 0 || time.Since(r.At) > 2*time.Second {
			t.Errorf("%v: %+v", r, r.Stats)
		}
	}
	if w := job.Warnings; len(w) != 1 || w[0].Role != "worker 1" || !strings.Contains(w[0].Text, "SavePersistables") {
		t.Errorf("warnings %+v", w)
	}
	at := job.Roles[3].At
	time.Sleep(20 * time.Second) // nobody looks
	if job, _ = o.watches(1); job.Roles[3].At.Sub(at) > 12*time.Second {
		t.Errorf("%v after the last look something was told", job.Roles[3].At.Sub(at))
	}
	if job, _ = o.watches(3); time.Since(job.Roles[3].At) > 2*time.Second {
		t.Errorf("nothing is told to the next: %v", job.Roles[3])
	}
}

// TestAFullDiskOnAPage: a worker is told that a server can't write, and the page of server 0 names that.
func TestAFullDiskOnAPage(t *testing.T) {
	t.Parallel()
	full := storetest.Mount(t, noRoom{storetest.NewMemory()})
	var o onlooker
	trial.Cluster(2, 2).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		o.of(f)
		return trial.Counters(5, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			if f.WorkerIndex() == 1 {
				if err := f.SavePersistables(ctx, full+"/x"); err == nil {
					return errors.New("saved where there is no room")
				}
				return steps(ctx, c, 10, time.Second)
			}
			_, found := o.watches(5)
			if len(found) == 0 || !strings.HasPrefix(found[0].What, "server 0 can't write: a disk is full.") || found[0].Do != "Free space on the disk of /data, or start the job again with another directory." {
				t.Errorf("found %+v", found)
			}
			return nil
		})(ctx, f)
	})
}

// noRoom is a store in which nothing can be put.
type noRoom struct{ store.Store }

func (noRoom) Put(context.Context, string, *io.SectionReader, store.Condition) (string, error) {
	return "", fmt.Errorf("write /data/x: %w", syscall.ENOSPC)
}

// TestASilentWorkerOnAPage: a worker whose machine stands still is silent on the page, with what it said last, also where it tells nothing;
// and one that is lost is so.
func TestASilentWorkerOnAPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(1, 2)
		var o onlooker
		watched := make(chan struct{})
		cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			o.of(f)
			if f.WorkerIndex() == 1 {
				cable := &trial.Cable{Transport: network}
				own, err := trial.Another(f, cable)
				if err != nil {
					return err
				}
				defer own.Close()
				time.AfterFunc(10*time.Second, func() { cable.Pulled.Store(true) })
				f = own
			}
			return trial.Counters(5, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				if f.WorkerIndex() == 1 {
					return steps(ctx, c, 60, time.Second)
				}
				go func() {
					defer close(watched)
					for _, look := range []struct {
						after int
						state ui.State
						what  string
					}{{6, ui.Runs, ""}, {9, ui.Silent, "worker 1 runs and has not answered for "}, {40, ui.Away, "Lost: worker 1."}} {
						job, found := o.watches(look.after)
						is := job.Roles[2]
						if is.State != look.state || is.Stats == nil || is.Stats.Counts.Steps < 4 || look.what != "" && (len(found) == 0 || !strings.Contains(found[0].What, look.what)) {
							t.Errorf("after %d s more: %+v, found %+v", look.after, is, found)
						}
					}
				}()
				return steps(ctx, c, 90, time.Second)
			})(ctx, f)
		})
		<-watched
	})
}

// TestAPageOfOneself: a program alone, and rank 0 of a collective job, show themselves: curves, tables, checkpoints, and for whom they wait.
func TestAPageOfOneself(t *testing.T) {
	t.Parallel()
	for name, workers := range map[string]int{"alone": 1, "collective": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := strategy.Sync()
			s.Recovery.Dir = t.TempDir()
			var o onlooker
			trial.Cluster(0, workers).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				o.of(f)
				return trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
					f.ShowTraining(curveOf("own"))
					if err := steps(ctx, c, 2, time.Second); err != nil {
						return err
					}
					if f.WorkerIndex() > 0 {
						time.Sleep(20 * time.Second)
						return c.Train(ctx, 1)
					}
					if err := f.Checkpoint(ctx); err != nil {
						return err
					}
					watched := make(chan struct{})
					go func() {
						defer close(watched)
						job, found := o.watches(8)
						is := job.Roles[0]
						if len(job.Roles) != 1 || is.String() != "worker 0" || is.State != ui.Runs || is.Stats.Training == nil || len(is.Stats.Tables) == 0 ||
							is.Stats.Server.Checkpoints != 1 || is.Stats.Server.CheckpointAge < 7*time.Second {
							t.Errorf("%+v, %+v", job, is.Stats)
						}
						if waits := len(found) > 0 && strings.Contains(found[0].What, "worker 0 has waited for worker 1 for "); waits != (workers > 1) {
							t.Errorf("found %+v", found)
						}
					}()
					err := c.Train(ctx, 1)
					<-watched
					return err
				})(ctx, f)
			})
		})
	}
}

// TestWhatJSONCanNotSay: a curve with a value that JSON has not is left out, and the rest of what a worker tells comes.
func TestWhatJSONCanNotSay(t *testing.T) {
	t.Parallel()
	trial.Cluster(1, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		return trial.Counters(5, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			f.ShowTraining(func() stats.Training {
				return stats.Training{Curves: []stats.Curve{{Points: [][2]float64{{1, math.NaN()}}}}}
			})
			r := ui.Role{Kind: "worker"}
			if _, err := r.Tell(f.Tells(true), time.Now()); err != nil || r.Stats == nil || r.Stats.Training != nil {
				t.Errorf("%+v, %v", r, err)
			}
			return nil
		})(ctx, f)
	})
}
