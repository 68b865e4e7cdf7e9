package stats

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
)

// TestMetrics: each has the help of its family and the labels that tell it apart, and who has enough of them gets no more.
func TestMetrics(t *testing.T) {
	p := Process{Tables: []Table{{Name: "a", Rows: 3, Reads: Histogram{Bounds: []float64{1}, Counts: []int64{2, 1}, Sum: 4}}}, Requests: []Request{{Op: "step"}},
		Links: []Link{{Server: 1, Sent: 7}}, Server: Server{Waits: []Wait{{Workers: []int{5}, Since: time.Now()}}}}
	var all []string
	for m := range p.Metrics() {
		if m.Help == "" {
			t.Errorf("%s has no help", m.Name)
		}
		all = append(all, fmt.Sprint(m.Name, m.Labels))
		if m.Histogram != nil && m.Value != float64(m.Histogram.Count()) {
			t.Errorf("%+v", m)
		}
	}
	for _, want := range []string{"gofleet_worker_steps_total[]", "gofleet_table_rows[{table a} {state free}]", "gofleet_table_call_seconds[{table a} {op read}]",
		"gofleet_request_seconds[{op step}]", "gofleet_worker_link_bytes_total[{server 1} {of sent}]", "gofleet_server_awaited_seconds[{worker 5}]"} {
		if !slices.Contains(all, want) {
			t.Errorf("no %s in %v", want, all)
		}
	}
	for enough := range len(all) {
		n := 0
		for range p.Metrics() {
			if n++; n > enough {
				break
			}
		}
	}
}

// TestAlertsNameMetrics: alerts, the dashboard and the documents name metrics that there are.
func TestAlertsNameMetrics(t *testing.T) {
	golden, err := os.ReadFile("testdata/metrics.txt")
	law.Check(t, err)
	known := map[string]bool{}
	for line := range strings.Lines(string(golden)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "{")
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			known[name+suffix] = true
		}
	}
	for _, file := range []string{"examples/prometheus/rules.yml", "examples/prometheus/dashboard.json", "MACHINES.md"} {
		text, err := os.ReadFile("../../" + file)
		law.Check(t, err)
		names := regexp.MustCompile(`\bgofleet_[a-z_]+`).FindAllString(string(text), -1)
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s names %s, which no process shows", file, name)
			}
		}
		if len(names) < 5 {
			t.Errorf("%s names %d metrics: the test does not see them", file, len(names))
		}
	}
}
