package fleet

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/exposition"
)

// Where this process shows what it counts, as FLEET_METRICS says; empty is nowhere.
const envMetrics = "FLEET_METRICS"

// openPage is where this process shows what it counts, nil for nowhere.
func openPage(log *slog.Logger) (*exposition.Page, error) {
	addr := os.Getenv(envMetrics)
	if addr == "" {
		return nil, nil
	}
	p, err := exposition.Open(addr, log)
	if err != nil {
		return nil, fmt.Errorf("fleet: %s=%s: %w", envMetrics, addr, err)
	}
	return p, nil
}

// samples are [Fleet.Stats] for a page.
func (f *Fleet) samples() []exposition.Set {
	role := "worker"
	if f.IsServer() {
		role = "server"
	}
	labels := []exposition.Label{{Name: "role", Value: role}, {Name: "index", Value: strconv.Itoa(f.id.Index)}}
	s := f.Stats()
	sets := []exposition.Set{{Labels: labels, Samples: count.Samples(s)}}
	for _, t := range s.Tables {
		sets = append(sets, exposition.Set{Labels: append(labels[:2:2], exposition.Label{Name: "table", Value: t.Name}),
			Samples: count.Samples(t)})
	}
	return sets
}
