package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a pseudo-terminal: what is written to the inner one is seen on the outer.
func openTerminal(t *testing.T) (outer, inner *os.File) {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	t.Cleanup(func() { outer.Close() })
	if err := unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	n, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	inner, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	t.Cleanup(func() { inner.Close() })
	return outer, inner
}

// On a terminal worker 0 is told that somebody watches, and its line moves; its log has lines, and the others' too.
func TestTerminal(t *testing.T) {
	t.Parallel()
	report := listenOnly(t)
	outer, inner := openTerminal(t)
	dir := t.TempDir()
	if err := unix.IoctlSetWinsize(int(inner.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 123}); err != nil {
		t.Fatal(err)
	}
	role, err := exec.LookPath("role")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("fleetrun", "--server_num=1", "--worker_num=2", role, "all:env", "worker:bar")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "ROLE_REPORT="+report, "GORACE=atexit_sleep_ms=0")
	cmd.Stdout = inner
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inner.Close()
	screen, _ := io.ReadAll(outer) // ends with an error when the last writer has gone
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, screen)
	}
	for _, want := range []string{"FLEET_PROGRESS=live", "COLUMNS=123", "\r\x1b[Kstep 1\r\x1b[Kstep 2\r\x1b[Kstep 3\r\n"} {
		if !strings.Contains(string(screen), want) {
			t.Errorf("%q is not on the screen:\n%q", want, screen)
		}
	}
	for name, want := range map[string]string{"workerlog.0": "live", "workerlog.1": "plain", "serverlog.0": "plain"} {
		log, err := os.ReadFile(filepath.Join(dir, "log", name))
		if err != nil || !strings.Contains(string(log), "FLEET_PROGRESS="+want+"\n") {
			t.Errorf("%s: %v\n%s", name, err, log)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "log", "workerlog.0"))
	if err != nil || !strings.HasSuffix(string(log), "step 1\nstep 3\n") {
		t.Errorf("workerlog.0: %v\n%q", err, log)
	}
}
