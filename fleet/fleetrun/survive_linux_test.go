package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/internal/proc"
)

// TestAJobSurvives kills a role of a real job with kill -9 when its second epoch has ended: fleetrun starts all again, they go on behind
// an epoch that all had ended, and come to the weights of a job that nobody disturbed, bit for bit. A server with a journal is started
// again alone, and the others never notice. So is a worker of mode async, which goes on behind what it had pushed.
//
// Promise: [G5] a job of real processes survives kills of its roles under fleetrun's flags
func TestAJobSurvives(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains a model several times, as processes")
	}
	bin := built(t)
	calm := undisturbed(t, bin)
	for _, s := range trial.Some(t, []survivor{
		{victim: "server 0"}, {victim: "server 1"}, {victim: "worker 0"}, {victim: "worker 1"},
		{victim: "server 0", journal: true}, {victim: "server 1", journal: true}, {victim: "worker 1", alone: true},
	}) {
		s.bin = bin
		switch {
		case s.journal:
			t.Run(s.victim+" with a journal", func(t *testing.T) {
				o := s.run(t)
				o.cameBack(t, s.victim)
				o.equals(t, calm)
			})
		case s.alone:
			t.Run(s.victim+" alone", func(t *testing.T) {
				o := s.run(t)
				o.cameBack(t, s.victim)
				if !regexp.MustCompile(`worker 1 goes on after epoch [1-6]/6 and [\d,]+ examples`).MatchString(o.log) {
					t.Errorf("worker 1 said\n%s", o.log)
				}
			})
		default:
			t.Run(s.victim, func(t *testing.T) {
				o := s.run(t)
				if !strings.Contains(o.stderr, s.victim+" failed: killed (signal 9)") || !strings.Contains(o.stderr, "attempt 2 of 4 begins") {
					t.Errorf("fleetrun said\n%s", o.stderr)
				}
				if !regexp.MustCompile(`worker 0 goes on after epoch [1-6]/6`).MatchString(o.stdout) {
					t.Errorf("worker 0 said\n%s", o.stdout)
				}
				o.equals(t, calm)
			})
		}
	}
}

// cameBack fails the test unless the victim was started again without the others.
func (o survived) cameBack(t *testing.T, victim string) {
	t.Helper()
	again := regexp.MustCompile(victim + ` failed: killed \(signal 9\).* It is started again alone`)
	if !again.MatchString(o.stderr) || strings.Contains(o.stderr, "attempt") {
		t.Errorf("fleetrun said\n%s", o.stderr)
	}
}

// calm is the job that nobody disturbs, once it was run.
var calm struct {
	sync.Mutex
	job *survived
}

// undisturbed is what becomes of a job that nobody disturbs.
func undisturbed(t *testing.T, bin string) survived {
	t.Helper()
	calm.Lock()
	defer calm.Unlock()
	if calm.job == nil {
		o := survivor{bin: bin}.run(t)
		calm.job = &o
	}
	return *calm.job
}

// TestAMachineIsLost kills a machine's fleetrun, and with it the machine's worker, in the middle of a job in sync that saves checkpoints, and
// types its command again: the roles of the other machine go back in their processes, and all come to the weights of a job that nobody
// disturbed, bit for bit.
//
// Promise: [G5] a job in sync goes back to its last checkpoint within its processes when a worker's machine is lost
func TestAMachineIsLost(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains a model twice, as processes")
	}
	s, dir := survivor{bin: built(t)}, t.TempDir()
	calm := undisturbed(t, s.bin)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	lists := []string{"--servers=" + strings.Join(porttest.Free(t, 2), ","), "--workers=127.0.0.1,127.0.0.2"}
	machine := func(address string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "fleetrun", append(lists, s.program(dir)...)...)
		cmd.Dir, cmd.Env = dir, append(inherit(os.Environ(), nil), "GOMAXPROCS=1", "POD_IP="+address)
		return cmd
	}
	one, two := machine("127.0.0.1"), machine("127.0.0.2")
	said, err := one.StdoutPipe()
	if err = errors.Join(err, one.Start(), two.Start()); err != nil {
		t.Fatal(err)
	}
	var stdout strings.Builder
	killed := false
	for lines := bufio.NewScanner(io.TeeReader(said, &stdout)); lines.Scan(); {
		if !killed && strings.Contains(lines.Text(), "epoch 2/6") {
			killed = true
			err = errors.Join(two.Process.Kill(), two.Wait())
			two = machine("127.0.0.2")
			if e := two.Start(); e != nil {
				t.Fatal(err, e)
			}
		}
	}
	if err := errors.Join(one.Wait(), two.Wait()); err != nil || !killed {
		t.Fatalf("the job ends with %v, killed: %t\n%s", err, killed, &stdout)
	}
	o := survived{auc: regexp.MustCompile(`test AUC \S+`).FindString(stdout.String())}
	if o.weights, err = os.ReadFile(filepath.Join(dir, "out", "model", "weights.safetensors")); err != nil {
		t.Fatal(err)
	}
	o.equals(t, calm)
	for _, role := range []string{"serverlog.0", "serverlog.1", "workerlog.0"} {
		log, err := os.ReadFile(filepath.Join(dir, "log", role))
		if err != nil || !bytes.Contains(log, []byte("goes back to the last checkpoint of the job")) {
			t.Errorf("%s: %v\n%s", role, err, log)
		}
	}
}

// build builds the program that the jobs run, once.
var build = sync.OnceValues(func() (program string, err error) {
	program = filepath.Join(programs, "wide_and_deep")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./examples/wide_and_deep")
	build.Dir = "../.."
	if said, e := build.CombinedOutput(); e != nil {
		err = fmt.Errorf("%w\n%s", e, said)
	}
	return program, err
})

// built is the program that the jobs run.
func built(t *testing.T) (program string) {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// equals fails the test unless both jobs came to the same model.
func (o survived) equals(t *testing.T, other survived) {
	t.Helper()
	if same := bytes.Equal(o.weights, other.weights); o.auc != other.auc || !same {
		t.Errorf("%s, undisturbed %s; the same weights: %t", o.auc, other.auc, same)
	}
}

// survivor is a job of which a role may be killed.
type survivor struct {
	bin, victim string
	journal     bool // servers come back alone
	alone       bool // workers do, in mode async
}

// survived is what became of it.
type survived struct {
	stdout, stderr, auc string
	log                 string // of worker 1
	weights             []byte
}

// program is the command line of a role.
func (s survivor) program(dir string) []string {
	return []string{s.bin, "-mode=sync", "-epochs=6", "-rows=6000", "-layers=16", "-batch=64",
		"-checkpoint=" + dir + "/checkpoints", "-checkpoint_every=1h", "-out=" + dir + "/out"}
}

// run runs the job, which must end well.
func (s survivor) run(t *testing.T) (o survived) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	restart, program := "--max_restart=3", s.program(dir)
	switch {
	case s.journal:
		restart, program = "--restart_servers=3", append(program, "-journal="+dir+"/journal")
	case s.alone:
		restart, program = "--restart_workers=3", append(program, "-mode=async")
	}
	args := append([]string{restart, "--grace=2s", "--server_num=2", "--worker_num=2"}, program...)
	cmd := exec.CommandContext(ctx, "fleetrun", args...)
	cmd.Dir = dir
	cmd.Env = append(inherit(os.Environ(), nil), "GOMAXPROCS=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var stdout strings.Builder
	killed := s.victim == ""
	for lines := bufio.NewScanner(io.TeeReader(said, &stdout)); lines.Scan(); {
		if !killed && strings.Contains(lines.Text(), "epoch 2/6") {
			killed = true
			s.kill(t, cmd.Process.Pid)
		}
	}
	if err := cmd.Wait(); err != nil || !killed {
		t.Fatalf("fleetrun: %v, killed: %t\n%s\n%s", err, killed, &stderr, &stdout)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log", "workerlog.1"))
	if err != nil {
		t.Fatal(err)
	}
	o.stdout, o.stderr, o.log = stdout.String(), stderr.String(), string(log)
	if o.auc = regexp.MustCompile(`test AUC \S+`).FindString(o.stdout); o.auc == "" {
		t.Errorf("no AUC in\n%s", o.stdout)
	}
	if o.weights, err = os.ReadFile(filepath.Join(dir, "out", "model", "weights.safetensors")); err != nil {
		t.Fatal(err)
	}
	return o
}

// kill kills the victim among the children of a fleetrun.
func (s survivor) kill(t *testing.T, fleetrun int) {
	t.Helper()
	pid, lives := proc.Roles(fleetrun)[s.victim]
	if !lives {
		t.Fatalf("there is no %s", s.victim)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// TestChaos plays jobs that leave a history: one whose metric is off fails, so does one that ends with an error, and a role is killed.
func TestChaos(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// calm is right, 1 is right once its role was killed, 2 has another value, 3 fails, and 4 ends before it has roles.
	job := filepath.Join(dir, "job")
	err := os.WriteFile(job, []byte(`#!/bin/bash
for a; do case $a in -out=*) out=${a#-out=};; esac; done
mkdir -p "$out"
auc=.9
case $out in
*/calm/*) sleep .3;;
*/1/*) TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0 sleep 5 && auc=.2;;
*/2/*) auc=.8;;
*/3/*) exit 4;;
esac
printf 'epoch,examples,test auc\n1,10,%s\n' $auc >"$out/history.csv"
`), 0o777)
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	c := chaos{self: job, job: []string{"program"}, within: .01, dir: dir, limit: time.Minute, console: &console{out: &out, err: &said}}
	failed, err := c.all(4, 1)
	if err != nil || failed != 3 || c.metric != "test auc" {
		t.Errorf("%d of 4 failed, error %v, by %q", failed, err, c.metric)
	}
	for _, want := range []string{`(?m)^     1 .* 0\.9 +(kill -9|SIGTERM) worker 0 at [\d.]+s.*: ok$`, `test auc is 0\.09999\d* from`, `fleetrun ended with exit status 4`, `(?m)^     4 .*FAILED: no role was struck`, `4 runs, 3 failed`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("there is no %s in\n%s", want, out.String())
		}
	}
	for _, args := range [][]string{{}, {"--runs=0", "x"}, {"--within=-1", "x"}, {"--server_num=2", "x"}} {
		if code := perform("chaos", args, c.console); code != exitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
