package fleet_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/transport"
)

// nines is a row of four that training begins with.
type nines uint64

func (n nines) EachRow(do func(ids []uint64, w []float32) error) error {
	return do([]uint64{uint64(n)}, []float32{9, 9, 9, 9})
}

func (n nines) String() string { return fmt.Sprintf("row %d of nines", uint64(n)) }

// TestEveryParamFieldActs holds the fields of a param to what they do to training, on clusters, in collective jobs and alone.
func TestEveryParamFieldActs(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	type effect struct {
		set   func(w, rows *optimizer.Param)
		in    []trial.Place
		shows func(t *testing.T, without, with trial.Outcome)
	}
	entries, bounded := append(slices.Clone(trial.Pushing), trial.InCollective, trial.Alone), append(slices.Clone(trial.Pushing), trial.Alone)
	rowsIn := func(t *testing.T, o trial.Outcome) int { return len(trial.Tensor[uint64](t, o.Model, "rows.ids")) }
	none := func(t *testing.T, without, with trial.Outcome) {
		if a, b := rowsIn(t, without), rowsIn(t, with); a < 6 || b != 0 {
			t.Errorf("%d rows, and %d that are let in", a, b)
		}
	}
	differ := func(t *testing.T, without, with trial.Outcome) {
		for _, name := range []string{"w", "rows"} {
			if slices.Equal(without.Values(t, name), with.Values(t, name)) {
				t.Errorf("the values of %s are the same", name)
			}
		}
	}
	shows := func(showCoeff, clickCoeff float64) func(w, rows *optimizer.Param) {
		return func(_, rows *optimizer.Param) {
			rows.Entry.ShowClick = optimizer.ShowClick{Threshold: 50, ShowCoeff: showCoeff, ClickCoeff: clickCoeff}
		}
	}
	effects := map[string]effect{
		"Name": {func(w, rows *optimizer.Param) { w.Name, rows.Name = "w2", "rows2" }, trial.Places, func(t *testing.T, without, with trial.Outcome) {
			if slices.Equal(without.Values(t, "w"), with.Values(t, "w2")) || slices.Equal(without.Values(t, "rows"), with.Values(t, "rows2")) {
				t.Error("params of other names begin with the same values")
			}
		}},
		"Shape": {func(w, rows *optimizer.Param) { w.Shape, rows.Shape = []int{5}, []int{0, 2} }, trial.Places, func(t *testing.T, _, with trial.Outcome) {
			if n, m := len(with.Values(t, "w")), len(with.Values(t, "rows")); n != 5 || m != 2*rowsIn(t, with) {
				t.Errorf("5 weights are %d, %d rows of 2 are %d", n, rowsIn(t, with), m)
			}
		}},
		"Embedding": {func(*optimizer.Param, *optimizer.Param) {}, trial.Places, func(t *testing.T, _, with trial.Outcome) {
			if rowsIn(t, with) == 0 {
				t.Error("an embedding has no rows")
			}
		}},
		"Init": {func(w, rows *optimizer.Param) {
			w.Init, rows.Init = optimizer.Constant{Value: 5}, optimizer.Constant{Value: 5}
		}, trial.Places, func(t *testing.T, _, with trial.Outcome) {
			if w, r := with.Value(t, "w"), with.Value(t, "rows"); w < 1 || w >= 5 || r < 1 || r >= 5 {
				t.Errorf("what begins with 5 is trained to %v and %v", w, r)
			}
		}},
		"Seed":                      {func(w, rows *optimizer.Param) { w.Seed, rows.Seed = 4, 4 }, trial.Places, differ},
		"Entry.CountFilter":         {func(_, rows *optimizer.Param) { rows.Entry.CountFilter = 1000 }, entries, none},
		"Entry.Probability":         {func(_, rows *optimizer.Param) { rows.Entry.Probability = 1e-9 }, entries, none},
		"Entry.ShowClick.Threshold": {shows(0, 0), entries, none},
		"Entry.ShowClick.ShowCoeff": {shows(50, 0), entries, func(t *testing.T, without, with trial.Outcome) {
			if rowsIn(t, with) != 5 { // each worker's own row is clicked whenever it is shown
				t.Errorf("%d rows are let in, want 5", rowsIn(t, with))
			}
		}},
		"Entry.ShowClick.ClickCoeff": {shows(0, 50), entries, func(t *testing.T, _, with trial.Outcome) {
			if rowsIn(t, with) == 0 || rowsIn(t, with) > 2 { // only the workers' own rows are clicked
				t.Errorf("%d rows are let in", rowsIn(t, with))
			}
		}},
		"MaxBytes": {func(_, rows *optimizer.Param) { rows.Shape, rows.MaxBytes = []int{0, 4096}, 1<<16 }, bounded, func(t *testing.T, without, with trial.Outcome) {
			if a, b := rowsIn(t, without), rowsIn(t, with); b == 0 || b >= a { // rows of 16 KiB
				t.Errorf("%d rows, and %d in 64 KiB", a, b)
			}
		}},
		"Frozen": {func(w, rows *optimizer.Param) { w.Frozen, rows.Frozen = true, true }, trial.Places, func(t *testing.T, without, with trial.Outcome) {
			first := trial.Trial{}.Objective().List[0].W
			row := make([]float32, 4)
			trial.Trial{}.Objective().List[2].InitRow(row, trial.OwnRow(0))
			if !slices.Equal(with.Values(t, "w"), first) || slices.Equal(without.Values(t, "w"), first) {
				t.Error("frozen weights have changed")
			}
			if at := slices.Index(trial.Tensor[uint64](t, with.Model, "rows.ids"), trial.OwnRow(0)); at >= 0 && !slices.Equal(with.Values(t, "rows")[4*at:][:4], row) {
				t.Errorf("a frozen row is %v, and began as %v", with.Values(t, "rows")[4*at:][:4], row)
			}
		}},
		"W": {func(w, _ *optimizer.Param) { w.W = slices.Repeat([]float32{5}, w.Size()) }, trial.Places, func(t *testing.T, _, with trial.Outcome) {
			if w := with.Value(t, "w"); w < 1 || w >= 5 {
				t.Errorf("what begins with 5 is trained to %v", w)
			}
		}},
		"Rows": {func(_, rows *optimizer.Param) { rows.Rows = nines(1 << 40) }, trial.Places, func(t *testing.T, _, with trial.Outcome) {
			at := slices.Index(trial.Tensor[uint64](t, with.Model, "rows.ids"), 1<<40)
			if at < 0 || !slices.Equal(with.Values(t, "rows")[4*at:][:4], []float32{9, 9, 9, 9}) {
				t.Errorf("the row that training begins with is number %d", at)
			}
		}},
		"G": {}, // is how it is trained
		// TestTablesMakeRoom, and TestEvictKeepsTheMostUseful of internal/table
		"Evict.By": {}, "Evict.Floor": {},
	}
	trial.Covers(t, reflect.TypeFor[optimizer.Param](), effects)
	for name, e := range trial.SomeOf(t, effects) {
		if e.set == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			looked := trial.Some(t, e.in)
			for _, p := range trial.Places {
				x := trial.Trial{Place: p, Steps: trial.Steps, Spoil: func(_ int, _ *trial.Pulled, st *optimizer.Step) { clickOwn(&st.Rows[0]) }}
				changed := x
				changed.Change = e.set
				if err, acts := changed.Refusal(t), slices.Contains(e.in, p); (err == nil) != acts {
					t.Errorf("%s: %v, it acts: %t", p.Name, err, acts)
				} else if slices.Contains(looked, p) {
					t.Run(p.Name, func(t *testing.T) { e.shows(t, x.Works(t), changed.Works(t)) })
				}
			}
		})
	}
}

// clickOwn says that all rows were shown, and those that one worker alone trains clicked.
func clickOwn(r *optimizer.Rows) {
	if r.Param.Entry.ShowClick == (optimizer.ShowClick{}) {
		return
	}
	r.Show, r.Click = slices.Repeat([]float32{1}, len(r.IDs)), make([]float32, len(r.IDs))
	for i, id := range r.IDs {
		if id >= trial.OwnRow(0) {
			r.Click[i] = 1
		}
	}
}

// TestEveryShrinkOptionActs ends days with options and looks at how many rows are dropped of a worker's own, which were shown in
// every step, and of others.
func TestEveryShrinkOptionActs(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	type days []fleet.ShrinkOptions
	all, own := 7, 2
	for _, p := range trial.Some(t, []trial.Place{trial.InSync, trial.InAsync, trial.InHalfAsync, trial.InSSP, trial.InCollective, trial.Alone}) {
		if p == trial.Alone {
			all, own = 6, 1
		}
		cases := map[string]struct {
			without, with days
			want          [2]int // rows that are dropped
		}{
			"Decay":    {days{{MinScore: 1}}, days{{MinScore: 1, Decay: 0.01}}, [2]int{all - own, all}},
			"MinScore": {days{{}}, days{{MinScore: 1}}, [2]int{0, all - own}},
			"Unseen":   {days{{}, {}}, days{{}, {Unseen: 1}}, [2]int{0, all}},
			// what was dropped is returned again, and two periods are not three
			"Period": {days{{MinScore: 1, Period: "a"}, {MinScore: 1, Period: "a"}, {Period: "b"}},
				days{{Period: "a"}, {Period: "a"}, {Unseen: 2, Period: "b"}}, [2]int{2 * (all - own), 0}},
		}
		trial.Covers(t, reflect.TypeFor[fleet.ShrinkOptions](), cases)
		for name, c := range cases {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				if got := [2]int{shrinks(t, p, c.without), shrinks(t, p, c.with)}; got != c.want {
					t.Errorf("%d rows are dropped, want %d", got, c.want)
				}
			})
		}
	}
}

// shrinks is how many rows are dropped at the ends of days.
func shrinks(t *testing.T, p trial.Place, days []fleet.ShrinkOptions) (rows int) {
	t.Helper()
	x := trial.Trial{Place: p, Steps: trial.Steps}
	x.Change = func(_, rows *optimizer.Param) { rows.Entry.ShowClick.Threshold = 0.1 }
	x.After = func(ctx context.Context, f *fleet.Fleet) error {
		for _, o := range days {
			dropped, err := f.Shrink(ctx, o)
			if err != nil {
				return err
			}
			if f.IsFirstWorker() {
				rows += dropped["rows"].Rows
			}
			if err := f.BarrierWorker(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	x.Works(t)
	return rows
}

// TestEveryFleetOptionActs: what a fleet is given is what it works with.
func TestEveryFleetOptionActs(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	cases := map[string]func(t *testing.T, x trial.Trial){
		"Transport": func(t *testing.T, x trial.Trial) {
			if o := x.Works(t); o.Net.Calls == 0 {
				t.Error("nothing was sent over it")
			}
		},
		"Logger": func(t *testing.T, x trial.Trial) {
			log := new(trial.Log)
			x.Logger = log.Logger()
			if x.Missing = "worker 1"; x.Servers > 0 {
				x.Missing = "servers"
			}
			if x.Run(t); len(log.Lines("level=WARN")) == 0 {
				t.Error("nothing was logged of a role that never came")
			}
		},
		"Placements": func(t *testing.T, x trial.Trial) {
			x.Strategy = strategy.Strategy{Mode: x.Mode, Placement: "LastServer"}
			f, err := fleet.New(t.Context(), x.Worker(), fleet.Options{Transport: transport.NewMemory()})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := x.Build(f); err == nil || !strings.Contains(err.Error(), "LastServer") {
				t.Errorf("a policy that nobody brought: %v", err)
			}
			if err := x.Refusal(t); (err == nil) != (x.Place != trial.InCollective) {
				t.Error(err)
			}
		},
		"Default": func(t *testing.T, x trial.Trial) {
			f, err := fleet.New(t.Context(), x.Worker(), fleet.Options{Transport: transport.NewMemory(), Default: true})
			if err != nil || fleet.Default() != f {
				t.Errorf("the default fleet is %v, want %v, error %v", fleet.Default(), f, err)
			}
		},
	}
	trial.Covers(t, reflect.TypeFor[fleet.Options](), cases)
	for name, shows := range cases {
		for _, p := range trial.Some(t, trial.Clusters) {
			t.Run(name+"/"+p.Name, func(t *testing.T) { shows(t, trial.Trial{Place: p, Steps: 2}) })
		}
	}
	t.Run("Placements/alone", func(t *testing.T) { cases["Placements"](t, trial.Trial{Place: trial.Alone}) })
}

// TestEveryClusterFieldActs: a cluster of a test is as it was asked for.
func TestEveryClusterFieldActs(t *testing.T) {
	t.Parallel()
	roles := func(c fleettest.Cluster) (said string) {
		var mu sync.Mutex
		var servers, workers int
		c.Run(t, func(_ context.Context, f *fleet.Fleet) error {
			mu.Lock()
			defer mu.Unlock()
			if f.IsServer() {
				servers++
			} else {
				workers++
			}
			said = fmt.Sprint(servers, " ", workers, " ", slices.Concat(f.ServerEndpoints(), f.WorkerEndpoints()))
			return nil
		})
		return said
	}
	log := new(trial.Log)
	cases := map[string]struct {
		c    fleettest.Cluster
		want string
	}{
		"Servers":   {fleettest.Cluster{Servers: 2, Workers: 1}, "2 1 [server-0:1 server-1:1]"},
		"Workers":   {fleettest.Cluster{Workers: 3}, "0 3 [worker-0:1 worker-1:1 worker-2:1]"},
		"Endpoints": {fleettest.Cluster{Servers: 2, Workers: 1, Endpoints: []string{"a:7"}}, "1 [a:7 server-1:1]"},
	}
	for name, c := range cases {
		if got := roles(c.c); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	own := fleet.Options{Logger: log.Logger(), Placements: []placement.Policy{trial.LastServer{}}}
	fleettest.Cluster{Options: own}.Run(t, func(_ context.Context, f *fleet.Fleet) error {
		x := trial.Trial{Place: trial.Alone, Strategy: strategy.Strategy{Placement: "LastServer"}}
		_, err := x.Build(f)
		return err
	})
	for name := range trial.Leaves(reflect.TypeFor[fleettest.Cluster]()) {
		if _, ok := cases[name]; !ok && !strings.HasPrefix(name, "Options.") {
			t.Errorf("nothing shows what Cluster.%s does", name)
		}
	}
}
