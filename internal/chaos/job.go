package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/proc"
)

// bound is how long a job may take, with all events.
const bound = 4 * time.Minute

// job is a job under fleetrun, which is started again if it was ended itself.
type job struct {
	stage    *stage
	dir      string
	args     []string // the program's, with its name
	restarts int      // of all roles
	returns  int      // of servers alone
	events   []event
	far      func() int64 // returns how many steps the job has made

	mu       sync.Mutex
	fleetrun *os.Process
	ended    bool // fleetrun was killed or terminated
	done     []struck
}

// struck is an event that has happened.
type struck struct {
	event
	at  time.Time
	pid int
}

// outcome is how a job has ended.
type outcome struct {
	dir    string
	code   int    // the exit code of the last fleetrun
	said   string // the standard error of all fleetruns
	stdout string
	struck []struck
	hung   bool
	err    error // the job could not be run
	auc    string
	bits   []byte
}

// play runs the job until it has ended.
func (j *job) play(ctx context.Context) (o outcome) {
	o.dir = j.dir
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	var strikers sync.WaitGroup
	stopped, stop := context.WithCancel(ctx)
	for _, e := range j.events {
		strikers.Go(func() { j.strike(stopped, e) })
	}
	for again := true; again && o.err == nil; {
		again = j.once(ctx, &o)
	}
	stop()
	strikers.Wait()
	o.struck, o.hung = j.done, ctx.Err() != nil
	return o
}

// once runs a fleetrun; again is true if an event has ended it.
func (j *job) once(ctx context.Context, o *outcome) (again bool) {
	args := append([]string{"--max_restart=" + strconv.Itoa(j.restarts), "--restart_servers=" + strconv.Itoa(j.returns),
		"--grace=3s", "--server_num=2", "--worker_num=2"}, j.args...)
	cmd := exec.Command(filepath.Join(j.stage.bin, "fleetrun"), args...)
	cmd.Dir = j.dir
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if o.err = cmd.Start(); o.err != nil {
		return false
	}
	j.mu.Lock()
	j.fleetrun, j.ended = cmd.Process, false
	j.mu.Unlock()
	over := context.AfterFunc(ctx, func() { j.giveUp(cmd.Process) })
	err := cmd.Wait()
	over()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fleetrun = nil
	o.code = cmd.ProcessState.ExitCode()
	o.stdout += stdout.String()
	o.said += stderr.String()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		o.err = err
	}
	if again = j.ended && o.code != 0 && ctx.Err() == nil; again {
		o.said += fmt.Sprintf("--- chaos: fleetrun has ended with %d, and is started again\n", o.code)
	}
	return again
}

// giveUp ends a job that hangs; its roles write their goroutines to their logs.
func (j *job) giveUp(fleetrun *os.Process) {
	for _, pid := range proc.Roles(fleetrun.Pid) {
		_ = signalTo(pid, "SIGCONT")
		_ = signalTo(pid, "SIGQUIT")
	}
	time.Sleep(time.Second)
	_ = signalTo(fleetrun.Pid, "SIGCONT")
	_ = signalTo(fleetrun.Pid, "SIGKILL")
}

// look is the interval of checks how far a job is.
const look = 5 * time.Millisecond

// strike carries out an event when it is time.
func (j *job) strike(ctx context.Context, e event) {
	var pid int
	for {
		if awake.Rest(ctx, look) != nil {
			return
		}
		if j.far() >= e.after {
			if pid = j.process(e.whom); pid > 0 {
				break
			}
		}
	}
	if awake.Rest(ctx, e.late) != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if pid = j.processLocked(e.whom); pid == 0 {
		return // the process has ended meanwhile
	}
	at := time.Now()
	if signalTo(pid, signalOf[e.do]) != nil {
		return
	}
	if e.whom == "fleetrun" && e.do != pause {
		j.ended = true
	}
	j.done = append(j.done, struck{e, at, pid})
	if e.do == pause {
		time.AfterFunc(e.stops, func() { _ = signalTo(pid, "SIGCONT") })
	}
}

var signalOf = map[deed]string{kill: "SIGKILL", term: "SIGTERM", pause: "SIGSTOP"}

func (j *job) process(whom string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.processLocked(whom)
}

// processLocked returns the process of a role, or fleetrun's; 0 if there is none. mu is held.
func (j *job) processLocked(whom string) int {
	if j.fleetrun == nil {
		return 0
	}
	if whom == "fleetrun" {
		return j.fleetrun.Pid
	}
	return proc.Roles(j.fleetrun.Pid)[whom]
}
