package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// Commit checks that every part of m is in dir, makes m the directory's checkpoint, and removes the parts of the
// checkpoint that it replaces. Files of processes that ended during a save are removed when they are old: younger ones
// may belong to another job's save.
func Commit(dir string, m Manifest) error {
	for _, p := range m.Parts {
		if err := visible(dir, p); err != nil {
			return err
		}
	}
	before, _ := Read(dir) // a manifest that can't be read is replaced
	m.Format, m.Version, m.Saved = format, version, time.Now().UTC()
	if m.Base != nil {
		if _, err := wholeChain(dir, m); err != nil {
			return err
		}
	}
	text, err := files.Sign(&m, &m.Sum)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	// Files in dir are durable only if the entry of dir itself is.
	if err := on(context.Background(), dir).SyncDir(files.Dir(dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	name := files.Join(dir, manifestName)
	if _, err := files.Publish(context.Background(), disk, name, before.at, text); err != nil {
		if errors.Is(err, files.ErrChanged) {
			err = fmt.Errorf("%w: another process has saved into %s meanwhile: %w", ErrTaken, dir, err)
		}
		return fmt.Errorf("checkpoint: %w", err)
	}
	// The checkpoint is complete: what can't be removed now is removed by the next Commit or the next claim of dir.
	_ = removeFiles(dir, func(name string) bool {
		return !m.has(name) &&
			(before.has(name) || !young(files.Join(dir, name)))
	})
	return nil
}
