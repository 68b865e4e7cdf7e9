package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// boot names the start of this machine since which its operating system has run, on Linux; elsewhere it is empty, and
// never differs.
func boot() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("journal: which start of the machine this is: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}
