package stats

import (
	"iter"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/count"
)

// Metric is a sample of what a process counts, as Prometheus names it: by base units, _total where it only grows.
type Metric struct {
	Name, Help string
	Labels     []Label
	Value      float64    // of a histogram how many values it has
	Histogram  *Histogram // nil of others
}

// Label tells metrics of a name apart: by table, op, server, worker, cause. Their number is bounded, none has an id.
type Label struct{ Name, Value string }

// Metrics are all that FLEET_METRICS shows of a process, for registries and exporters of one's own; examples/prometheus
// has a Collector of Prometheus' client over them.
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
