package fleet_test

import (
	"context"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
)

// TestTrainingBeginsWithW: what W holds counts in every kind of job, whatever the initializer says; W that was never set is given
// the initial values. Frozen params are no exception.
//
// Promise: [G6] training begins with what params hold, or with what was loaded
// Also: TestALoadedModelTrainsOn, TestServerWithoutLoadedRowsIsRefused, TestACheckpointReplacesLoadedRows
func TestTrainingBeginsWithW(t *testing.T) {
	t.Parallel()
	half := optimizer.Constant{Value: 0.5}
	vector := func(name string, init optimizer.Initializer, frozen bool, w ...float32) *optimizer.Param {
		return &optimizer.Param{Name: name, Shape: []int{len(w)}, W: w, G: make([]float32, len(w)), Init: init, Frozen: frozen}
	}
	want := map[string][]float32{"set": {1, 0, 3}, "set beside Init": {0, 2}, "unset": {0.5, 0.5}, "zero": {0, 0}, "frozen": {4, 0}, "frozen, unset": {0.5}}
	for name, j := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			j.Cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				v := &trial.Objective{List: []*optimizer.Param{vector("set", nil, false, 1, 0, 3), vector("set beside Init", half, false, 0, 2),
					vector("unset", half, false, 0, 0), vector("zero", nil, false, 0, 0), vector("frozen", half, true, 4, 0),
					vector("frozen, unset", half, true, 0)}}
				look := func() {
					for _, p := range v.List {
						if !slices.Equal(p.W, want[p.Name]) {
							t.Errorf("%v begins with %q %v, want %v", f, p.Name, p.W, want[p.Name])
						}
					}
				}
				return trial.Play(ctx, f, v, optimizer.SGD{LR: 0.1}, j.Strategy, func() error {
					return v.InSession(ctx, func(s optimizer.Session) error { return trial.Step(ctx, s, &optimizer.Step{Samples: 1}, look) })
				})
			})
		})
	}
}
