package trial

import (
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// Waits has more tests of a package run beside each other than there are cores, see [law.Waits].
func Waits() { law.Waits() }

// Long skips a test that -short leaves out, see [law.Long].
func Long(t *testing.T) {
	t.Helper()
	law.Long(t)
}

// Slow skips a test that a quick look leaves out, see [law.Slow].
func Slow(t *testing.T) {
	t.Helper()
	law.Slow(t)
}

// Some is the share of a law's cases that this run plays, see [law.Some].
func Some[V any](t *testing.T, all []V) []V {
	t.Helper()
	return law.Some(t, all)
}

// SomeOf is the share of a law's table that this run plays, as Some.
func SomeOf[V any](t *testing.T, all map[string]V) map[string]V {
	t.Helper()
	return law.SomeOf(t, all)
}
