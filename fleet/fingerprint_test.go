package fleet_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/strategy"
)

// TestDefaultsAreNoDifference: processes compare the mode, and of the rest of a strategy what is not its default.
func TestDefaultsAreNoDifference(t *testing.T) {
	t.Parallel()
	for _, mode := range strategy.Modes() {
		trial.Cluster(1, 2).Run(t, func(_ context.Context, f *fleet.Fleet) error {
			s := strategy.Strategy{Mode: mode}
			if f.IsServer() { // which has them written out
				s = s.WithDefaults()
			}
			err := trial.Minimize(f, trial.NewToy(), optimizer.SGD{}, s)
			var of []string
			if err == nil {
				of = slices.DeleteFunc(slices.Clone(f.Fingerprint()), func(fact string) bool { return !strings.HasPrefix(fact, "strategy ") })
			}
			if want := []string{"strategy mode\t\"" + string(mode) + "\""}; err == nil && !slices.Equal(of, want) {
				t.Errorf("%v shows %q, want %q", f, of, want)
			}
			return err
		})
	}
}

// TestSchedulesOfOneFormDiffer: a job whose processes have schedules of other formulas with the same numbers is refused.
//
// Promise: [G12] processes whose rules, schedules or strategies differ are refused, and defaults are no difference
// Also: TestDefaultsAreNoDifference
func TestSchedulesOfOneFormDiffer(t *testing.T) {
	t.Parallel()
	trial.Refused(t, trial.Cluster(0, 2), "Schedule:lr.NaturalExpDecay{LR:1 Gamma:0.5}", func(ctx context.Context, f *fleet.Fleet) error {
		rule := optimizer.SGD{Schedule: lr.ExponentialDecay{LR: 1, Gamma: 0.5}}
		if f.WorkerIndex() == 1 {
			rule.Schedule = lr.NaturalExpDecay{LR: 1, Gamma: 0.5}
		}
		return errors.Join(minimized(f, rule), f.InitWorker(ctx))
	})
}
