package stats

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/count"
	_ "github.com/gofleet/gofleet/internal/server"
)

// TestNamesOfMetrics: the names under which FLEET_METRICS shows what is counted are what alerts and dashboards are made of. A new one is
// added to the list; one that changes or goes has its line in CHANGELOG.
func TestNamesOfMetrics(t *testing.T) {
	var names []string
	helped := map[string]bool{}
	for _, of := range []any{Process{}, Table{}, Request{}, Link{}, Awaited{}} {
		for s := range count.Samples(of) {
			name := s.Name
			if s.By != "" {
				name += "{" + s.By + "}"
			}
			names = append(names, name)
			if helped[s.Name] = helped[s.Name] || s.Help != ""; !helped[s.Name] {
				t.Errorf("%s has no help", s.Name)
			}
		}
	}
	slices.Sort(names)
	golden, err := os.ReadFile("testdata/metrics.txt")
	if got := strings.Join(names, "\n") + "\n"; err != nil || got != string(golden) {
		t.Errorf("%v; the names are\n%s", err, got)
	}
	if len(slices.Compact(names)) != len(names) {
		t.Error("a name comes twice")
	}
}
