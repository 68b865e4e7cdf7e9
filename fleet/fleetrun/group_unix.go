//go:build unix

package main

import (
	"os"
	"syscall"
)

// terminateGroup asks a process and its children to end.
func terminateGroup(leader *os.Process) { syscall.Kill(-leader.Pid, syscall.SIGTERM) }

// killGroup ends a process and its children, or those that are left. If none are left it does nothing.
func killGroup(leader *os.Process) { syscall.Kill(-leader.Pid, syscall.SIGKILL) }
