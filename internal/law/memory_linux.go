package law

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// InMemory runs the tests of a package that writes many files, with a temporary directory in memory where there is room
// for it and programs may run, unless TMPDIR names one: a disk costs tests up to a fifth of their time.
func InMemory(m *testing.M) int {
	const memory, noExec = "/dev/shm", 8 // ST_NOEXEC of statvfs
	var fs syscall.Statfs_t
	err := syscall.Statfs(memory, &fs)
	if os.Getenv("TMPDIR") != "" || err != nil || fs.Flags&noExec != 0 || fs.Bavail*uint64(fs.Bsize) < 3e9 {
		return m.Run()
	}
	left, _ := filepath.Glob(memory + "/gofleet-*") // tests that were killed have left these
	for _, dir := range left {
		if at, err := os.Stat(dir); err == nil && time.Since(at.ModTime()) > 24*time.Hour {
			os.RemoveAll(dir)
		}
	}
	dir, err := os.MkdirTemp(memory, "gofleet-")
	if err != nil {
		return m.Run()
	}
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	return m.Run()
}
