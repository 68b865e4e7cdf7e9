//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
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

// TestTwoInOneLogDirectory: a second fleetrun whose logs would replace those of one that runs is refused by the first one's name; behind it, or
// when that was killed, the next begins.
//
// Promise: [G8] a second fleetrun with the log directory of one that runs is refused
func TestTwoInOneLogDirectory(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho $1; while [ $1 = first ] && [ -e wait ]; do sleep .1; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(name string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "fleetrun", "--server_num=1", "--worker_num=1", program, name)
		cmd.Dir = dir
		return cmd
	}
	log := func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "log", "workerlog.0"))
		return string(text)
	}
	for _, kill := range []bool{false, true} {
		wait := filepath.Join(dir, "wait")
		if err := os.WriteFile(wait, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		first := run("first")
		out, err := first.StdoutPipe()
		if err == nil {
			err = first.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "first\n" {
			t.Fatal(line, err)
		}
		said, err := run("second").CombinedOutput()
		if err == nil || !strings.Contains(string(said), fmt.Sprintf("--log_dir=log has the logs of another fleetrun: checkpoint: another job saves here: process %d ", first.Process.Pid)) {
			t.Errorf("%v: %s", err, said)
		}
		if got := log(); got != "first\n" {
			t.Errorf("the first one's log has %q", got)
		}
		if kill {
			first.Process.Kill()
		}
		os.Remove(wait)
		if err := first.Wait(); (err == nil) == kill {
			t.Error(err)
		}
		if said, err := run("third").CombinedOutput(); err != nil || log() != "third\n" {
			t.Errorf("%v: %s", err, said)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "log", ".*")); left != nil {
		t.Errorf("%q is left", left)
	}
}
