package files

import (
	"os"
	"syscall"
)

// writeBack has the system begin to write a piece of a file. It says nothing of when that is done: Sync does.
func writeBack(f Temp, from, n int64) {
	const begin = 2 // SYNC_FILE_RANGE_WRITE
	if f, ok := f.(*os.File); ok {
		_ = syscall.SyncFileRange(int(f.Fd()), from, n, begin) // where that is not known, Sync writes all
	}
}
