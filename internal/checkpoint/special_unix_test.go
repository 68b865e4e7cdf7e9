//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPartsAreRegularFiles puts pipes, devices and directories in the places of a checkpoint's files: a load says so at once, where
// it would wait for a writer, or read for ever. A file of another size is one too, whatever it holds.
//
// Promise: [G12] a file in the place of a checkpoint's or model's that is no regular one is refused at once
// Also: TestModelsAreRegularFiles (internal/modelfiles)
func TestPartsAreRegularFiles(t *testing.T) {
	for what, put := range map[string]func(name string) error{
		"a named pipe": func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"a device":     func(name string) error { return os.Symlink("/dev/zero", name) },
		"a directory":  func(name string) error { return os.Mkdir(name, 0o700) },
	} {
		for _, part := range []bool{true, false} {
			dir := t.TempDir()
			file := manifestName
			if m := save(t, dir, "a", trained(t, 2)); part {
				file = m.Parts[1].File
			}
			name := filepath.Join(dir, file)
			check(t, os.Remove(name))
			check(t, put(name))
			_, err := Load(t.Context(), dir, stores(t, 1)[0], rule, model(), everything)
			if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), file) {
				t.Errorf("%s is %s: got %v", file, what, err)
			}
		}
	}
	dir := t.TempDir()
	m := save(t, dir, "a", trained(t, 2))
	check(t, os.Truncate(filepath.Join(dir, m.Parts[0].File), 1<<40)) // a hole
	_, err := Load(t.Context(), dir, stores(t, 1)[0], rule, model(), everything)
	if err == nil || !strings.Contains(err.Error(), "1099511627776 bytes, the manifest says") {
		t.Errorf("a part of 1 TiB: got %v", err)
	}
}
