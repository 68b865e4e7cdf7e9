package checkpoint

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestPinnedCheckpointsStay beside the last ones, until they are unpinned; what is not whole can't be pinned.
//
// Promise: [G6] a pinned checkpoint stays, even if it is pinned while it is being removed
// Also: TestPinOrRemove, TestPin (fleet/fleetrun)
func TestPinnedCheckpointsStay(t *testing.T) {
	s, said := newSeries(t.TempDir(), 2)
	dir := func(name string) string { return filepath.Join(s.Dir, name) }
	saveTo(t, s)
	check(t, Pin(dir("ckpt-000001")))
	for range 4 {
		saveTo(t, s)
	}
	if got, want := listed(t, s.Dir), []string{"ckpt-000001", "ckpt-000004", "ckpt-000005", lockName}; !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
	if f, err := Examine(t.Context(), dir("ckpt-000001")); err != nil || f.Damage() != nil {
		t.Errorf("the pinned one: %v, %v", f.Damage(), err)
	}
	check(t, Unpin(dir("ckpt-000001")))
	check(t, Unpin(dir("ckpt-000001")))
	saveTo(t, s)
	if got, want := listed(t, s.Dir), []string{"ckpt-000005", "ckpt-000006", lockName}; !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
	check(t, os.Mkdir(dir("ckpt-000007"), 0o755))
	if err := Pin(dir("ckpt-000007")); err == nil || Pinned(dir("ckpt-000007")) {
		t.Errorf("one that was never finished: %v", err)
	}
	check(t, Pin(dir("ckpt-000006")))
	if latest, _, err := Latest(s.Dir); err != nil || latest != dir("ckpt-000006") {
		t.Errorf("the latest is %s, error %v", latest, err)
	}
	if said.Len() > 0 {
		t.Errorf("the log has %s", said)
	}
}

// TestPinOrRemove pins a checkpoint while it is removed, many times: either it is whole afterwards, or Pin has said that it is gone.
func TestPinOrRemove(t *testing.T) {
	law.Slow(t)
	root := t.TempDir()
	fill(t, filepath.Join(root, "x"))
	pinned := 0
	for i := range 30 {
		dir := filepath.Join(root, name(i+1))
		check(t, os.CopyFS(dir, os.DirFS(filepath.Join(root, "x"))))
		var both sync.WaitGroup
		var err error
		both.Go(func() { err = Pin(dir) })
		both.Go(func() {
			for i%2 == 1 && !Pinned(dir) {
				runtime.Gosched()
			}
			_, _ = remove(dir) // fails beside a pin
		})
		both.Wait()
		_, torn := whole(dir)
		if err == nil {
			pinned++
		}
		if err == nil && (torn != nil || !Pinned(dir)) {
			t.Fatalf("%d: it is pinned, and %v", i, torn)
		}
	}
	if pinned == 0 || pinned == 30 {
		t.Errorf("%d of 30 were pinned: the two never met", pinned)
	}
}
