//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneScreenShowsWhatComesFirstFirst: where fleetrun's two streams go to one place, so do those of the worker on the console, so that the last
// line of a job is its result, and no line of its log that was written before.
func TestOneScreenShowsWhatComesFirstFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	const script = "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\ndo echo INFO $i >&2; echo result $i; done\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, line := range strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20") {
		want.WriteString("INFO " + line + "\nresult " + line + "\n")
	}
	for range 5 {
		cmd := exec.CommandContext(t.Context(), "fleetrun", "--server_num=1", "--worker_num=2", program)
		cmd.Dir = dir
		said, err := cmd.CombinedOutput()
		if err != nil || !strings.HasSuffix(string(said), want.String()) {
			t.Fatalf("%v: the screen has\n%s", err, said)
		}
		if log, err := os.ReadFile(filepath.Join(dir, "log", "workerlog.0")); string(log) != want.String() {
			t.Fatalf("%v: the log has\n%s", err, log)
		}
	}
}
