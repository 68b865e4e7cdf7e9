package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/internal/observe"
	"github.com/gofleet/gofleet/internal/ui"
	"github.com/gofleet/gofleet/strategy"
)

// crowd is the processes of a simulated job, of which "fleetrun watch" shows what it is told.
type crowd struct {
	ui.Watch
	mu     sync.Mutex
	told   map[string]func(path string) []byte
	silent string // does not answer
	asked  int

	before *ui.Job // the look before the last
	found  []ui.Finding
}

// of has a role, which begins, show itself until leave is called.
func (c *crowd) of(f *fleet.Fleet) (leave func()) {
	name := f.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Ask, c.Find = c.ask, c.find; c.told == nil {
		c.told = map[string]func(string) []byte{}
	}
	c.told[name] = f.Exposed()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.told, name)
	}
}

func (c *crowd) find(context.Context) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.told))
}

func (c *crowd) ask(_ context.Context, addr string) (s observe.Status, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if addr == c.silent {
		return s, context.DeadlineExceeded
	}
	c.asked++
	return s, json.Unmarshal(c.told[addr]("/status"), &s)
}

// watches looks once a second for so many seconds, and returns the last look.
func (c *crowd) watches(seconds int) (job ui.Job, found []ui.Finding) {
	for range seconds {
		time.Sleep(time.Second)
		now := c.Look(context.Background())
		now.At = time.Now()
		c.found = ui.Findings(c.before, &now)
		c.before = &now
	}
	return *c.before, c.found
}

// TestAPageOfTheWholeJob: in every mode the status of all roles shows them with what they count, and the warnings of all.
func TestAPageOfTheWholeJob(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range strategy.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			var o crowd
			cluster := trial.Cluster(2, 2)
			cluster.Options.Logger = slog.New(slog.DiscardHandler)
			cluster.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				defer o.of(f)()
				return trial.Counters(5, strategy.Strategy{Mode: mode}, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
					if f.WorkerIndex() == 1 {
						_ = f.SavePersistables(ctx, "other://nowhere/x") // which warns
					}
					if f.WorkerIndex() == 0 {
						go watchAPage(t, &o)
					}
					return steps(ctx, c, 30, time.Second)
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

func watchAPage(t *testing.T, o *crowd) {
	job, found := o.watches(6)
	if len(job.Roles) != 4 || len(found) != 0 || o.asked != 4*6 {
		t.Errorf("%v, found %v, after %d answers", job.Roles, found, o.asked)
	}
	for i, r := range job.Roles {
		if r.String() != []string{"server 0", "server 1", "worker 0", "worker 1"}[i] || r.Stats == nil || r.State != ui.Runs || r.Kind == "worker" && r.Stats.Work.Examples == 0 ||
			r.Kind == "server" && len(r.Stats.Tables) == 0 || time.Since(r.At) > 2*time.Second {
			t.Errorf("%v: %+v", r, r.Stats)
		}
	}
	if w := job.Warnings; len(w) != 1 || w[0].Role != "worker 1" || !strings.Contains(w[0].Text, "SavePersistables") {
		t.Errorf("warnings %+v", w)
	}
}

// TestAFullDiskOnAPage: a worker is told that a server can't write, and the page of server 0 names that.
func TestAFullDiskOnAPage(t *testing.T) {
	t.Parallel()
	full := storetest.Mount(t, noRoom{storetest.NewMemory()})
	var o crowd
	trial.Cluster(2, 2).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		defer o.of(f)()
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

// TestASilentWorkerOnAPage: a worker whose machine stands still is silent on the page, with what it said last, and one that is lost is so.
func TestASilentWorkerOnAPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(1, 2)
		var o crowd
		watched := make(chan struct{})
		cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			if f.WorkerIndex() == 1 {
				cable := &trial.Cable{Transport: network}
				own, err := trial.Another(f, cable)
				if err != nil {
					return err
				}
				defer own.Close()
				time.AfterFunc(10*time.Second, func() {
					cable.Pulled.Store(true)
					o.mu.Lock()
					defer o.mu.Unlock()
					o.silent = own.String()
				})
				f = own
			}
			o.of(f)
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

// TestAPageOfOneself: a program alone, and rank 0 of a collective job, show themselves: tables, checkpoints, and for whom they wait.
func TestAPageOfOneself(t *testing.T) {
	t.Parallel()
	for name, workers := range map[string]int{"alone": 1, "collective": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := strategy.Sync()
			s.Recovery.Dir = t.TempDir()
			var o crowd
			trial.Cluster(0, workers).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				if f.WorkerIndex() == 0 {
					o.of(f)
				}
				return trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
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
						if len(job.Roles) != 1 || is.String() != "worker 0" || is.State != ui.Runs || len(is.Stats.Tables) == 0 ||
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
