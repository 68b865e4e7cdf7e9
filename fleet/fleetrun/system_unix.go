//go:build linux || darwin

package main

import "syscall"

// openFiles is the number of files that a process may have open at a time.
func openFiles() (n uint64, known bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return limit.Cur, err == nil
}

// freeSpace is the free space of a directory's file system for this user, in bytes.
func freeSpace(dir string) (n int64, known bool) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	return int64(s.Bavail) * int64(s.Bsize), err == nil
}
