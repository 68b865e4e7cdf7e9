//go:build !linux

package law

import "testing"

// InMemory runs the tests of a package.
func InMemory(m *testing.M) int { return m.Run() }
