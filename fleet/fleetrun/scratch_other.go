//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package main

// lockDir would lock a directory, which can't be done here: what a killed process leaves stays.
func lockDir(string) (unlock func(), locked bool) { return func() {}, false }
