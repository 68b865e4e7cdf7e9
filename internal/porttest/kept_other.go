//go:build !linux

package porttest

import "testing"

// Kept are n endpoints of Free: the system shares no address with a socket that does not listen.
func Kept(t testing.TB, n int) (endpoints []string) {
	t.Helper()
	return Free(t, n)
}
