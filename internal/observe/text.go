package observe

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/fleet/stats"
)

// Write writes what roles count in Prometheus' text format, version 0.0.4, with their kind and index as labels. Other
// labels have ops, the model's tables, servers and a few workers as values, so that their number is bounded.
func Write(w io.Writer, roles ...Role) error {
	all := families{known: map[string]*family{}}
	for _, r := range roles {
		own := []stats.Label{{Name: "role", Value: r.Kind}, {Name: "index", Value: strconv.Itoa(r.Index)}}
		for m := range r.Stats.Metrics() {
			m.Labels = append(own[:2:2], m.Labels...)
			all.add(m)
		}
	}
	return all.write(w)
}

// families are the lines of each name, which must be adjacent.
type families struct {
	all   []*family
	known map[string]*family
}

type family struct {
	name, help, kind string
	lines            []string
}

func (f *families) write(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, f := range f.all {
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s\n", f.name, f.help, f.name, f.kind,
			strings.Join(f.lines, "\n"))
	}
	return out.Flush()
}

// add adds a metric's line, or a histogram's lines: for each bound how many values do not exceed it, their sum and
// their number. A name that ends in _total is a counter; any other is a histogram or a gauge.
func (f *families) add(m stats.Metric) {
	is := f.known[m.Name]
	if is == nil {
		is = &family{name: m.Name, help: m.Help, kind: "gauge"}
		if strings.HasSuffix(m.Name, "_total") {
			is.kind = "counter"
		} else if m.Histogram != nil {
			is.kind = "histogram"
		}
		f.known[m.Name], f.all = is, append(f.all, is)
	}
	line := func(suffix string, v float64, by ...stats.Label) {
		is.lines = append(is.lines, m.Name+suffix+labels(append(m.Labels, by...))+" "+number(v))
	}
	if m.Histogram == nil {
		line("", m.Value)
		return
	}
	upTo := 0.
	for i, bound := range m.Histogram.Bounds {
		upTo += float64(m.Histogram.Counts[i])
		line("_bucket", upTo, stats.Label{Name: "le", Value: number(bound)})
	}
	line("_bucket", m.Value, stats.Label{Name: "le", Value: "+Inf"})
	line("_sum", m.Histogram.Sum)
	line("_count", m.Value)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func labels(of []stats.Label) string {
	if len(of) == 0 {
		return ""
	}
	parts := make([]string, len(of))
	for i, l := range of {
		parts[i] = l.Name + `="` + escaped.Replace(l.Value) + `"`
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// escaped escapes the value of a label.
var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
