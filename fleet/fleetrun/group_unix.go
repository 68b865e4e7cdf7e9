//go:build unix

package main

import (
	"os"
	"syscall"
)

// terminateGroup asks a process and its children to end.
func terminateGroup(leader *os.Process) { syscall.Kill(-leader.Pid, syscall.SIGTERM) }

// killGroup ends a process and its children, or what is left of them. With nothing left it does nothing.
func killGroup(leader *os.Process) { syscall.Kill(-leader.Pid, syscall.SIGKILL) }
