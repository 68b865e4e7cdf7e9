package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/gofleet/gofleet/internal/files"
)

// Pin keeps a whole checkpoint: no job removes it, however many are newer. A job that is about to remove this one takes
// the manifest away, looks for a pin, and puts it back if there is one: so the pin holds if the checkpoint is whole
// after it was set.
func Pin(dir string) error {
	if _, err := whole(dir); err != nil {
		where := ""
		if errors.Is(err, ErrNone) {
			where = near(dir)
		}
		return fmt.Errorf("checkpoint: %s can't be pinned: %w%s", dir, err, where)
	}
	text := func(w io.Writer) error {
		_, err := io.WriteString(w, "A job that prunes its checkpoints leaves this one.\n")
		return err
	}
	if err := files.WriteOn(on(context.Background(), dir), files.Join(dir, pinName), text); err != nil {
		return fmt.Errorf("checkpoint: pinning %s: %w", dir, err)
	}
	if _, err := files.Stat(files.Join(dir, manifestName)); err != nil {
		return errors.Join(fmt.Errorf("checkpoint: %s was removed while it was pinned: %w", dir, err), Unpin(dir))
	}
	return nil
}

// Unpin ends what Pin has begun: the next checkpoint of a job may remove this one.
func Unpin(dir string) error {
	if err := files.Check(dir); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	err := on(context.Background(), dir).Remove(files.Join(dir, pinName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Pinned reports whether a checkpoint stays. It does where that is not known.
func Pinned(dir string) bool {
	is, err := isThere(files.Join(dir, pinName))
	return is || err != nil
}
