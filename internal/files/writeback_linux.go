package files

import (
	"os"
	"syscall"
)

// writeBack has the system begin to write a range of a file to the disk. It does not wait for the end; Sync does.
func writeBack(f Temp, from, n int64) {
	const begin = 2 // SYNC_FILE_RANGE_WRITE
	if f, ok := f.(*os.File); ok {
		_ = syscall.SyncFileRange(int(f.Fd()), from, n, begin) // if that is not supported, Sync writes all
	}
}
