//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"os"
	"syscall"
)

// TryLock locks a file for whoever has opened it here, until it is closed: also by the end of the process. works is false where the file
// system has no such locks. Across machines it depends on how a network file system is mounted.
func TryLock(f *os.File) (locked, works bool) {
	for {
		switch syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) {
		case nil:
			return true, true
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return false, true
		default:
			return false, false
		}
	}
}
