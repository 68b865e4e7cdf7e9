package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/files"
)

// Claims holds the directories that a job has saved into, so that no other job saves there while this one lives. The
// zero value has none.
type Claims struct {
	// Of is the same for all processes of a job that may claim a directory in turn; "" for none.
	Of   string
	once sync.Once
	turn chan struct{} // full while a call holds the turn; Take may wait for another job's end
	held []holder      // in the order of claims
}

// holder keeps a directory for this job, on a disk or in a store.
type holder interface {
	dir() string
	// held returns false if no job has the directory any more, and an error if another job has it.
	held(ctx context.Context) (bool, error)
	// certain reports whether the previous holder's process is sure to have ended. A machine that is only silent may
	// come back.
	certain() bool
	release()
}

// takeAny takes a directory on a disk or in a store.
func takeAny(ctx context.Context, dir, of string) (holder, error) {
	if files.IsURL(dir) {
		return takeLease(ctx, dir, of)
	}
	return take(ctx, dir, of)
}

// enter waits for the turn.
func (c *Claims) enter(ctx context.Context) error {
	c.once.Do(func() { c.turn = make(chan struct{}, 1) })
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Claims) leave() { <-c.turn }

// mostClaims bounds how many directories a job keeps; the oldest claim is released first.
const mostClaims = 16

// Take claims a directory, and makes it if it does not exist. An error that wraps [ErrTaken] names the job that has it.
// A job that was suspended for so long that another has taken the directory gets this error too, and may take the
// directory again when the other has ended.
func (c *Claims) Take(ctx context.Context, dir string) error {
	if err := files.Check(dir); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	dir, err := files.Abs(dir)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	is := func(h holder) bool { return h.dir() == dir }
	if i := slices.IndexFunc(c.held, is); i >= 0 {
		h := c.held[i]
		c.held = slices.Delete(c.held, i, i+1)
		still, err := h.held(ctx)
		if err == nil && still {
			c.held = append(c.held, h)
			return nil
		}
		if h.release(); err != nil {
			return err
		}
	}
	h, err := takeAny(ctx, dir, c.Of)
	if err != nil {
		return err
	}
	if err := sweep(dir, h.certain()); err != nil {
		slog.Warn("files of unfinished saves could not be removed", "dir", dir, "error", err)
	}
	if c.held = append(c.held, h); len(c.held) > mostClaims {
		c.held[0].release()
		c.held = slices.Delete(c.held, 0, 1)
	}
	return nil
}

// Commit is [Commit] into a directory that was taken, or one right below it, by its full name. It returns an error if
// another job has taken the directory meanwhile.
func (c *Claims) Commit(ctx context.Context, dir string, m Manifest) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	var lost error
	for _, h := range c.held {
		if at := h.dir(); lost == nil && (at == dir || at == files.Dir(dir)) {
			_, lost = h.held(ctx)
		}
	}
	c.leave()
	if lost != nil {
		return lost
	}
	return Commit(dir, m)
}

// sweep removes files of unfinished saves from a directory. If it is not sure that their process has ended, it removes
// only old ones.
func sweep(dir string, sure bool) error {
	m, err := Read(dir)
	if err != nil && !errors.Is(err, ErrNone) {
		return nil // the files that the checkpoint needs are not known
	}
	return removeFiles(dir, func(name string) bool {
		return !m.has(name) &&
			(sure || !young(files.Join(dir, name)))
	})
}

// Release releases all directories.
func (c *Claims) Release() {
	if c.enter(context.Background()) != nil {
		return
	}
	defer c.leave()
	for _, h := range c.held {
		h.release()
	}
	c.held = nil
}
