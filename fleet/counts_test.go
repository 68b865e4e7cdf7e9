package fleet_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// shown is the toy with tables that let ids in by how often they were shown and clicked: every example shows its ids, and
// those whose number is positive were clicked.
func shown() *toy {
	o := newToy()
	o.emb.Entry.ShowClick = optimizer.ShowClick{Threshold: 5, ShowCoeff: 0.5, ClickCoeff: 2}
	o.open.Entry.ShowClick = optimizer.ShowClick{Threshold: 2.5}
	o.counts = true
	return o
}

// trainShown trains the first steps of fewIDs, saves the model when every worker has, and calls after before it ends.
func trainShown(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, steps int, model string, after func(*toy) error) error {
	o := shown()
	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 0.01}, s)
	if err != nil {
		return err
	}
	if err := opt.Minimize(o); err != nil {
		return err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	for step := range steps {
		if err := o.train(ctx, ownPart(f, fewIDs(step)), nil); err != nil {
			return err
		}
	}
	if err := o.session.Close(ctx); err != nil {
		return err
	}
	if after != nil {
		if err := after(o); err != nil {
			return err
		}
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	if model != "" && f.IsFirstWorker() {
		if err := f.SaveInferenceModel(ctx, model, o); err != nil {
			return err
		}
	}
	return f.StopWorker(ctx)
}

// ownPart is a worker's part of a batch: every third example, if there are three workers.
func ownPart(f *fleet.Fleet, all []sample) (own []sample) {
	n := max(f.WorkerNum(), 1)
	for i, s := range all {
		if i%n == f.WorkerIndex() {
			own = append(own, s)
		}
	}
	return own
}

func shownModel(t *testing.T, c fleettest.Cluster, s strategy.Strategy) []byte {
	t.Helper()
	dir := t.TempDir()
	c.Run(t, func(ctx context.Context, f *fleet.Fleet) error { return trainShown(ctx, f, s, 12, dir, nil) })
	return read(t, filepath.Join(dir, "weights.safetensors"))
}

// TestShowsAndClicksInSync holds clusters to the rows that one process lets in by shows and clicks of the joined batch.
func TestShowsAndClicksInSync(t *testing.T) {
	alone := shownModel(t, fleettest.Cluster{}, strategy.Sync())
	met := map[uint64]bool{}
	for step := range 12 {
		for _, s := range fewIDs(step) {
			met[s.open] = true
		}
	}
	if n := len(tensor[uint64](t, alone, "open.ids")); n == 0 || n >= len(met) {
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
		"three workers": {fleettest.Cluster{Servers: 2, Workers: 3}, strategy.Sync(), 1e-5},
		"in pieces":     {fleettest.Cluster{Servers: 3, Workers: 3}, pieces, 1e-5},
		"narrow":        {fleettest.Cluster{Servers: 2, Workers: 2}, narrow, 0.1},
		"collective":    {fleettest.Cluster{Workers: 3}, strategy.Sync(), 1e-5},
	} {
		t.Run(name, func(t *testing.T) {
			if far := distance(t, alone, shownModel(t, c.cluster, c.s)); far > c.within {
				t.Errorf("%g away from one process", far)
			}
		})
	}
}

// TestWrongCountsAreRefused: a worker says what is wrong with a step before anything of it is sent.
func TestWrongCountsAreRefused(t *testing.T) {
	for _, c := range []fleettest.Cluster{{}, {Servers: 1, Workers: 1}} {
		c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			return trainShown(ctx, f, strategy.Sync(), 1, "", func(o *toy) error {
				o.session = nil
				o.spoil = func(st *optimizer.Step) { st.Rows[1].Click[0] = -1 }
				err := o.train(ctx, fewIDs(1), nil)
				if want := "-1 clicks: they are counted from 0"; err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%d servers: error %v, want %q", c.Servers, err, want)
				}
				return nil
			})
		})
	}
}

// TestCountsInEveryKindOfJob holds jobs without servers to what workers of one server count of the same steps, rows that tables keep
// out among them.
func TestCountsInEveryKindOfJob(t *testing.T) {
	count := func(servers, workers int) []fleet.Counts {
		all := make([]fleet.Counts, workers)
		fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
			return trainShown(ctx, f, strategy.Sync(), 12, "", func(*toy) error {
				n := f.Counts()
				all[f.WorkerIndex()] = fleet.Counts{Steps: n.Steps, Rows: n.Rows, Dropped: n.Dropped}
				return nil
			})
		})
		return all
	}
	for _, workers := range []int{1, 3} {
		want, got := count(1, workers), count(0, workers)
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
