package fleet_test

import (
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// picky is a training of the toy with few ids, of which entry policies keep some out for some steps or for good.
func picky(from, to int) trial.Training {
	toy := func() *trial.Toy {
		o := trial.NewToy()
		o.Emb.Entry = optimizer.Entry{CountFilter: 4}
		o.Open.Entry = optimizer.Entry{Probability: 0.5}
		return o
	}
	return trial.Training{Toy: toy, Strategy: strategy.Sync(), From: from, To: to, Batch: dealt, Ahead: true}
}

// TestEntryPoliciesInSync holds a cluster to the rows that one process lets in, and to their values: an id counts once a round,
// however many workers push it.
func TestEntryPoliciesInSync(t *testing.T) {
	alone := picky(0, 12).Weights(t, trial.Cluster(0, 0))
	if far := trial.Distance(t, alone, picky(0, 12).Weights(t, trial.Cluster(2, 3))); far > 1e-5 {
		t.Errorf("three workers are %g away from one process", far)
	}
	met := map[uint64]bool{}
	for step := range 12 {
		for _, s := range trial.FewIDs(step) {
			met[s.Emb] = true
		}
	}
	if n := len(trial.Tensor[uint64](t, alone, "emb.ids")); n == 0 || n >= len(met) {
		t.Errorf("%d of %d ids were let in: the test shows nothing", n, len(met))
	}
}

// TestCountsOutliveServers stops a job while ids wait for their row and goes on with another number of servers.
func TestCountsOutliveServers(t *testing.T) {
	whole := picky(0, 12).Weights(t, trial.Cluster(2, 3))
	half, rest := picky(0, 5), picky(5, 12)
	half.Save = t.TempDir()
	half.On(t, trial.Cluster(2, 3))
	rest.Load = half.Save
	if far := trial.Distance(t, whole, rest.Weights(t, trial.Cluster(3, 3))); far != 0 {
		t.Errorf("a job that was stopped ends %g away from one that wasn't", far)
	}
}
