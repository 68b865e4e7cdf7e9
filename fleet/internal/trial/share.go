package trial

import (
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// Waits lets more tests of a package run in parallel than there are cores, see [law.Waits].
func Waits() { law.Waits() }

// InMemory runs tests that write many files, see [law.InMemory].
func InMemory(m *testing.M) int { return law.InMemory(m) }

// Quickly also collects garbage less often, see [law.Quickly].
func Quickly(m *testing.M) int { return law.Quickly(m) }

// Long skips a test that -short leaves out, see [law.Long].
func Long(t *testing.T) {
	t.Helper()
	law.Long(t)
}

// Slow skips a test that a quick run leaves out, see [law.Slow].
func Slow(t *testing.T) {
	t.Helper()
	law.Slow(t)
}

// Some returns the share of a law's cases for this run, see [law.Some].
func Some[V any](t *testing.T, all []V) []V {
	t.Helper()
	return law.Some(t, all)
}

// SomeOf returns the share of a law's table for this run, as Some does.
func SomeOf[V any](t *testing.T, all map[string]V) map[string]V {
	t.Helper()
	return law.SomeOf(t, all)
}
