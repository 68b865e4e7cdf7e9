package observe

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet/stats"
)

// TestFamilies: a family stands together under its help and type, whatever role it comes from, and values of labels are escaped.
func TestFamilies(t *testing.T) {
	all := families{known: map[string]*family{}}
	for _, m := range []stats.Metric{
		{Name: "gofleet_table_rows", Help: "Rows.", Value: 3, Labels: []stats.Label{{Name: "role", Value: "server"}, {Name: "table", Value: "a"}, {Name: "state", Value: "used"}}},
		{Name: "gofleet_lost_total", Help: "Lost.", Value: 1e9, Labels: []stats.Label{{Name: "role", Value: "server"}, {Name: "table", Value: "a"}}},
		{Name: "gofleet_table_rows", Help: "Rows.", Value: 0.5, Labels: []stats.Label{{Name: "role", Value: "server"}, {Name: "table", Value: "b\"\n\\"}, {Name: "state", Value: "used"}}},
		{Name: "gofleet_took_seconds", Help: "Took.", Value: 6, Labels: []stats.Label{{Name: "op", Value: "step"}, {Name: "of", Value: "a"}},
			Histogram: &stats.Histogram{Bounds: []float64{0.5, 2}, Counts: []int64{3, 2, 1}, Sum: 7.5}},
		{Name: "gofleet_up", Help: "Up."},
	} {
		all.add(m)
	}
	var out strings.Builder
	err := all.write(&out)
	want := `# HELP gofleet_table_rows Rows.
# TYPE gofleet_table_rows gauge
gofleet_table_rows{role="server",table="a",state="used"} 3
gofleet_table_rows{role="server",table="b\"\n\\",state="used"} 0.5
# HELP gofleet_lost_total Lost.
# TYPE gofleet_lost_total counter
gofleet_lost_total{role="server",table="a"} 1e+09
# HELP gofleet_took_seconds Took.
# TYPE gofleet_took_seconds histogram
gofleet_took_seconds_bucket{op="step",of="a",le="0.5"} 3
gofleet_took_seconds_bucket{op="step",of="a",le="2"} 5
gofleet_took_seconds_bucket{op="step",of="a",le="+Inf"} 6
gofleet_took_seconds_sum{op="step",of="a"} 7.5
gofleet_took_seconds_count{op="step",of="a"} 6
# HELP gofleet_up Up.
# TYPE gofleet_up gauge
gofleet_up 0
`
	if err != nil || out.String() != want {
		t.Errorf("%v, written:\n%s\nwant:\n%s", err, &out, want)
	}
}
