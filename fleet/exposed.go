package fleet

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/gofleet/gofleet/fleet/stats"
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
	return samplesOf(role, f.id.Index, f.Stats())
}

// samplesOf are the samples of a role. Labels are of ops, of the model's tables, of servers and of a few workers, so
// that their number is bounded, and none has an id.
func samplesOf(role string, index int, s stats.Process) []exposition.Set {
	labels := []exposition.Label{{Name: "role", Value: role}, {Name: "index", Value: strconv.Itoa(index)}}
	sets := []exposition.Set{{Labels: labels, Samples: count.Samples(s)}}
	add := func(name, value string, of any) {
		sets = append(sets, exposition.Set{Labels: append(labels[:2:2], exposition.Label{Name: name, Value: value}),
			Samples: count.Samples(of)})
	}
	for _, t := range s.Tables {
		add("table", t.Name, t)
	}
	for _, r := range s.Requests {
		add("op", r.Op, r)
	}
	for _, l := range s.Links {
		add("server", strconv.Itoa(l.Server), l)
	}
	for _, a := range s.Server.Awaited() {
		add("worker", strconv.Itoa(a.Worker), a)
	}
	return sets
}
