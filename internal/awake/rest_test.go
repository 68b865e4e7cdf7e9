package awake

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestRest: a rest takes as long as it is to, or until its context ends.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, enough)
		defer cancel()
		began := time.Now()
		if err := Rest(ctx, time.Second); err != nil || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := Rest(ctx, time.Hour); err != enough || time.Since(began) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
