//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// harness is the other end of a script's roles. Each role, and each child of one, holds a connection as long as it lives, so
// that the end of a process is seen without looking for it, and says there what it has come to.
type harness struct {
	listener net.Listener
	work     sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change of what is below
	open    []net.Conn
	lines   []string

	cmd            *exec.Cmd // fleetrun
	stdout, stderr bytes.Buffer
}

type harnessKey struct{}

func newHarness(env *testscript.Env) (*harness, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &harness{listener: l, changed: make(chan struct{})}
	env.Values[harnessKey{}] = h
	env.Defer(h.close)
	h.work.Go(h.accept)
	return h, nil
}

func (h *harness) close() {
	if h.cmd != nil && h.cmd.ProcessState == nil {
		h.cmd.Process.Kill()
		h.cmd.Wait()
	}
	h.listener.Close()
	h.mu.Lock()
	for _, c := range h.open {
		c.Close()
	}
	h.mu.Unlock()
	h.work.Wait()
}

func (h *harness) accept() {
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.change(func() { h.open = append(h.open, conn) })
		h.work.Go(func() { h.listen(conn) })
	}
}

func (h *harness) listen(conn net.Conn) {
	for s := bufio.NewScanner(conn); s.Scan(); {
		h.change(func() { h.lines = append(h.lines, s.Text()) })
	}
	h.change(func() { h.open = slices.DeleteFunc(h.open, func(c net.Conn) bool { return c == conn }) })
}

func (h *harness) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
	close(h.changed)
	h.changed = make(chan struct{})
}

// brokenAfter is how long a script waits. It is for a broken fleetrun only: a busy machine needs a minute at times.
const brokenAfter = 3 * time.Minute

// until waits for a state of the roles.
func (h *harness) until(state func() bool) error {
	limit := time.NewTimer(brokenAfter)
	defer limit.Stop()
	for {
		h.mu.Lock()
		reached, changed := state(), h.changed
		h.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-changed:
		case <-limit.C:
			h.mu.Lock()
			defer h.mu.Unlock()
			return fmt.Errorf("not reached: %d roles alive, which said %q\nfleetrun: %s", len(h.open), h.lines, &h.stderr)
		}
	}
}

func (h *harness) said(line string) int {
	n := 0
	for _, l := range h.lines {
		if l == line {
			n++
		}
	}
	return n
}

func of(ts *testscript.TestScript) *harness { return ts.Value(harnessKey{}).(*harness) }

// start args…: starts fleetrun, in the background.
func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	h := of(ts)
	path, err := exec.LookPath("fleetrun")
	ts.Check(err)
	h.stdout.Reset()
	h.stderr.Reset()
	h.cmd = exec.Command(path, args...)
	h.cmd.Dir = ts.MkAbs(".")
	h.cmd.Env = scriptEnv(ts)
	h.cmd.Stdout, h.cmd.Stderr = &h.stdout, &h.stderr
	ts.Check(h.cmd.Start())
}

// scriptEnv is the environment of a script as far as fleetrun and roles care.
func scriptEnv(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GOCACHE", "GOPATH", "GOMODCACHE", "GOROOT", "GOPROXY", "GOTOOLCHAIN",
		"GORACE", "GOCOVERDIR", "ROLE", "ROLE_REPORT", "POD_IP", "PADDLE_TRAINER_ID", "PADDLE_WITH_GLOO", "TRAINING_ROLE", "FLEET_TOKEN"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// await text [n]: waits until n roles (1 if unsaid) have said text.
func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	h, n := of(ts), 1
	if len(args) == 2 {
		var err error
		n, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	ts.Check(h.until(func() bool { return h.said(args[0]) >= n }))
}

// tell text: says text to every role that lives.
func cmdTell(ts *testscript.TestScript, _ bool, args []string) {
	h := of(ts)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.open {
		_, err := io.WriteString(c, args[0]+"\n")
		ts.Check(err)
	}
}

// signal INT|TERM|HUP|KILL: to fleetrun.
func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}
	ts.Check(of(ts).cmd.Process.Signal(signals[args[0]]))
}

// ended code: waits for fleetrun's end and checks its exit code (-1: killed). stdout and stderr are then fleetrun's.
func cmdEnded(ts *testscript.TestScript, _ bool, args []string) {
	h := of(ts)
	late := time.AfterFunc(brokenAfter, func() { h.cmd.Process.Kill() })
	err := h.cmd.Wait()
	if !late.Stop() {
		ts.Fatalf("fleetrun had not ended after %v:\n%s", brokenAfter, &h.stderr)
	}
	if _, isExit := errors.AsType[*exec.ExitError](err); !isExit {
		ts.Check(err)
	}
	ts.Stdout().Write(h.stdout.Bytes())
	ts.Stderr().Write(h.stderr.Bytes())
	if code := strconv.Itoa(h.cmd.ProcessState.ExitCode()); code != args[0] {
		ts.Fatalf("fleetrun ended with %s, not %s:\n%s", code, args[0], &h.stderr)
	}
}

// gone: no role and no child of one is alive. It waits for those that are just being killed.
func cmdGone(ts *testscript.TestScript, _ bool, _ []string) {
	h := of(ts)
	ts.Check(h.until(func() bool { return len(h.open) == 0 }))
}

// listenOnly returns an address where roles may report and nobody listens to what they say.
func listenOnly(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}
