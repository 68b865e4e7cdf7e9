//go:build unix

package rendezvous

import (
	"io/fs"
	"os"
	"syscall"
)

// onlyOurs reports whether only this user can write in the directory.
func onlyOurs(dir fs.FileInfo) bool {
	stat, ok := dir.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid() && dir.Mode().Perm()&0o022 == 0
}
