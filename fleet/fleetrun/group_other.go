//go:build unix && !linux

package main

import "syscall"

// ownGroup makes a process the leader of a new group, out of reach of the terminal's ^C.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
