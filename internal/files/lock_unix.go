//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"os"
	"syscall"
)

// TryLock locks a file until it is closed or the process ends; locked is false if another opener has the lock. An error
// says that the file system has no such locks, [errors.ErrUnsupported] that this system has none. Whether the lock
// reaches other machines depends on how a network file system is mounted.
func TryLock(f *os.File) (locked bool, err error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case nil:
			return true, nil
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return false, nil
		default:
			return false, err
		}
	}
}
