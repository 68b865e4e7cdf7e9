package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/gofleet/gofleet/internal/files"
)

// Pin keeps a complete checkpoint: no job removes it, however many are newer. A job that removes a checkpoint moves the
// manifest away, looks for a pin, and moves it back if there is one. So Pin looks for the manifest after it has written
// the pin: if the manifest is there, the pin holds.
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

// Unpin removes the pin: the job's next checkpoint may remove this one.
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

// Pinned reports whether a checkpoint is pinned, true if it could not find out.
func Pinned(dir string) bool {
	is, err := isThere(files.Join(dir, pinName))
	return is || err != nil
}
