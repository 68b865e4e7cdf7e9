package fleet_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestFullTablesSaySo: a table that comes to its MaxBytes warns of that before it turns ids away, and then says how
// many it turned away, by its name, wherever tables lie; Stats have the number. A table without a bound says nothing.
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
