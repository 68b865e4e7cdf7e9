package fleet_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/count/counttest"
	"github.com/gofleet/gofleet/internal/server"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestEveryServerCounterIsShown: a server counts nothing that its Stats don't show, nor do they show what is not counted.
//
// Promise: [G12] a server shows all that it counts, and in a job of each mode each number moves that the mode has;
// waits say for whom they are
// Also: TestServersShowHowTheirJobStands, TestServersShowTheLost
func TestEveryServerCounterIsShown(t *testing.T) {
	t.Parallel()
	elsewhere := slices.Concat(slices.Collect(count.Keys(transport.Stats{})), slices.Collect(count.Keys(stats.Counts{})))
	counttest.Run(t, stats.Process{}, elsewhere, new(server.Meter))
}

// onlookers are servers whose Stats are looked at with every message of their job, and what they have shown.
type onlookers struct {
	mu      sync.Mutex
	servers []*fleet.Fleet
	moved   map[string]bool // keys of what was not zero
	waits   []stats.Wait
	members map[string]bool // how workers stood
}

func (o *onlookers) look() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.servers {
		s := f.Stats()
		for _, a := range count.Attrs(struct {
			Refused int64 `count:"refused"`
			Server  stats.Server
		}{s.Refused, s.Server}) {
			o.moved[a.Key] = true
		}
		o.waits = append(o.waits, s.Server.Waits...)
		for _, m := range s.Server.Members {
			if o.members == nil {
				o.members = map[string]bool{}
			}
			o.members[fmt.Sprintf("worker %d %s, life %d", m.Worker, m.State, m.Life)] = true
			if m.Since.IsZero() != (m.State == "absent") || m.Since.After(time.Now()) {
				o.members[fmt.Sprintf("worker %d %s since %v", m.Worker, m.State, m.Since)] = true
			}
		}
	}
}

// TestServersShowHowTheirJobStands plays a job of each mode, in which two workers wait for the third and a
// checkpoint is made: every number of ServerStats moves that the mode has, and the waits say for whom they are.
func TestServersShowHowTheirJobStands(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	all := slices.Collect(count.Keys(stats.Server{}))
	all = slices.DeleteFunc(all, func(key string) bool {
		switch key {
		case "dead", "life", "returned", // TestServersShowTheLost, TestServersShowWhoCameBack
			"read_rows", "refused_reads": // TestReadersAreRateLimited of fleet/reader
			return true
		}
		return false
	})
	lacks := map[strategy.Mode][]string{strategy.ModeAsync: {"phase", "round"}, strategy.ModeHalfAsync: {"phase", "round"},
		strategy.ModeGeo: {"phase"}}
	for _, m := range trial.Some(t, strategy.Modes()) {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			o := &onlookers{moved: map[string]bool{}}
			s := journaled(strategy.Strategy{Mode: m}, t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			listen := func(below transport.Transport) transport.Transport {
				return &trial.Tap{Transport: below, Before: func(string, [][]byte) error { o.look(); time.Sleep(time.Millisecond); return nil },
					Answer: func([]byte) { o.look() }}
			}
			plays := trial.Counters(1, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				if f.WorkerIndex() == 2 {
					time.Sleep(30 * time.Second)
				}
				err := errors.Join(c.Train(ctx, 8), f.BarrierWorker(ctx))
				if f.WorkerIndex() == 0 {
					err = cmp.Or(err, f.Checkpoint(ctx))
					time.Sleep(time.Second)
				}
				return errors.Join(err, c.Train(ctx, 8), f.BarrierWorker(ctx))
			})
			trial.Cluster(2, 3).Simulate(t, listen, func(ctx context.Context, f *fleet.Fleet) error {
				if f.IsServer() {
					o.mu.Lock()
					o.servers = append(o.servers, f)
					o.mu.Unlock()
				}
				return plays(ctx, f)
			})
			for _, key := range all {
				if want := !slices.Contains(lacks[m], key); o.moved[key] != want {
					t.Errorf("%s was not zero: %t, want %t (there were %v)", key, o.moved[key], want, slices.Sorted(maps.Keys(o.moved)))
				}
			}
			if o.moved["refused"] {
				t.Error("a request was refused")
			}
			if !slices.ContainsFunc(o.waits, func(w stats.Wait) bool {
				return w.Why != "" && !w.Since.IsZero() && (reflect.DeepEqual(w.Workers, []int{2}) || m == strategy.ModeAsync)
			}) {
				t.Errorf("no wait is for worker 2: %+v", o.waits[:min(3, len(o.waits))])
			}
		})
	}
}

// TestServersShowTheLost: a worker that ends with an error is dead to the servers of a job that goes on without it, and a
// process of another model is refused.
func TestServersShowTheLost(t *testing.T) {
	t.Parallel()
	o := &onlookers{moved: map[string]bool{}}
	var net transport.Transport
	listen := func(below transport.Transport) transport.Transport {
		net = &trial.Tap{Transport: below, Before: func(string, [][]byte) error { o.look(); return nil }}
		return net
	}
	plays := trial.Counters(1, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		if err := errors.Join(c.Train(ctx, 3), f.BarrierWorker(ctx)); err != nil || f.WorkerIndex() == 1 {
			return cmp.Or(err, errLost)
		}
		other, err := trial.Another(f, net)
		if err == nil && trial.NewCounter(9).Play(ctx, other, strategy.Sync(), func() error { return nil }) == nil {
			err = errors.New("a process of another strategy is let in")
		}
		return errors.Join(err, f.BarrierWorker(ctx), c.Train(ctx, 3))
	})
	trial.Cluster(1, 2).Simulate(t, listen, func(ctx context.Context, f *fleet.Fleet) error {
		if f.IsServer() {
			o.mu.Lock()
			o.servers = append(o.servers, f)
			o.mu.Unlock()
		}
		if err := plays(ctx, f); err != nil && !errors.Is(err, errLost) && !strings.Contains(err.Error(), "without worker [1]") {
			t.Error(err)
		}
		return nil
	})
	want := []string{"worker 0 absent, life 0", "worker 0 here, life 1", "worker 1 absent, life 0", "worker 1 dead, life 1", "worker 1 here, life 1"}
	if got := slices.Sorted(maps.Keys(o.members)); !slices.Equal(got, want) {
		t.Errorf("workers stood as %q", got)
	}
	if !o.moved["dead"] || !o.moved["refused"] {
		t.Errorf("only %v were not zero", slices.Sorted(maps.Keys(o.moved)))
	}
}

var errLost = errors.New("this worker ends")
