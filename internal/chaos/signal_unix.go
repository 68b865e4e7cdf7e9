//go:build unix

package main

import (
	"fmt"
	"syscall"
)

var signals = map[string]syscall.Signal{"SIGKILL": syscall.SIGKILL, "SIGTERM": syscall.SIGTERM,
	"SIGSTOP": syscall.SIGSTOP, "SIGCONT": syscall.SIGCONT, "SIGQUIT": syscall.SIGQUIT}

// signalTo sends a signal to a process.
func signalTo(pid int, name string) error {
	if err := syscall.Kill(pid, signals[name]); err != nil {
		return fmt.Errorf("chaos: %s to process %d: %w", name, pid, err)
	}
	return nil
}
