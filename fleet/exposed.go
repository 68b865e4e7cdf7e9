package fleet

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/count"
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

// samples are [Fleet.Stats] for a page.
func (f *Fleet) samples() []observe.Set { return samplesOf(f.kind(), f.id.Index, f.Stats()) }

// samplesOf are the metrics of a role. Labels have ops, the model's tables, servers and a few workers as values, so
// that their number is bounded; none is an id of a row.
func samplesOf(role string, index int, s stats.Process) (sets []observe.Set) {
	for m := range s.Metrics() {
		labels := []observe.Label{{Name: "role", Value: role}, {Name: "index", Value: strconv.Itoa(index)}}
		for _, l := range m.Labels {
			labels = append(labels, observe.Label(l))
		}
		sample := count.Sample{Name: m.Name, Help: m.Help, Value: m.Value, Of: (*count.Distribution)(m.Histogram)}
		sets = append(sets, observe.Set{Labels: labels, Samples: slices.Values([]count.Sample{sample})})
	}
	return sets
}
