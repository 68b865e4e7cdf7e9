package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// boot identifies the machine's last start, on Linux; on other systems it is always empty.
func boot() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("journal: which start of the machine this is: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}
