package fleet_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// shown is a training of the toy with shows and clicks, on few ids.
func shown(s strategy.Strategy, steps int) trial.Training {
	return trial.Training{Toy: trial.NewShown, Strategy: s, To: steps, Batch: dealt}
}

// dealt are a worker's of a step's few ids.
func dealt(f *fleet.Fleet, step int) []trial.Sample { return trial.Deal(f, trial.FewIDs(step)) }

// TestShowsAndClicksInSync holds clusters to the rows that one process lets in by shows and clicks of the joined batch.
func TestShowsAndClicksInSync(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	alone := shown(strategy.Sync(), 12).Weights(t, trial.Cluster(0, 0))
	met := map[uint64]bool{}
	for step := range 12 {
		for _, s := range trial.FewIDs(step) {
			met[s.Open] = true
		}
	}
	if n := len(trial.Tensor[uint64](t, alone, "open.ids")); n == 0 || n >= len(met) {
		t.Fatalf("%d of %d ids were let in: the test shows nothing", n, len(met))
	}
	pieces, narrow := strategy.Sync(), strategy.Sync()
	pieces.MaxFrame = 4096
	narrow.Payload = strategy.PayloadFloat16
	for name, c := range map[string]struct {
		cluster fleettest.Cluster
		s       strategy.Strategy
		within  float64
	}{
		"three workers": {trial.Cluster(2, 3), strategy.Sync(), 1e-5},
		"in pieces":     {trial.Cluster(3, 3), pieces, 1e-5},
		"narrow":        {trial.Cluster(2, 2), narrow, 0.1},
		"collective":    {trial.Cluster(0, 3), strategy.Sync(), 1e-5},
	} {
		t.Run(name, func(t *testing.T) {
			if far := trial.Distance(t, alone, shown(c.s, 12).Weights(t, c.cluster)); far > c.within {
				t.Errorf("%g away from one process", far)
			}
		})
	}
}

// TestWrongCountsAreRefused: a worker says what is wrong with a step before anything of it is sent.
func TestWrongCountsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []fleettest.Cluster{{}, trial.Cluster(1, 1)} {
		x := shown(strategy.Sync(), 1)
		x.After = func(ctx context.Context, _ *fleet.Fleet, o *trial.Toy) error {
			o.Spoil = func(st *optimizer.Step) { st.Rows[1].Click[0] = -1 }
			err := o.Train(ctx, trial.FewIDs(1), nil)
			if want := "-1 clicks: they are counted from 0"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d servers: error %v, want %q", c.Servers, err, want)
			}
			o.Session = nil // which has failed
			return nil
		}
		x.On(t, c)
	}
}

// TestCountsInEveryKindOfJob holds jobs without servers to what workers of one server count of the same steps, rows that tables
// keep out among them.
func TestCountsInEveryKindOfJob(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	count := func(c fleettest.Cluster) []stats.Counts {
		all, x := make([]stats.Counts, c.Workers), shown(strategy.Sync(), 12)
		x.After = func(_ context.Context, f *fleet.Fleet, _ *trial.Toy) error {
			n := f.Stats().Counts
			all[f.WorkerIndex()] = stats.Counts{Steps: n.Steps, Rows: n.Rows, Dropped: n.Dropped}
			return nil
		}
		x.On(t, c)
		return all
	}
	for _, workers := range []int{1, 3} {
		want, got := count(trial.Cluster(1, workers)), count(trial.Cluster(0, workers))
		for w, n := range want {
			if n.Steps != 12 || n.Dropped == 0 || workers == 1 && n.Rows == 0 {
				t.Fatalf("worker %d of %d with a server: %+v: the test shows nothing", w, workers, n)
			}
			if got[w] != n {
				t.Errorf("worker %d of %d: %+v without servers, %+v with one", w, workers, got[w], n)
			}
		}
	}
}
