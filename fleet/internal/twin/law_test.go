package twin_test

import (
	"reflect"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/twin"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy"
)

// TestEveryOptionIsDrawn: each field of Strategy is, and each feature of programs beside each event that it can meet.
func TestEveryOptionIsDrawn(t *testing.T) {
	law.Slow(t)
	var c twin.Count
	n, least := law.Tries(10_000), 20
	if n < 10_000 {
		least = n / 2_500 // of a quarter each once, of fewer none
	}
	for seed := range uint64(n) {
		c.Add(twin.Draw(seed))
	}
	for _, rare := range c.Rare(least) {
		t.Errorf("drawn too seldom: %s of %d", rare, c.Programs)
	}
	for field := range reflect.TypeFor[strategy.Strategy]().Fields() {
		if !c.Drawn(field.Name) && field.Name != "PushSamples" { // which package jobs draws, beside every strike
			t.Errorf("Strategy.%s is never drawn", field.Name)
		}
	}
}
