//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package modelfiles

// lock does nothing: this system has no locks that would keep other processes from committing to the directory.
func lock(string) (unlock func()) { return func() {} }
