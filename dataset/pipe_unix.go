//go:build unix

package dataset

import (
	"os/exec"
	"syscall"
)

// groupOf makes a command the leader of a process group.
func groupOf(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a command and all processes that it has started.
func killGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
