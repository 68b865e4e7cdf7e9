package awake

import (
	"context"
	"time"
)

// Rest waits for d. If ctx ends before, it returns ctx's cause.
func Rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
