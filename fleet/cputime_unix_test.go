//go:build unix

package fleet_test

import (
	"syscall"
	"time"
)

// cpuTime is what the process has used of all CPUs, in user and in system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
