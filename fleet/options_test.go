package fleet_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
)

// effect is what a field of a strategy does.
type effect struct {
	// set gives the field another value, and others what it needs.
	set func(*strategy.Strategy)
	// in are the places where it acts.
	in []trial.Place
	// shows fails the test unless the field does there what its doc says.
	shows func(t *testing.T, x trial.Trial)
}

// TestEveryOptionActs holds every field of a strategy, those of its structs too, to its doc: in each kind of job that takes it
// something is seen to be otherwise, and where nothing would be it is refused. A new field has no place here until it has an
// effect.
//
// Promise: [G10] every option of a strategy acts, in every kind of job that takes it
// Also: TestTrialsRepeat
func TestEveryOptionActs(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	all := effects()
	played := trial.SomeOf(t, all)
	for name, index := range trial.Leaves(reflect.TypeFor[strategy.Strategy]()) {
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
		if _, ok := played[name]; ok {
			t.Run(name, func(t *testing.T) { e.everywhere(t) })
		}
	}
	for name := range all {
		t.Errorf("Strategy has no %s, and it has an effect", name)
	}
}

// everywhere asks in all places whether the field is taken, and looks at the effect in those of this run.
func (e effect) everywhere(t *testing.T) {
	looked := trial.Some(t, slices.Compact(append(slices.Clone(e.in), trial.Alone)))
	for _, p := range trial.Places {
		x := trial.Trial{Place: p, Strategy: strategy.Strategy{Mode: p.Mode}, Steps: trial.Steps}
		x.NoRows = x.With(e.set).Strategy.WithoutServers() != ""
		err, acts := x.With(e.set).Refusal(t), slices.Contains(e.in, p)
		switch {
		case acts && err != nil:
			t.Errorf("%s refuses it: %v", p.Name, err)
		case err == nil && (acts || p == trial.Alone) && !slices.Contains(looked, p):
		case acts:
			t.Run(p.Name, func(t *testing.T) { e.shows(t, x) })
		case err == nil && p == trial.Alone:
			t.Run(p.Name, func(t *testing.T) { sameWeights(t, x, x.With(e.set).With(inDirOf(t))) })
		case err == nil:
			t.Errorf("%s takes it, and what it does there is not known: if nothing, it must be refused", p.Name)
		}
	}
}

// sameWeights fails the test unless two trials train the same.
func sameWeights(t *testing.T, x, other trial.Trial) {
	t.Helper()
	if a, b := x.Works(t), other.Works(t); !bytes.Equal(a.Model, b.Model) {
		t.Error("weights differ")
	}
}

// inDirOf has a strategy that writes files write them to directories of a test's own.
func inDirOf(t *testing.T) func(*strategy.Strategy) {
	return func(s *strategy.Strategy) {
		for _, dir := range []*string{&s.Recovery.Dir, &s.Recovery.JournalDir} {
			if *dir != "" {
				*dir = t.TempDir()
			}
		}
	}
}
