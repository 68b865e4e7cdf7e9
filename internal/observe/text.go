package observe

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/count"
)

// Set is samples and the labels that all of them have, such as role and index.
type Set struct {
	Labels  []Label
	Samples iter.Seq[count.Sample]
}

// Label is a name and any value.
type Label struct{ Name, Value string }

// family holds the lines of one name, which must be adjacent.
type family struct {
	name, help, kind string
	lines            []string
}

// Write writes sets in Prometheus' text format, version 0.0.4. A name that ends in _total is a counter; any other is a
// histogram or a gauge.
func Write(w io.Writer, sets ...Set) error {
	var all []*family
	known := map[string]*family{}
	for _, set := range sets {
		for s := range set.Samples {
			f := known[s.Name]
			if f == nil {
				f = &family{name: s.Name, kind: kind(s)}
				known[s.Name], all = f, append(all, f)
			}
			if f.help == "" {
				f.help = s.Help
			}
			f.add(s, set.Labels)
		}
	}
	out := bufio.NewWriter(w)
	for _, f := range all {
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s\n", f.name, f.help, f.name, f.kind,
			strings.Join(f.lines, "\n"))
	}
	return out.Flush()
}

func kind(s count.Sample) string {
	switch {
	case s.Of != nil:
		return "histogram"
	case strings.HasSuffix(s.Name, "_total"):
		return "counter"
	}
	return "gauge"
}

// add adds a sample's line, or a histogram's lines: for each bound how many values do not exceed it, their sum and
// their number.
func (f *family) add(s count.Sample, with []Label) {
	line := func(suffix string, by Label, v float64) {
		own := with[:len(with):len(with)]
		if name, value, ok := strings.Cut(s.By, "="); ok {
			own = append(own, Label{name, value})
		}
		if by.Name != "" {
			own = append(own, by)
		}
		f.lines = append(f.lines, s.Name+suffix+labels(own)+" "+number(v))
	}
	if s.Of == nil {
		line("", Label{}, s.Value)
		return
	}
	upTo := 0.
	for i, bound := range s.Of.Bounds {
		upTo += float64(s.Of.Counts[i])
		line("_bucket", Label{"le", number(bound)}, upTo)
	}
	line("_bucket", Label{"le", "+Inf"}, s.Value)
	line("_sum", Label{}, s.Of.Sum)
	line("_count", Label{}, s.Value)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func labels(of []Label) string {
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
