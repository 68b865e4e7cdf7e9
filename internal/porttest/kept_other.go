//go:build !linux

package porttest

import "testing"

// Kept returns n endpoints of Free: this system shares no address with a socket that does not listen.
func Kept(t testing.TB, n int) (endpoints []string) {
	t.Helper()
	return Free(t, n)
}
