package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// Commit checks that every part of m is in dir, makes m the directory's checkpoint, and removes the parts of the one
// that it replaces. What processes that ended in the middle of a save have left goes when it is old: it may be what
// another job is about to commit.
func Commit(dir string, m Manifest) error {
	for _, p := range m.Parts {
		if err := visible(dir, p); err != nil {
			return err
		}
	}
	before, _ := Read(dir) // one that can't be read is replaced
	m.Format, m.Version, m.Saved = format, version, time.Now().UTC()
	if m.Base != nil {
		m.Version = basedVersion
		if _, err := wholeChain(dir, m); err != nil {
			return err
		}
	}
	text, err := files.Sign(&m, &m.Sum)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	// Files in it are durable when its own name is.
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
	// What can't be removed now goes when the next is committed or the directory is claimed: this one is whole.
	_ = removeFiles(dir, func(name string) bool {
		return !m.has(name) &&
			(before.has(name) || !young(files.Join(dir, name)))
	})
	return nil
}
