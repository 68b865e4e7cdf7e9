//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package main

// lockDir can't lock a directory here: directories of killed processes stay.
func lockDir(string) (unlock func(), locked bool) { return func() {}, false }
