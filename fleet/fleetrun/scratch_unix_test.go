//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestScratchOfTheKilled: what a killed fleetrun has left is removed by the next, and nothing else is.
func TestScratchOfTheKilled(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	running, remove, err := makeScratch(in)
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	killed, young, foreign, file := filepath.Join(in, "fleetrun-1"), filepath.Join(in, "fleetrun-2"), filepath.Join(in, "other"), filepath.Join(in, "fleetrun-3")
	named := filepath.Join(in, "fleetrun-logs")
	for _, dir := range []string{filepath.Join(killed, "bin"), young, foreign, named} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{running, killed, foreign, named, file} {
		if err := os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	another, removeAnother, err := makeScratch(in)
	if err != nil {
		t.Fatal(err)
	}
	for path, stays := range map[string]bool{running: true, another: true, young: true, foreign: true, named: true, file: true, killed: false} {
		if _, err := os.Lstat(path); (err == nil) != stays {
			t.Errorf("%s: %v, want it to stay: %t", path, err, stays)
		}
	}
	removeAnother()
	if _, err := os.Lstat(another); err == nil {
		t.Error("a directory outlasts its process")
	}
}
