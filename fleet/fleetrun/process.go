package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// process is a running role. It leads a process group, which ends with it.
type process struct {
	role  role
	cmd   *exec.Cmd
	log   *os.File
	pipes []*pipe // to the console and the log, for a role on the console
}

// startProcess starts a role with its output in log, which it then owns, and on the console shown, if it is not nil.
func startProcess(cmd *exec.Cmd, r role, log *os.File, shown *console) (*process, error) {
	p := &process{role: r, cmd: cmd, log: log}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ownGroup()
	err := p.show(shown)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("cannot start %v: %w", r, err)
	}
	for _, pipe := range p.pipes {
		pipe.start()
	}
	return p, nil
}

// show copies the output to the console, if there is one: through one pipe if both streams go to one place, since two
// pipes would lose the order of writing.
func (p *process) show(con *console) error {
	if con == nil {
		return nil
	}
	out, err := newPipe(newTee(con.out, p.log, con))
	if err != nil {
		return err
	}
	p.pipes = append(p.pipes, out)
	p.cmd.Stdout, p.cmd.Stderr = out.w, out.w
	if con.one {
		return nil
	}
	errs, err := newPipe(newTee(con.err, p.log, con))
	if err != nil {
		return err
	}
	p.pipes = append(p.pipes, errs)
	p.cmd.Stderr = errs.w
	return nil
}

// wait returns when the process has ended, its group was killed and its output was read.
func (p *process) wait() exit {
	err := p.cmd.Wait()
	killGroup(p.cmd.Process)
	p.close()
	e := exitOf(p.role, p.cmd.ProcessState, err)
	if e.code == exitUsage && panicked(p.log.Name()) {
		e.how, e.panicked = "exit code 2, a panic", true
	}
	return e
}

func (p *process) close() {
	for _, pipe := range p.pipes {
		pipe.close()
	}
	p.log.Close()
}

// exit is how a role ended.
type exit struct {
	role role
	code int // as in a shell: 128 and the signal's number if a signal ended it
	how  string
	// panicked reports that the code is of a Go program that crashed, not of one with an invalid command line.
	panicked bool
}

func exitOf(r role, state *os.ProcessState, err error) exit {
	if state == nil { // the system lost its state
		return exit{role: r, code: exitFailure, how: fmt.Sprint(err)}
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return exit{role: r, code: 128 + int(ws.Signal()), how: killedBy(ws.Signal())}
	}
	if code := state.ExitCode(); code != 0 {
		return exit{role: r, code: code, how: fmt.Sprintf("exit code %d", code)}
	}
	return exit{role: r, how: "exit code 0"}
}

func killedBy(s syscall.Signal) string {
	if s == syscall.SIGKILL {
		return "killed (signal 9), perhaps because the machine is out of memory"
	}
	return fmt.Sprintf("signal %d, %v", int(s), s)
}
