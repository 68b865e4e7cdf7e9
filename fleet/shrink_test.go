package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// months are days of training of the toy with shows and clicks: some steps, and what is dropped then.
type months struct {
	days  []fleet.ShrinkOptions
	load  string // before the first
	begin int    // the first step
	save  string // after the last

	mu    sync.Mutex
	freed []map[string]stats.Shrunk // by day, as worker 0 is told
}

const stepsADay = 4

// dayIDs are a worker's examples of a step: every day has ids of its own among those of all days.
func dayIDs(f *fleet.Fleet, step int) []trial.Sample {
	all := trial.FewIDs(step)
	for i := range all {
		if i%2 == 0 {
			all[i].Emb += uint64(1000 * (1 + step/stepsADay))
			all[i].Open += uint64(1000 * (1 + step/stepsADay))
		}
	}
	return trial.Deal(f, all)
}

// training is that of the days, each after the other.
func (m *months) training() trial.Training {
	toy := func() *trial.Toy {
		o := trial.NewShown()
		o.Emb.Entry = optimizer.Entry{} // one table has no score
		return o
	}
	return trial.Training{Toy: toy, Strategy: trial.Patient(strategy.Sync()), Load: m.load, Save: m.save,
		After: func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
			for day := range m.days {
				if err := m.day(ctx, f, o, day); err != nil {
					return err
				}
			}
			return nil
		}}
}

// day trains, with rows fetched ahead, and ends the day.
func (m *months) day(ctx context.Context, f *fleet.Fleet, o *trial.Toy, day int) error {
	for i := range stepsADay {
		step := m.begin + day*stepsADay + i
		var next []trial.Sample
		if i+1 < stepsADay {
			next = dayIDs(f, step+1)
		}
		if err := o.Train(ctx, dayIDs(f, step), next); err != nil {
			return err
		}
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	freed, err := f.Shrink(ctx, m.days[day])
	if err != nil {
		return err
	}
	if err := m.note(day, freed); err != nil {
		return err
	}
	return f.BarrierWorker(ctx) // all have been told before anybody goes on
}

// note keeps what a worker was told of a day, which is what the others were told.
func (m *months) note(day int, freed map[string]stats.Shrunk) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.freed) == day {
		m.freed = append(m.freed, freed)
	}
	if !maps.Equal(m.freed[day], freed) {
		return fmt.Errorf("workers are told different things of day %d: %+v and %+v", day, m.freed[day], freed)
	}
	return nil
}

var someDays = []fleet.ShrinkOptions{{}, {Unseen: 1}, {Decay: 0.5, MinScore: 2}, {Unseen: 1, Decay: 0.9}, {Unseen: 2}}

// TestShrinkIsTheSameEverywhere: the same rows are dropped on any number of servers as in one process, and training goes on
// from the same rows; all workers call it, and each day ends once.
//
// Promise: [G6] periods that Shrink ends are cuts too
// Also: TestDaysOutliveServers, TestDaysUnderFaults
func TestShrinkIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	alone := &months{days: someDays}
	want := alone.training().Weights(t, trial.Cluster(0, 0))
	for day, what := range map[int]string{1: "emb", 2: "open", 3: "emb"} {
		if alone.freed[day][what].Rows == 0 {
			t.Fatalf("day %d dropped %+v: the test shows nothing of %s", day, alone.freed[day], what)
		}
	}
	if n := alone.freed[0]; n["emb"] != (stats.Shrunk{}) || n["open"] != (stats.Shrunk{}) || len(n) != 2 {
		t.Errorf("a day that drops nothing dropped %+v", n)
	}
	if alone.freed[1]["open"].Waiting == 0 {
		t.Errorf("no id that waits was forgotten: %+v", alone.freed)
	}
	for name, c := range trial.SomeOf(t, map[string]fleettest.Cluster{
		"one server": trial.Cluster(1, 1), "two": trial.Cluster(2, 3), "three": trial.Cluster(3, 2), "none": trial.Cluster(0, 3),
	}) {
		t.Run(name, func(t *testing.T) {
			m := &months{days: someDays}
			if far := trial.Distance(t, want, m.training().Weights(t, c)); far > 1e-5 {
				t.Errorf("%g away from one process", far)
			}
			for day := range someDays {
				if !maps.Equal(m.freed[day], alone.freed[day]) {
					t.Errorf("day %d dropped %+v, in one process %+v", day, m.freed[day], alone.freed[day])
				}
			}
		})
	}
}

// TestDaysOutliveServers stops a job between two days and goes on with another number of servers.
func TestDaysOutliveServers(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	whole := &months{days: someDays}
	want := whole.training().Weights(t, trial.Cluster(2, 2))
	half := t.TempDir()
	(&months{days: someDays[:3], save: half}).training().On(t, trial.Cluster(2, 2))
	rest := &months{days: someDays[3:], load: half, begin: 3 * stepsADay}
	if far := trial.Distance(t, want, rest.training().Weights(t, trial.Cluster(3, 2))); far != 0 {
		t.Errorf("a job that was stopped ends %g away from one that wasn't", far)
	}
	for day, freed := range rest.freed {
		if !maps.Equal(freed, whole.freed[3+day]) {
			t.Errorf("day %d dropped %+v, without the stop %+v", 3+day, freed, whole.freed[3+day])
		}
	}
}

// TestDaysUnderFaults: messages are lost, repeated and late, and each day ends once, everywhere.
func TestDaysUnderFaults(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	alone := &months{days: someDays[:4]}
	want := alone.training().Weights(t, trial.Cluster(0, 0))
	trial.EachSeed(t, 8, func(seed trial.Seed) {
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			m := &months{days: someDays[:4]}
			x := m.training()
			x.Model = t.TempDir()
			seed.Simulate(t, 3, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error { return x.Run(ctx, f) })
			if far := trial.Distance(t, want, trial.Weights(t, x.Model)); far > 1e-5 {
				t.Errorf("%g away from one process", far)
			}
			for day := range m.days {
				if !maps.Equal(m.freed[day], alone.freed[day]) {
					t.Errorf("day %d dropped %+v, in one process %+v", day, m.freed[day], alone.freed[day])
				}
			}
		})
	})
}

// TestShrinkOfOneWorker: in mode async one worker may end days while others train.
func TestShrinkOfOneWorker(t *testing.T) {
	t.Parallel()
	x := shown(strategy.Async(), 20)
	x.After = func(ctx context.Context, f *fleet.Fleet, _ *trial.Toy) error {
		if f.WorkerIndex() != 1 {
			return f.BarrierWorker(ctx)
		}
		sum := 0
		for range 3 { // each call of the same worker is a day
			freed, err := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 2})
			if err != nil {
				return err
			}
			sum += freed["emb"].Rows + freed["emb"].Waiting
		}
		if sum == 0 {
			t.Error("nothing was dropped in three days")
		}
		return f.BarrierWorker(ctx)
	}
	x.On(t, trial.Cluster(2, 3))
}

func TestShrinkRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		c    fleettest.Cluster
		s    strategy.Strategy
		o    fleet.ShrinkOptions
		says string
	}{
		"no score": {fleettest.Cluster{}, strategy.Sync(), fleet.ShrinkOptions{MinScore: 1}, "set ShowClick in an Entry"},
		"decay":    {trial.Cluster(1, 1), strategy.Async(), fleet.ShrinkOptions{Decay: 2}, "Decay is 2"},
	} {
		t.Run(name, func(t *testing.T) {
			x := trial.Training{Rule: optimizer.SGD{LR: 0.01}, Strategy: tt.s, To: 2, Ahead: true}
			x.After = func(ctx context.Context, f *fleet.Fleet, _ *trial.Toy) error {
				if _, err := f.Shrink(ctx, tt.o); err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("error %v, want %q", err, tt.says)
				}
				return nil
			}
			tt.c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				if f.IsServer() {
					if _, err := f.Shrink(ctx, tt.o); !errors.Is(err, fleet.ErrRole) {
						t.Errorf("a server shrinks: %v", err)
					}
				}
				return x.Run(ctx, f)
			})
		})
	}
	f, err := fleet.New(t.Context(), nil, fleet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Shrink(t.Context(), fleet.ShrinkOptions{}); !errors.Is(err, fleet.ErrOrder) {
		t.Errorf("Shrink before Minimize: %v", err)
	}
}

// TestASaveBehindAShrink: what was saved at a step is saved again when rows were dropped since, though no step was made: they don't come back.
func TestASaveBehindAShrink(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, c := range trial.SomeOf(t, map[string]fleettest.Cluster{"alone": trial.Cluster(0, 0), "servers": trial.Cluster(2, 2), "collective": trial.Cluster(0, 2)}) {
		t.Run(name, func(t *testing.T) {
			dir, counts := t.TempDir(), map[string]int{}
			count := func(ctx context.Context, f *fleet.Fleet, when string) error {
				n := 0
				for _, err := range f.Rows(ctx, "emb") {
					if err != nil {
						return err
					}
					n++
				}
				if f.IsFirstWorker() {
					counts[when] = n
				}
				return f.BarrierWorker(ctx)
			}
			save := func(ctx context.Context, f *fleet.Fleet) error {
				if f.IsFirstWorker() {
					if err := errors.Join(f.SavePersistables(ctx, dir+"/saved"), f.Checkpoint(ctx)); err != nil {
						return err
					}
				}
				return f.BarrierWorker(ctx)
			}
			m := &months{days: someDays[:1]}
			x := m.training()
			x.Strategy.Recovery = strategy.Recovery{Dir: dir + "/own"}
			x.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
				err := m.day(ctx, f, o, 0)
				if err == nil {
					err = errors.Join(count(ctx, f, "before"), save(ctx, f))
				}
				if err == nil {
					_, err = f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 1})
				}
				return errors.Join(err, f.BarrierWorker(ctx), count(ctx, f, "after"), save(ctx, f))
			}
			x.On(t, c)
			for when, change := range map[string]func(x *trial.Training){
				"saved": func(x *trial.Training) { x.Load = dir + "/saved" },
				"own":   func(x *trial.Training) { x.Strategy.Recovery = strategy.Recovery{Dir: dir + "/own"} },
			} {
				again := m.training()
				again.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error { return count(ctx, f, when) }
				change(&again)
				again.On(t, c)
			}
			if counts["after"] >= counts["before"] || counts["saved"] != counts["after"] || counts["own"] != counts["after"] {
				t.Errorf("rows: %v", counts)
			}
		})
	}
}
