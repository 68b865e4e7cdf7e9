package exchange

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/wire"
)

// counted is a context that counts who follows it.
type counted struct {
	context.Context
	followed, left int
}

// Value hides the context below, which package context would follow by itself.
func (c *counted) Value(any) any { return nil }

func (c *counted) Err() error { return context.Cause(c.Context) }

func (c *counted) AfterFunc(f func()) (stop func() bool) {
	c.followed++
	leave := context.AfterFunc(c.Context, f)
	return func() bool { c.left++; return leave() }
}

// TestPushesLinger ends the context of pushes: one under way goes on for a while, and its context is followed once for all of
// them.
func TestPushesLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := servers(t, 2, wire.Float32, nil)
		s.Linger = time.Second
		var answers time.Duration // after which a server answers
		s.Call = func(ctx context.Context, _ int, _ [][]byte, _ func(*wire.Frame) error) error {
			select {
			case <-time.After(answers):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		x, errEnded := New(s), errors.New("it was ended")
		under, cancel := context.WithCancelCause(t.Context())
		ctx := &counted{Context: under}
		seq := uint64(0)
		push := func() error {
			seq++
			return x.Run(ctx, Request{Op: wire.OpStep, Seq: seq, All: true, Push: gradient.Step{Samples: 1}})
		}
		for range 3 {
			if err := push(); err != nil {
				t.Fatal(err)
			}
		}
		if x.Release(); ctx.followed != 1 || ctx.left != 1 {
			t.Errorf("the context was followed %d times and left %d times, want once", ctx.followed, ctx.left)
		}
		time.AfterFunc(time.Minute, func() { cancel(errEnded) })
		began := time.Now()
		answers = time.Minute + 500*time.Millisecond
		if err := push(); err != nil || time.Since(began) != answers {
			t.Errorf("a push that is answered half a second after the end of its context: %v after %v", err, time.Since(began))
		}
		began = time.Now()
		if err := push(); !errors.Is(err, errEnded) || time.Since(began) != 0 {
			t.Errorf("a push after the end of its context: %v after %v", err, time.Since(began))
		}
		under, cancel = context.WithCancelCause(t.Context())
		ctx = &counted{Context: under}
		answers = time.Hour
		time.AfterFunc(time.Minute, func() { cancel(errEnded) })
		began = time.Now()
		if err := push(); !errors.Is(err, errEnded) || time.Since(began) != time.Minute+time.Second {
			t.Errorf("a push that is not answered: %v after %v, want a second after the end of its context", err, time.Since(began))
		}
	})
}
