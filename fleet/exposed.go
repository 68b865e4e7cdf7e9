package fleet

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/exposition"
)

// The addresses of this process's counters: as metrics at FLEET_METRICS, and complete at the unix socket of
// FLEET_STATS, which fleetrun sets for its page. Empty means none.
const envMetrics, envStats = "FLEET_METRICS", "FLEET_STATS"

func openPages(log *slog.Logger) (all []*exposition.Page, err error) {
	for _, at := range []struct {
		env  string
		open func(string, *slog.Logger) (*exposition.Page, error)
	}{{envMetrics, exposition.Open}, {envStats, exposition.OpenWhole}} {
		addr := os.Getenv(at.env)
		if addr == "" {
			continue
		}
		p, err := at.open(addr, log)
		if err != nil {
			return nil, fmt.Errorf("fleet: %s=%s: %w", at.env, addr, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// samples are [Fleet.Stats] for a page.
func (f *Fleet) samples() []exposition.Set {
	role := "worker"
	if f.IsServer() {
		role = "server"
	}
	return samplesOf(role, f.id.Index, f.Stats())
}

// samplesOf are the metrics of a role. Labels have ops, the model's tables, servers and a few workers as values, so
// that their number is bounded; none is an id of a row.
func samplesOf(role string, index int, s stats.Process) (sets []exposition.Set) {
	for m := range s.Metrics() {
		labels := []exposition.Label{{Name: "role", Value: role}, {Name: "index", Value: strconv.Itoa(index)}}
		for _, l := range m.Labels {
			labels = append(labels, exposition.Label(l))
		}
		sample := count.Sample{Name: m.Name, Help: m.Help, Value: m.Value, Of: (*count.Distribution)(m.Histogram)}
		sets = append(sets, exposition.Set{Labels: labels, Samples: slices.Values([]count.Sample{sample})})
	}
	return sets
}
