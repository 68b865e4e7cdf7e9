package fleettest

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// watchLeaks notes the goroutines of this module and returns a check that fails t if there are more of them.
func watchLeaks(t testing.TB) (check func()) {
	before := len(ours())
	return func() {
		t.Helper()
		deadline := time.Now().Add(2 * time.Second)
		for len(ours()) > before && time.Now().Before(deadline) {
			runtime.Gosched() // those that have been told to end need a moment to do so
		}
		if now := ours(); len(now) > before {
			t.Errorf("fleettest: %d goroutines are left, %d were there before:\n%s", len(now), before, strings.Join(now, "\n\n"))
		}
	}
}

// ours are the stacks of goroutines that this module started, the tests' own excepted.
func ours() (stacks []string) {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for _, g := range strings.Split(string(buf), "\n\n") {
		if strings.Contains(g, "created by github.com/gofleet/gofleet/") && !strings.Contains(g, "fleettest.") &&
			!strings.Contains(g, "testing.(*T).Run") {
			stacks = append(stacks, g)
		}
	}
	return stacks
}
