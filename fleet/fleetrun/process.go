package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// process is a role that runs. Its group, which it leads, ends with it.
type process struct {
	role  role
	cmd   *exec.Cmd
	log   *os.File
	pipes []*pipe // to the console and the log, for a role on the console
}

// startProcess starts a role with its output in log, which it takes over. shown, if any, sees the output too.
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

// show leads the output over the console, if there is one: by one pipe where both streams come to one place, since of
// two pipes the order of writing is not known.
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

// wait returns when the process has ended, with nothing left of its group and its output read.
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
	code int // as a shell gives it: 128 and the signal's number where there was one
	how  string
	// panicked says that the code is that of a Go program which crashed, and not of one whose command line makes no
	// sense.
	panicked bool
}

func exitOf(r role, state *os.ProcessState, err error) exit {
	if state == nil { // the system lost it
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
