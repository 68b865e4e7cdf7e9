package journal

import (
	"os"
	"strings"
)

// boot names the start of this machine since which its operating system has run, on Linux; elsewhere it is empty, and never differs.
func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
