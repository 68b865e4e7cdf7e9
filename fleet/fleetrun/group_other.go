//go:build unix && !linux

package main

import "syscall"

// ownGroup makes a process the leader of a new group, which the terminal's ^C does not reach.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
