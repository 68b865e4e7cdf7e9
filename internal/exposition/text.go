package exposition

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/count"
)

// Set is samples with the labels of all of them, such as role and index.
type Set struct {
	Labels  []Label
	Samples iter.Seq[count.Sample]
}

// Label is a name and any value.
type Label struct{ Name, Value string }

// family is the lines of one name, which stand together.
type family struct {
	name, help string
	lines      []string
}

// Write writes sets in Prometheus' text format, version 0.0.4. A name that ends in _total is a counter, any other a
// gauge.
func Write(w io.Writer, sets ...Set) error {
	var all []*family
	known := map[string]*family{}
	for _, set := range sets {
		for s := range set.Samples {
			f := known[s.Name]
			if f == nil {
				f = &family{name: s.Name}
				known[s.Name], all = f, append(all, f)
			}
			if f.help == "" {
				f.help = s.Help
			}
			f.lines = append(f.lines, s.Name+labels(set.Labels, s.By)+" "+strconv.FormatFloat(s.Value, 'g', -1, 64))
		}
	}
	out := bufio.NewWriter(w)
	for _, f := range all {
		kind := "gauge"
		if strings.HasSuffix(f.name, "_total") {
			kind = "counter"
		}
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s\n", f.name, f.help, f.name, kind, strings.Join(f.lines, "\n"))
	}
	return out.Flush()
}

// labels are a set's, and the sample's own.
func labels(of []Label, by string) string {
	var parts []string
	for _, l := range of {
		parts = append(parts, l.Name+`="`+escaped.Replace(l.Value)+`"`)
	}
	if name, value, ok := strings.Cut(by, "="); ok {
		parts = append(parts, name+`="`+escaped.Replace(value)+`"`)
	}
	if parts == nil {
		return ""
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// escaped is what the format wants in a label's value.
var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
