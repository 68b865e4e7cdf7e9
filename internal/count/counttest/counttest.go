// Package counttest checks the counters of a package, for its tests.
package counttest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/count"
)

var name = regexp.MustCompile(`^gofleet_[a-z]+(_[a-z]+)+$`)

// Run fails for a counter of meters that stats does not have, for a field of stats that no meter counts unless
// elsewhere has its key, and for a name that Prometheus' rules forbid. A family has one help, on its first member, and
// a label that tells its members apart.
func Run(t *testing.T, stats any, elsewhere []string, meters ...any) {
	t.Helper()
	shown := slices.Collect(count.Keys(stats))
	var counted, families []string
	for s := range count.All(meters...) {
		family := s.Name + "{" + s.By + "}"
		known := slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(f, s.Name+"{") })
		switch {
		case !slices.Contains(shown, s.Key):
			t.Errorf("%s is counted as %q, which %T does not show", s.Name, s.Key, stats)
		case slices.Contains(counted, s.Key):
			t.Errorf("%q is counted twice", s.Key)
		case !name.MatchString(s.Name):
			t.Errorf("%q is not named as metrics of gofleet are", s.Name)
		case slices.Contains(families, family):
			t.Errorf("two metrics are %s", family)
		case (s.Help == "") != known:
			t.Errorf("%s: the first of a family has its help, and no other", family)
		}
		counted, families = append(counted, s.Key), append(families, family)
	}
	for i, key := range shown {
		if slices.Contains(shown[:i], key) {
			t.Errorf("%T shows %q twice", stats, key)
		}
		if slices.Contains(counted, key) == slices.Contains(elsewhere, key) {
			t.Errorf("%T shows %q: counted by a meter %t, elsewhere %t", stats, key, slices.Contains(counted, key),
				slices.Contains(elsewhere, key))
		}
	}
}
