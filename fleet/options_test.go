package fleet_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/strategy"
)

// effect is what a field of a strategy does.
type effect struct {
	// set gives the field another value, and others what it needs.
	set func(*strategy.Strategy)
	// in are the places where it acts.
	in []place
	// shows fails the test unless the field does there what its doc says.
	shows func(t *testing.T, x trial)
}

// TestEveryOptionActs holds every field of a strategy, those of its structs too, to its doc: in each kind of job that takes it something
// is seen to be otherwise, and where nothing would be it is refused. A new field has no place here until it has an effect.
func TestEveryOptionActs(t *testing.T) {
	all := effects()
	for name, index := range leaves(reflect.TypeFor[strategy.Strategy](), "", nil) {
		e, ok := all[name]
		delete(all, name)
		if !ok {
			t.Errorf("no effect of Strategy.%s is known: say in effects what it does, and where", name)
			continue
		}
		var s strategy.Strategy
		e.set(&s)
		if reflect.ValueOf(s).FieldByIndex(index).IsZero() {
			t.Errorf("the effect of %s does not set it", name)
		}
		t.Run(name, func(t *testing.T) { e.everywhere(t) })
	}
	for name := range all {
		t.Errorf("Strategy has no %s, and it has an effect", name)
	}
}

// everywhere looks at the effect in all places.
func (e effect) everywhere(t *testing.T) {
	for _, p := range places {
		x := trial{place: p, s: strategy.Strategy{Mode: p.mode}, steps: trialSteps}
		x.noRows = x.with(e.set).s.WithoutServers() != ""
		err, acts := x.with(e.set).refusal(t), slices.Contains(e.in, p)
		switch {
		case acts && err != nil:
			t.Errorf("%s refuses it: %v", p.name, err)
		case acts:
			t.Run(p.name, func(t *testing.T) { e.shows(t, x) })
		case err == nil && p == alone:
			t.Run(p.name, func(t *testing.T) { x.same(t, x.with(e.set)) })
		case err == nil:
			t.Errorf("%s takes it, and what it does there is not known: if nothing, it must be refused", p.name)
		}
	}
}

// same fails the test unless two trials train the same.
func (x trial) same(t *testing.T, other trial) {
	t.Helper()
	if a, b := x.works(t), other.works(t); !bytes.Equal(a.model, b.model) {
		t.Error("weights differ")
	}
}
