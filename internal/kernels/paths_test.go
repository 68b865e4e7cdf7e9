package kernels

import "testing"

// eachPath runs a test once on every path of this machine.
func eachPath(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	defer func(old *backend) { active = old }(active)
	for _, p := range paths() {
		active = p
		t.Run(p.name, test)
	}
}

// benchPaths is eachPath for benchmarks.
func benchPaths(b *testing.B, bench func(b *testing.B)) {
	b.Helper()
	defer func(old *backend) { active = old }(active)
	for _, p := range paths() {
		active = p
		b.Run(p.name, bench)
	}
}
