package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/porttest"
)

// movable is an address whose process may move: connections go to where it is then, and end when it moves.
type movable struct {
	net.Listener
	mu  sync.Mutex
	to  string
	all []net.Conn
}

func movableAddress(t *testing.T, to string) *movable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &movable{Listener: l, to: to}
	t.Cleanup(func() { l.Close(); m.move("") })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(c)
		}
	}()
	return m
}

func (m *movable) serve(c net.Conn) {
	defer c.Close()
	m.mu.Lock()
	to := m.to
	m.all = append(m.all, c)
	m.mu.Unlock()
	d, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer d.Close()
	go func() { _, _ = io.Copy(d, c); d.Close() }()
	_, _ = io.Copy(c, d)
}

func (m *movable) move(to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.all {
		c.Close()
	}
	m.to, m.all = to, nil
}

// TestAServerIsReplaced: a server stands still (SIGSTOP), another process comes back from its journal where no lock
// keeps it out, and the first goes on (SIGCONT) while both live. It ends by itself, and the job comes to the weights of
// one that nobody disturbed, bit for bit.
//
// Promise: [G6] a server goes on elsewhere with its volume while its first process lives and no lock reaches both:
// each writes files of its own life, and loses nothing by the other
// Also: TestAServerIsReplaced (fleet), TestLives (internal/journal), TestChained (internal/journal)
func TestAServerIsReplaced(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains a model twice, as processes")
	}
	s, dir := survivor{bin: built(t)}, t.TempDir()
	calm := undisturbed(t, s.bin)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	ports := porttest.Kept(t, 3)
	address := movableAddress(t, ports[1])
	args := append(s.program(dir)[1:], "-journal="+dir+"/journal",
		`-strategy={"worker_timeout": "5m"}`) // worker 0 stands still for as long as it takes, and is not to be dead
	role := func(kind string, index int, more ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
		cmd, stderr = exec.CommandContext(ctx, s.bin, args...), new(bytes.Buffer)
		cmd.Dir, cmd.Stderr = dir, stderr
		cmd.Env = append(inherit(os.Environ(), nil), append(more, "GOMAXPROCS=1", "FLEET_WORKERS=2", "FLEET_ROLE="+kind,
			"FLEET_SERVERS="+ports[0]+","+address.Addr().String(), fmt.Sprint("FLEET_INDEX=", index))...)
		return cmd, stderr
	}
	zero, zeroSaid := role("server", 0)
	first, firstSaid := role("server", 1, "FLEET_LISTEN="+ports[1])
	second, _ := role("server", 1, "FLEET_LISTEN="+ports[2])
	lead, leadSaid := role("worker", 0)
	other, otherSaid := role("worker", 1)
	said, err := lead.StdoutPipe()
	if err = errors.Join(err, zero.Start(), first.Start(), lead.Start(), other.Start()); err != nil {
		t.Fatal(err)
	}
	signal := func(cmd *exec.Cmd, s syscall.Signal) {
		if err := cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	var stdout strings.Builder
	moved := false
	for lines := bufio.NewScanner(io.TeeReader(said, &stdout)); lines.Scan(); {
		if moved || !strings.Contains(lines.Text(), "epoch 2/6") {
			continue
		}
		moved = true
		signal(lead, syscall.SIGSTOP) // the job is not to end meanwhile
		signal(first, syscall.SIGSTOP)
		if err := os.Remove(filepath.Join(dir, "journal", "server-1-of-2.lock")); err != nil {
			t.Error(err)
		}
		address.move(ports[2])
		second.Stderr = nil
		log, err := second.StderrPipe()
		if err = errors.Join(err, second.Start()); err != nil {
			t.Fatal(err)
		}
		var secondSaid strings.Builder
		for lines := bufio.NewScanner(io.TeeReader(log, &secondSaid)); lines.Scan(); {
			if strings.Contains(lines.Text(), "has come back to where it was") {
				go func() { _, _ = io.Copy(io.Discard, log) }()
				break
			}
		}
		signal(first, syscall.SIGCONT)
		if err := first.Wait(); first.ProcessState.ExitCode() != 1 || !strings.Contains(firstSaid.String(), "another process has this server's place") {
			t.Errorf("the first ends with %v\n%s\nthe second said\n%s", err, firstSaid, &secondSaid)
		}
		signal(lead, syscall.SIGCONT)
	}
	if err := errors.Join(lead.Wait(), other.Wait(), zero.Wait(), second.Wait()); err != nil || !moved {
		t.Fatalf("the job ends with %v, moved: %t\n%s\n%s\n%s\n%s", err, moved, &stdout, leadSaid, otherSaid, zeroSaid)
	}
	o := survived{auc: regexp.MustCompile(`test AUC \S+`).FindString(stdout.String())}
	if o.weights, err = os.ReadFile(filepath.Join(dir, "out", "model", "weights.safetensors")); err != nil {
		t.Fatal(err)
	}
	o.equals(t, calm)
	if left, err := filepath.Glob(filepath.Join(dir, "journal", "server-1-of-2.0*")); err != nil || len(left) > 0 {
		t.Errorf("of the journal %q are left, %v", left, err)
	}
}
