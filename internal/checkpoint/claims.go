package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/files"
)

// Claims are the directories that a job has saved into, which no other job may while this one lives. The zero value has
// none.
type Claims struct {
	once sync.Once
	turn chan struct{} // full while one looks; a claim may have to wait for another job's end
	held []*hold       // the last claimed is the last
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
	if err := files.CheckLocal(dir); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	is := func(h *hold) bool { return filepath.Dir(h.name) == dir }
	if i := slices.IndexFunc(c.held, is); i >= 0 {
		h := c.held[i]
		c.held = slices.Delete(c.held, i, i+1)
		err := h.mine()
		if err == nil && h.names(h.file) {
			c.held = append(c.held, h)
			return nil
		}
		if h.release(); err != nil {
			return err
		}
	}
	h, err := take(ctx, dir)
	if err != nil {
		return err
	}
	if err := sweep(dir, h.sure); err != nil {
		h.release()
		return err
	}
	if c.held = append(c.held, h); len(c.held) > mostClaims {
		c.held[0].release()
		c.held = slices.Delete(c.held, 0, 1)
	}
	return nil
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
			(sure || !young(filepath.Join(dir, name)))
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
