//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package files

import (
	"errors"
	"os"
)

// TryLock locks a file for its opener here, which it can't on this system.
func TryLock(*os.File) (locked bool, err error) { return false, errors.ErrUnsupported }
