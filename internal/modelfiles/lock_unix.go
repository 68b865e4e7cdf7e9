//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package modelfiles

import (
	"os"
	"syscall"
)

// lock keeps other processes from committing to the directory at the same time. On a file system without such locks it
// does nothing.
func lock(dir string) (unlock func()) {
	d, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for syscall.Flock(int(d.Fd()), syscall.LOCK_EX) == syscall.EINTR {
	}
	return func() { d.Close() }
}
