package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/files"
)

// Claims are the directories that a job has saved into, which no other job may while this one lives. The zero value has
// none.
type Claims struct {
	once sync.Once
	turn chan struct{} // full while one looks; a claim may have to wait for another job's end
	held []holder      // the last claimed is the last
}

// holder keeps a directory for this job.
type holder interface {
	dir() string
	// held is false where no job has the directory any more, and an error where another job has.
	held(ctx context.Context) (bool, error)
	// certain says that the process which had the directory before has ended; a machine that says nothing may still
	// come back.
	certain() bool
	release()
}

// takeAny holds a directory on a disk or in a store.
func takeAny(ctx context.Context, dir string) (holder, error) {
	if files.IsURL(dir) {
		return takeLease(ctx, dir)
	}
	return take(ctx, dir)
}

// enter waits while others look.
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

// mostClaims bounds how many directories a job keeps, the last it has saved into.
const mostClaims = 16

// Take claims a directory, which is made if need be. An error that wraps [ErrTaken] names the job that has it. A job
// that stood still for so long that another has taken over is told so, and may take the directory again when the other
// has ended.
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
	h, err := takeAny(ctx, dir)
	if err != nil {
		return err
	}
	if err := sweep(dir, h.certain()); err != nil {
		h.release()
		return err
	}
	if c.held = append(c.held, h); len(c.held) > mostClaims {
		c.held[0].release()
		c.held = slices.Delete(c.held, 0, 1)
	}
	return nil
}

// Commit is [Commit] into a directory, or one right below it, that was taken: as long as no other job has it.
func (c *Claims) Commit(ctx context.Context, dir string, m Manifest) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	abs, lost := files.Abs(dir)
	for _, h := range c.held {
		if at := h.dir(); lost == nil && (at == abs || at == files.Dir(abs)) {
			_, lost = h.held(ctx)
		}
	}
	c.leave()
	if lost != nil {
		return lost
	}
	return Commit(dir, m)
}

// sweep removes what saves that never ended have left in a directory beside its checkpoint. If it is not sure that who
// wrote it has ended, it must be old.
func sweep(dir string, sure bool) error {
	m, err := Read(dir)
	if err != nil && !errors.Is(err, ErrNone) {
		return nil // what it needs is not known
	}
	return removeFiles(dir, func(name string) bool {
		return !m.has(name) &&
			(sure || !young(files.Join(dir, name)))
	})
}

// Release gives all of them back.
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
