package awake

import (
	"context"
	"time"
)

// Rest waits for a while. When ctx ends before that is over, it fails with ctx's cause.
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
