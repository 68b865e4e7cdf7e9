package checkpoint

import (
	"context"
	"errors"
	"testing"
)

// countdown is a context that ends when it has been asked so often.
type countdown struct {
	context.Context
	left   int
	cancel context.CancelCauseFunc
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		c.cancel(errStop)
	}
	return c.Context.Err()
}

var errStop = errors.New("interrupted")

// TestLoadEndsWithItsContext: a load asks its context before each part, each block and each portion of rows, and fails with its cause.
func TestLoadEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "a", trained(t, 2))
	for n := 0; ; n++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := Load(&countdown{ctx, n, cancel}, dir, stores(t, 1)[0], rule, model(), everything)
		cancel(nil)
		if err == nil {
			if least := 2 * (2 + 1 + 1); n < least { // two reads of a file and its end, a block and rows, in two parts
				t.Errorf("the context was asked %d times, want %d at least", n, least)
			}
			return
		}
		if !errors.Is(err, errStop) {
			t.Fatalf("a context that ends at question %d: %v", n+1, err)
		}
	}
}
