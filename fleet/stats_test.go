package fleet_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestStatsOfACluster adds the servers' rows up to those of one process, and finds a line of every role in the log.
func TestStatsOfACluster(t *testing.T) {
	t.Parallel()
	gather := func(c fleettest.Cluster) (rows, waiting map[string]int, steps int64) {
		var mu sync.Mutex
		rows, waiting = map[string]int{}, map[string]int{}
		c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			err := shown(strategy.Sync(), 20).Run(ctx, f)
			st := f.Stats()
			mu.Lock()
			defer mu.Unlock()
			steps += st.Counts.Steps
			if f.IsServer() && (len(st.Tables) != 2 || st.Transport.Served == 0 || st.Refused != 0) {
				t.Errorf("stats of a server: %+v", st)
			}
			for _, table := range st.Tables {
				rows[table.Name] += table.Rows
				waiting[table.Name] += table.Waiting
				if table.Bytes == 0 || table.Rows > 0 && (table.Load == 0 || table.KeptOut == 0) {
					t.Errorf("stats of a table: %+v", table)
				}
			}
			return err
		})
		return rows, waiting, steps
	}
	log := new(trial.Log)
	together := fleettest.Cluster{Servers: 2, Workers: 3, Options: fleet.Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}}
	wantRows, wantWaiting, _ := gather(fleettest.Cluster{})
	rows, waiting, steps := gather(together)
	for _, name := range []string{"emb", "open"} {
		if rows[name] != wantRows[name] || waiting[name] != wantWaiting[name] || rows[name] == 0 {
			t.Errorf("%s has %d rows and %d ids that wait, in one process %d and %d", name, rows[name], waiting[name], wantRows[name], wantWaiting[name])
		}
	}
	if steps != 3*20 {
		t.Errorf("%d steps were counted, want 60", steps)
	}
	for word, want := range map[string]int{"server has ended": 2, `"worker has stopped"`: 3, "stats.steps=20": 3, "stats.open.rows=": 2, "stats.transport.calls=": 5} {
		if got := log.Lines(word); len(got) != want {
			t.Errorf("%d lines have %q, want %d", len(got), word, want)
		}
	}
}

// TestHotRows: the row that is pushed in every step is the hottest, and each row's first push has norms.
func TestHotRows(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, 0, 0, func(ctx context.Context, f *fleet.Fleet) error {
		if st := f.Stats(); st.Tables != nil || st.Transport != (transport.Stats{}) {
			t.Errorf("stats before Minimize: %+v", st)
		}
		o := trial.NewToy()
		if err := trial.Minimize(f, o, trial.Rules()["SGD"], strategy.Sync()); err != nil {
			return err
		}
		for i := range 40 {
			if err := o.Train(ctx, []trial.Sample{{Emb: 7, Open: 1}, {Emb: uint64(100 + i/20), Open: 2}}, nil); err != nil {
				return err
			}
		}
		st := f.Stats().Tables[0]
		if len(st.Hot) != 3 || st.Hot[0] != (stats.HotRow{ID: 7, Updates: 40}) {
			t.Errorf("hot rows of %s are %+v", st.Name, st.Hot)
		}
		if n, g := st.Norms, st.Gradients; n.Seen != 3 || g.Seen != 3 || n.Largest <= 0 || g.Largest <= 0 || n.Median > 2*n.Largest || n.Median <= 0 {
			t.Errorf("norms of %s are %+v, and %+v of gradients", st.Name, n, g)
		}
		return nil
	})
}

// TestEveryCountIsLogged: what was counted, and what went wrong, is in a log's line; what is zero is not.
func TestEveryCountIsLogged(t *testing.T) {
	t.Parallel()
	log := new(trial.Log)
	logger := log.Logger()
	logger.Info("so far", "stats", stats.Process{Counts: stats.Counts{Steps: 11, Rows: 12, Doubled: 13, Dropped: 14, NotFinite: 15}, Refused: 16,
		Tables: []stats.Table{{Name: "t", Rows: 21, Free: 22, Waiting: 23, Bytes: 24, MaxBytes: 25, KeptOut: 26, TurnedAway: 27, Dropped: 28, Hot: []stats.HotRow{{ID: 29}}}}})
	want := []string{"steps=11", "rows_applied=12", "doubled=13", "rows_dropped=14", "not_finite=15", "refused=16", "t.rows=21", "t.free=22", "t.waiting=23",
		"t.bytes=24", "t.max_bytes=25", "t.kept_out=26", "t.turned_away=27", "t.dropped=28", "t.hottest=29"}
	for _, text := range want {
		if len(log.Lines("stats."+text)) != 1 {
			t.Errorf("no %s in %s", text, log.Lines("so far"))
		}
	}
	logger.Info("nothing", "stats", stats.Process{})
	if got := log.Lines("nothing")[0]; strings.Contains(got, "stats.") {
		t.Errorf("zeros are logged: %s", got)
	}
}
