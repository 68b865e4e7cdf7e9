//go:build linux || darwin

package main

import "syscall"

// openFiles is how many files a process may have open at a time.
func openFiles() (n uint64, known bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return limit.Cur, err == nil
}

// freeSpace is what a user may still write in a directory's file system, in bytes.
func freeSpace(dir string) (n int64, known bool) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	return int64(s.Bavail) * int64(s.Bsize), err == nil
}
