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

// Where this process shows what it counts: at the address of FLEET_METRICS, and whole at the unix socket of
// FLEET_STATS, which fleetrun names for its page. Empty is nowhere.
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
