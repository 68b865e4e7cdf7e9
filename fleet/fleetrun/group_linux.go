package main

import "syscall"

// ownGroup makes a process the leader of a new group, out of reach of the terminal's ^C, and lets it die with fleetrun
// (with fleetrun's thread that started it, to be exact).
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
