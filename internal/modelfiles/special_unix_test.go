//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package modelfiles

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestModelsAreRegularFiles puts a pipe and a device in the place of each file of a model, and beside them: Open says so at once, where
// it would wait for a writer, or read for ever.
func TestModelsAreRegularFiles(t *testing.T) {
	for what, put := range map[string]func(name string) error{
		"a named pipe": func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"a device":     func(name string) error { return os.Symlink("/dev/zero", name) },
	} {
		for _, file := range []string{Graph, Weights, Record, "stray.safetensors"} {
			dir := t.TempDir()
			numbered(1).save(t, dir)
			name := filepath.Join(dir, file)
			os.Remove(name)
			check(t, put(name))
			if _, err := Open(context.Background(), dir); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), file) {
				t.Errorf("%s is %s: got %v", file, what, err)
			}
		}
	}
}
