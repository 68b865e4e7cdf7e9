package twin_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/twin"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy"
)

// TestEveryOptionIsDrawn: a field of Strategy is drawn, or options.go says why not.
func TestEveryOptionIsDrawn(t *testing.T) {
	law.Slow(t)
	drawn, not := twin.Options()
	of := reflect.TypeFor[strategy.Strategy]()
	for i := range of.NumField() {
		name := of.Field(i).Name
		if a, b := slices.Contains(drawn, name), slices.Contains(not, name); a == b {
			t.Errorf("Strategy.%s is drawn: %t, left out with a reason: %t; options.go says which", name, a, b)
		}
	}
	for _, name := range slices.Concat(drawn, not) {
		if _, ok := of.FieldByName(name); !ok {
			t.Errorf("options.go names %s, which Strategy has not", name)
		}
	}
	var c twin.Count
	n, least := law.Tries(10_000), 20
	if n < 10_000 {
		least = n / 2_500 // of a quarter each once, of fewer none
	}
	for seed := range uint64(n) {
		c.Add(twin.Draw(seed))
	}
	t.Log(c.String())
	for _, rare := range c.Rare(least) {
		t.Errorf("drawn too seldom: %s of %d", rare, c.Programs)
	}
	for _, name := range drawn {
		if !c.Drawn(name) {
			t.Errorf("Strategy.%s is never drawn", name)
		}
	}
}
