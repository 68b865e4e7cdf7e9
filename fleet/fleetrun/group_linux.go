package main

import "syscall"

// ownGroup makes a process the leader of a new group, which the terminal's ^C does not reach, and which dies with
// fleetrun (with the thread of fleetrun that started it, to be exact).
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
