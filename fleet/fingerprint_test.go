package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/strategy"
)

// TestJournalsOfBuildsBefore: this build knows by which fingerprint builds before named their jobs in journals.
func TestJournalsOfBuildsBefore(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	jobs, err := filepath.Glob(filepath.Join(formatsWritten(t)["testdata/formats-frame3.zip"], "journals", "*", "journal.json"))
	if err != nil || len(jobs) != 3 {
		t.Fatalf("journals of %v, %v", jobs, err)
	}
	for _, name := range jobs {
		var x formatsJournal
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &x)
		}
		if err != nil {
			t.Fatal(err)
		}
		trial.Cluster(x.Servers, x.Workers).Run(t, func(_ context.Context, f *fleet.Fleet) error {
			m, rule := formatsJournalJob(x.Mode)
			err := trial.Minimize(f, m, rule, x.Strategy)
			if err == nil && !slices.Equal(f.Before(), x.Fingerprint) {
				t.Errorf("mode %s: builds before compared %q, this one knows %q", x.Mode, x.Fingerprint, f.Before())
			}
			return err
		})
	}
}

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
