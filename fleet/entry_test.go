package fleet_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// picky is the toy with few ids, of which entry policies keep some out for some steps or for good.
func picky() *toy {
	o := newToy()
	o.emb.Entry = optimizer.Entry{CountFilter: 4}
	o.open.Entry = optimizer.Entry{Probability: 0.5}
	return o
}

func fewIDs(step int) []sample {
	all := samples(24, step)
	for i := range all {
		all[i].emb, all[i].open = all[i].emb%97, all[i].open%61
	}
	return all
}

// trainPicky trains steps [from, to) of the picky toy, from one checkpoint and to another where they are named, and
// saves the model.
func trainPicky(ctx context.Context, f *fleet.Fleet, from, to int, load, save, model string) error {
	o := picky()
	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 0.01}, strategy.Sync())
	if err != nil {
		return err
	}
	if err := opt.Minimize(o); err != nil {
		return err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, load); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if err := (leg{load: load}).begin(ctx, f); err != nil {
		return err
	}
	part := func(step int) []sample { // every third example, if there are three workers
		n := max(f.WorkerNum(), 1)
		var own []sample
		for i, s := range fewIDs(step) {
			if i%n == f.WorkerIndex() {
				own = append(own, s)
			}
		}
		return own
	}
	for step := from; step < to; step++ {
		var next []sample
		if step+1 < to {
			next = part(step + 1)
		}
		if err := o.train(ctx, part(step), next); err != nil {
			return err
		}
	}
	if err := o.session.Close(ctx); err != nil {
		return err
	}
	if err := (leg{save: save, model: model}).end(ctx, f, o); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}

func pickyModel(t *testing.T, servers, workers, from, to int, load, save string) []byte {
	t.Helper()
	dir := t.TempDir()
	fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
		return trainPicky(ctx, f, from, to, load, save, dir)
	})
	return read(t, filepath.Join(dir, "weights.safetensors"))
}

// TestEntryPoliciesInSync holds a cluster to the rows that one process lets in, and to their values: an id counts once a round,
// however many workers push it.
func TestEntryPoliciesInSync(t *testing.T) {
	alone := pickyModel(t, 0, 0, 0, 12, "", "")
	if far := distance(t, alone, pickyModel(t, 2, 3, 0, 12, "", "")); far > 1e-5 {
		t.Errorf("three workers are %g away from one process", far)
	}
	met := map[uint64]bool{}
	for step := range 12 {
		for _, s := range fewIDs(step) {
			met[s.emb] = true
		}
	}
	if n := len(tensor[uint64](t, alone, "emb.ids")); n == 0 || n >= len(met) {
		t.Errorf("%d of %d ids were let in: the test shows nothing", n, len(met))
	}
}

// TestCountsOutliveServers stops a job while ids wait for their row and goes on with another number of servers.
func TestCountsOutliveServers(t *testing.T) {
	whole := pickyModel(t, 2, 3, 0, 12, "", "")
	half := t.TempDir()
	pickyModel(t, 2, 3, 0, 5, "", half)
	if far := distance(t, whole, pickyModel(t, 3, 3, 5, 12, half, "")); far != 0 {
		t.Errorf("a job that was stopped ends %g away from one that wasn't", far)
	}
}
