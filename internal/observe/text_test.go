package observe

import (
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/count"
)

// TestWrite: a family stands together under its help and type, whatever sets it comes from, and values of labels are escaped.
func TestWrite(t *testing.T) {
	of := func(table string, samples ...count.Sample) Set {
		return Set{[]Label{{"role", "server"}, {"table", table}}, slices.Values(samples)}
	}
	var out strings.Builder
	err := Write(&out,
		of("a", count.Sample{Name: "gofleet_table_rows", By: "state=used", Help: "Rows.", Value: 3}, count.Sample{Name: "gofleet_lost_total", Help: "Lost.", Value: 1e9}),
		of("b\"\n\\", count.Sample{Name: "gofleet_table_rows", By: "state=used", Help: "Rows.", Value: 0.5}),
		Set{[]Label{{"op", "step"}}, slices.Values([]count.Sample{{Name: "gofleet_took_seconds", By: "of=a", Help: "Took.", Value: 6,
			Of: &count.Distribution{Bounds: []float64{0.5, 2}, Counts: []int64{3, 2, 1}, Sum: 7.5}}})},
		Set{Samples: slices.Values([]count.Sample{{Name: "gofleet_up", Help: "Up."}})})
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
