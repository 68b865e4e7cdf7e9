//go:build unix

package torchtest

import (
	"syscall"
	"time"
)

// processorTime is what this process has had so far, of all cores.
func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
