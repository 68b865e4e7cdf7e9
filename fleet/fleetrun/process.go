package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// process is a role that runs. Its group, which it leads, ends with it.
type process struct {
	role role
	cmd  *exec.Cmd
	log  *os.File
	tees []*tee
}

// startProcess starts a role with its output in log, which it takes over. shown, if any, sees the output too.
func startProcess(cmd *exec.Cmd, r role, log *os.File, shown *console) (*process, error) {
	p := &process{role: r, cmd: cmd, log: log}
	cmd.Stdout, cmd.Stderr = log, log
	if shown != nil {
		out, err := newTee(shown.out, log, shown), newTee(shown.err, log, shown)
		p.tees = []*tee{out, err}
		cmd.Stdout, cmd.Stderr = out, err
	}
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = drainTime
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("cannot start %v: %w", r, err)
	}
	return p, nil
}

// wait returns when the process has ended, with nothing left of its group.
func (p *process) wait() exit {
	err := p.cmd.Wait()
	killGroup(p.cmd.Process)
	for _, t := range p.tees {
		t.Close()
	}
	p.log.Close()
	return exitOf(p.role, p.cmd.ProcessState, err)
}

// exit is how a role ended.
type exit struct {
	role role
	code int // as a shell gives it: 128 and the signal's number where there was one
	how  string
}

func exitOf(r role, state *os.ProcessState, err error) exit {
	if state == nil { // the system lost it
		return exit{r, exitFailure, fmt.Sprint(err)}
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return exit{r, 128 + int(ws.Signal()), killedBy(ws.Signal())}
	}
	if code := state.ExitCode(); code != 0 {
		return exit{r, code, fmt.Sprintf("exit code %d", code)}
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return exit{r, exitFailure, err.Error()}
	}
	return exit{role: r, how: "exit code 0"}
}

func killedBy(s syscall.Signal) string {
	if s == syscall.SIGKILL {
		return "killed (signal 9), perhaps because the machine is out of memory"
	}
	return fmt.Sprintf("signal %d, %v", int(s), s)
}
