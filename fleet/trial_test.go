package fleet_test

import (
	"bytes"
	"maps"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
)

// TestTrialsRepeat: two runs of a trial are the same, so that a difference between others is an option's.
func TestTrialsRepeat(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, p := range trial.Some(t, trial.Places) {
		t.Run(p.Name, func(t *testing.T) {
			x := trial.Trial{Place: p, Steps: trial.Steps}
			a, b := x.Works(t), x.Works(t)
			if !bytes.Equal(a.Model, b.Model) || len(a.Model) == 0 {
				t.Error("weights differ")
			}
			if a.Steps() != b.Steps() || !maps.Equal(a.When, b.When) {
				t.Errorf("%d steps, ended at %v; again %d, %v", a.Steps(), a.When, b.Steps(), b.When)
			}
			if a, b := a.Net.Sent, b.Net.Sent; !trial.Near(float64(a), float64(b), 0.01) { // frames say who sends in numbers of any length
				t.Errorf("%d bytes were sent, again %d", a, b)
			}
		})
	}
}
