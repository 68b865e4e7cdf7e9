package stats

import (
	"iter"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/count"
)

// Metric is a sample with Prometheus' naming: base units, and _total for counters.
type Metric struct {
	Name, Help string
	Labels     []Label
	Value      float64    // of a histogram, its number of values
	Histogram  *Histogram // nil for other metrics
}

// Label distinguishes metrics of the same name: by table, op, server, worker or cause. The number of labels is bounded;
// none has an id.
type Label struct{ Name, Value string }

// Metrics returns all metrics that FLEET_METRICS serves, for your own registries and exporters; examples/prometheus has
// a Collector for Prometheus' client.
func (p Process) Metrics() iter.Seq[Metric] {
	return func(yield func(Metric) bool) {
		help := map[string]string{} // of a family, as its first has it
		all := func(of any, by ...Label) bool {
			for s := range count.Samples(of) {
				if s.Help != "" {
					help[s.Name] = s.Help
				}
				m := Metric{Name: s.Name, Help: help[s.Name], Labels: by[:len(by):len(by)], Value: s.Value}
				if name, value, ok := strings.Cut(s.By, "="); ok {
					m.Labels = append(m.Labels, Label{name, value})
				}
				if s.Of != nil {
					h := Histogram(*s.Of)
					m.Histogram = &h
				}
				if !yield(m) {
					return false
				}
			}
			return true
		}
		goesOn := all(p)
		for i := 0; goesOn && i < len(p.Tables); i++ {
			goesOn = all(p.Tables[i], Label{"table", p.Tables[i].Name})
		}
		for i := 0; goesOn && i < len(p.Requests); i++ {
			goesOn = all(p.Requests[i], Label{"op", p.Requests[i].Op})
		}
		for i := 0; goesOn && i < len(p.Links); i++ {
			goesOn = all(p.Links[i], Label{"server", strconv.Itoa(p.Links[i].Server)})
		}
		awaited := p.Server.Awaited()
		for i := 0; goesOn && i < len(awaited); i++ {
			goesOn = all(awaited[i], Label{"worker", strconv.Itoa(awaited[i].Worker)})
		}
	}
}
