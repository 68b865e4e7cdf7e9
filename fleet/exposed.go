package fleet

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/gofleet/gofleet/internal/observe"
)

// The address at which this process shows its counters and its status, empty for none, and the token of the status.
const envMetrics, envToken = "FLEET_METRICS", "FLEET_UI_TOKEN"

// openPage opens the page of this process; nil if there is none.
func openPage(log *slog.Logger) (*observe.Page, error) {
	addr := os.Getenv(envMetrics)
	if addr == "" {
		return nil, nil
	}
	p, err := observe.Open(addr, os.Getenv(envToken), log)
	if err != nil {
		return nil, fmt.Errorf("fleet: %s=%s: %w", envMetrics, addr, err)
	}
	return p, nil
}

// status is what this role says of itself.
func (f *Fleet) status() observe.Role {
	s := f.Stats()
	r := observe.Role{Kind: f.kind(), Index: f.id.Index, Began: f.began, Runs: f.stands().Began || s.Counts.Steps > 0,
		Stats: &s, Warnings: f.warnings.Last()}
	if t, shown := observe.Trained.Load(f.id.Index); shown && f.IsWorker() {
		r.Training = t.(*observe.Training)
	}
	return r
}
