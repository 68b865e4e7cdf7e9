package mode

import (
	"testing"

	"github.com/gofleet/gofleet/strategy"
)

// TestEveryModeHasTraits: a mode that a strategy may have has its half on a server, which takes the first push of every worker; and
// another one has none.
func TestEveryModeHasTraits(t *testing.T) {
	for _, m := range strategy.Modes() {
		of := Of(m)
		if of.NewServer == nil {
			t.Errorf("mode %s has no half on a server", m)
			continue
		}
		s := of.NewServer(2, 1)
		for w := range 2 {
			if _, err := s.Push(w, 0); err != nil {
				t.Errorf("mode %s: worker %d's first push: %v", m, w, err)
			}
		}
	}
	if Of("gossip").NewServer != nil {
		t.Error("a mode that nobody knows has a half on a server")
	}
}
