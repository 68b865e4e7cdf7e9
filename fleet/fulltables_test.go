package fleet_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestFullTablesSaySo: a table that comes to its MaxBytes warns of that before it turns ids away, and then says how
// many it turned away, by its name, wherever tables lie; Stats have the number. A table without a bound says nothing.
//
// Promise: [G2] a table that comes to its MaxBytes says so, and how many ids it turned away; shows and clicks that
// stop at 2²⁴ are told
// Also: TestCountsThatStopSaySo
func TestFullTablesSaySo(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		servers int
		s       strategy.Strategy
	}{"alone": {0, strategy.Sync()}, "sync": {1, strategy.Sync()}, "async": {1, strategy.Async()}, "ssp": {1, strategy.Strategy{Mode: strategy.ModeSSP}}} {
		t.Run(name, func(t *testing.T) {
			for _, bound := range []int64{0, 1 << 18} {
				var log trial.Log
				var away atomic.Uint64
				cluster := fleettest.Cluster{Servers: k.servers, Workers: 1}
				cluster.Options.Logger = log.Logger()
				cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
					o := trial.NewCounter(1)
					o.Rows.MaxBytes = bound
					err := trial.Play(ctx, f, o, optimizer.SGD{LR: .1}, k.s, func() error {
						for from := uint64(0); from < 1<<14; from += 1 << 10 {
							o.IDs = nil
							for id := range uint64(1 << 10) {
								o.IDs = append(o.IDs, from+id)
							}
							if err := o.Train(ctx, 1); err != nil {
								return err
							}
						}
						return nil
					})
					for _, table := range f.Stats().Tables {
						away.Add(table.TurnedAway)
					}
					return err
				})
				near, full := log.Lines("80 % of its MaxBytes"), log.Lines("an embedding is full")
				if bound == 0 && (len(near)+len(full) > 0 || away.Load() > 0) {
					t.Errorf("a table without a bound says %q, %q", near, full)
				}
				if bound > 0 && (away.Load() < 100 || len(near) != 1 || len(full) < 2 || len(full) > 6) {
					t.Errorf("%d ids were turned away, and the log says %q, %q", away.Load(), near, full)
				}
				for _, line := range append(near, full...) {
					if !strings.Contains(line, "level=WARN") || !strings.Contains(line, "table=rows") {
						t.Errorf("the log says %s", line)
					}
				}
			}
		})
	}
}

// TestFullTablesGoOn: a job whose tables are full goes on from its own checkpoint, on as many servers or more, loads it once
// more while it runs, and turns as many ids away as before. On fewer servers it goes on with a larger bound, as the error says.
//
// Promise: [G2] a job whose tables are full goes on from its checkpoint, on as many servers or more
func TestFullTablesGoOn(t *testing.T) {
	t.Parallel()
	const bound = 1 << 16
	for from := range 6 {
		for _, to := range []int{from, 5 - from} {
			dir := t.TempDir() + "/ck"
			life := func(servers int, bytes int64, checkpoint string, work func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error) error {
				return errors.Join(slices.Collect(maps.Values(fleettest.Cluster{Servers: servers, Workers: 1}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.NewCounter(1)
					c.Rows.MaxBytes = bytes
					s := strategy.Sync()
					s.StartTimeout = strategy.Duration(2 * time.Second)
					if err := trial.Minimize(f, c, optimizer.SGD{LR: 1}, s); err != nil {
						return err
					}
					return trial.Begin(ctx, f, checkpoint, func() error { return work(ctx, f, c) })
				})))...)
			}
			rows := func(ctx context.Context, f *fleet.Fleet) (n int) {
				for _, err := range f.Rows(ctx, "rows") {
					if n++; err != nil {
						t.Error(err)
					}
				}
				return n
			}
			held := 0
			more := func(ctx context.Context, c *trial.Counter, base uint64) error {
				for from := range uint64(8) {
					c.IDs = nil
					for id := range uint64(1 << 10) {
						c.IDs = append(c.IDs, base+from<<10+id)
					}
					if err := c.Train(ctx, 1); err != nil {
						return err
					}
				}
				return nil
			}
			err := life(from, bound, "", func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				if err := more(ctx, c, 0); err != nil {
					return err
				}
				plan, err := f.Plan()
				if err != nil {
					return err
				}
				held = rows(ctx, f)
				if want := max(1, from) * int(plan.Variables[1].MostRows); held != want || held == 8<<10 {
					t.Errorf("%d servers hold %d rows, want %d", from, held, want)
				}
				return f.SavePersistables(ctx, dir)
			})
			if err != nil {
				t.Fatal(err)
			}
			again := func(bytes int64) error {
				return life(to, bytes, dir, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
					for range 2 {
						if n := rows(ctx, f); n != held {
							t.Errorf("from %d on %d servers: %d rows, want %d", from, to, n, held)
						}
						if err := f.LoadModel(ctx, dir); err != nil {
							return err
						}
					}
					if to > from && to > 1 {
						return nil
					}
					if err := more(ctx, c, 1<<40); err != nil {
						return err
					}
					if n := rows(ctx, f); bytes == bound && n != held {
						t.Errorf("from %d on %d servers: %d rows behind a load, want %d", from, to, n, held)
					}
					return nil
				})
			}
			err = again(bound)
			if max(to, 1) < from {
				if err == nil || !strings.Contains(err.Error(), "start more servers") {
					t.Errorf("from %d on %d servers: %v", from, to, err)
				}
				err = again(bound * 6)
			}
			if err != nil {
				t.Errorf("from %d on %d servers: %v", from, to, err)
			}
		}
	}
}

// TestMemoryThatGrowsIsSaid: a server that comes to the bound of its control group says so at 80 % and at each tenth more, with its
// tables' shares; below it says nothing.
func TestMemoryThatGrowsIsSaid(t *testing.T) {
	t.Parallel()
	var log trial.Log
	tables := []stats.Table{{Name: "user", Rows: 7, Bytes: 600}, {Name: "item", Rows: 3, Bytes: 100}}
	fleet.LookAtMemory(1000, tables, log.Logger(), 0, 100, 799, 800, 850, 899, 950, 960, 700, 950)
	said := log.Lines("control group")
	if len(said) != 2 || !strings.Contains(said[0], "has 80 %") || !strings.Contains(said[1], "has 95 %") ||
		!strings.Contains(said[0], "user 60 % (7 rows), item 10 % (3 rows)") || !strings.Contains(said[0], "MaxBytes") {
		t.Errorf("the log says %q", said)
	}
	fleet.LookAtMemory(1000, tables, log.Logger(), 600, 100, 250)
	if said := log.Lines("control group"); len(said) != 3 || !strings.Contains(said[2], "this server, with 25 %, and other processes have 85 %") {
		t.Errorf("beside others the log says %q", said)
	}
}

// TestCountsThatStopSaySo: shows that have come to 2²⁴ in a row, where float32 counts no further, are one warning, wherever tables lie.
func TestCountsThatStopSaySo(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		servers int
		s       strategy.Strategy
	}{"alone": {0, strategy.Sync()}, "sync": {1, strategy.Sync()}, "async": {1, strategy.Async()}} {
		for _, shows := range []float32{1 << 20, 1 << 22} {
			var log trial.Log
			cluster := fleettest.Cluster{Servers: k.servers, Workers: 1}
			cluster.Options.Logger = log.Logger()
			cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				o := trial.NewCounter(3)
				o.Rows.Entry.ShowClick.Threshold = 1
				return trial.Play(ctx, f, o, optimizer.SGD{LR: .1}, k.s, func() error {
					return o.InSession(ctx, func(session optimizer.Session) error {
						for range 6 {
							st := o.Step()
							st.Rows[0].Show = []float32{1, shows, shows}
							if err := trial.Step(ctx, session, st, nil); err != nil {
								return err
							}
						}
						return nil
					})
				})
			})
			said := log.Lines("16777216")
			if want := int(shows) >> 22; len(said) != want {
				t.Errorf("%s, 6 pushes of %v shows: the log says %q, want %d warnings", name, shows, said, want)
			}
			for _, line := range said {
				if !strings.Contains(line, "level=WARN") || !strings.Contains(line, "table=rows") || !strings.Contains(line, "rows=2") {
					t.Errorf("%s: the log says %s", name, line)
				}
			}
		}
	}
}
