//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package journal

import "os"

// lock would take a file for this process alone, which it can't here.
func lock(*os.File) (bool, error) { return true, nil }
