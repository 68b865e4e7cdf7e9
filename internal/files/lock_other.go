//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package files

import (
	"errors"
	"os"
)

// TryLock returns [errors.ErrUnsupported]: this system has no such locks.
func TryLock(*os.File) (locked bool, err error) { return false, errors.ErrUnsupported }
