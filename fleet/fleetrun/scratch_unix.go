//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"os"
	"syscall"
)

// lockDir locks a directory for the life of this process; locked is false if another process has it. Roles don't
// inherit the lock.
func lockDir(dir string) (unlock func(), locked bool) {
	d, err := os.Open(dir)
	if err != nil {
		return func() {}, false
	}
	if syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		d.Close()
		return func() {}, false
	}
	return func() { d.Close() }, true
}
