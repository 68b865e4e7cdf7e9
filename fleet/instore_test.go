package fleet_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/strategy"
)

// TestJobsInAStore: a job of every kind saves into a store by itself, by name and a model; another process goes on from there, and trains
// what a job that never ended trains; what was saved is whole, and the model loads.
//
// Promise: [G6] a job of every kind saves into a store and goes on from there to the same bits
func TestJobsInAStore(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, size := range trial.SomeOf(t, map[string][2]int{"alone": {0, 1}, "collective": {0, 2}, "two servers": {2, 2}}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := storetest.NewMemory()
			dir := storetest.Mount(t, m) + "/job"
			s := strategy.Sync()
			want := trial.Training{Strategy: s, To: 6, Batch: dealt}.Weights(t, trial.Cluster(size[0], size[1]))
			s.Recovery.Dir = dir + "/own"
			trial.Training{Strategy: s, To: 3, Save: dir + "/named", Model: dir + "/model", Batch: dealt}.On(t, trial.Cluster(size[0], size[1]))
			if newest, err := checkpoints.Latest(dir + "/own"); err != nil || !strings.HasPrefix(newest.Dir, dir) {
				t.Errorf("the newest is %s, error %v", newest.Dir, err)
			}
			got := trial.Training{Strategy: s, From: 3, To: 6, Batch: dealt}.Weights(t, trial.Cluster(size[0], size[1]))
			if !bytes.Equal(got, want) {
				t.Errorf("the job that went on has trained other weights")
			}
			if _, err := serve.Version(dir + "/model"); err != nil {
				t.Error(err)
			}
			for _, file := range m.Names() {
				if strings.HasSuffix(file, "job.lock") {
					t.Errorf("%s is left", file)
				}
			}
		})
	}
}
