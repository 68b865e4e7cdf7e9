package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestAnEndedSaveHoldsUpNobody: the context of a save ends when all servers hold pushes, and server 0 can't be asked for
// anything more. The caller is free when it has been told for a heartbeat; others push when server 0 has the word.
func TestAnEndedSaveHoldsUpNobody(t *testing.T) {
	const patience, silence = time.Second, 8 * time.Second
	s := strategy.HalfAsync()
	s.Recovery.Dir = t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 2, s)
		j.serve(0, 1)
		line := newHalfOpen(j)
		line.server = 0
		c, other := j.client(0, line), j.client(1, nil)
		joined := make(chan error)
		go func() { joined <- other.Join(t.Context()) }()
		check(t, errors.Join(c.Join(t.Context()), <-joined))
		mine, theirs := open(t, c), open(t, other)
		mine.train(-1, []uint64{1}, nil)
		theirs.train(-1, []uint64{1}, nil)

		began, asked := time.Now(), 0
		progress := func() (p checkpoint.Progress) {
			if asked++; asked == 2 { // all servers hold
				line.answerNone(wire.OpCut)
				time.AfterFunc(silence, func() { line.answerNone() })
			}
			return p
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err := c.Checkpoint(ctx, progress)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) ||
			took > patience+j.strategy.HeartbeatInterval.Std()+100*time.Millisecond {
			t.Errorf("the save ends after %v with %v", took, err)
		}
		synctest.Wait()
		theirs.train(-1, []uint64{1}, nil)
		if took := time.Since(began); took < silence || took > 2*silence+time.Second {
			t.Errorf("another's push is in after %v, want it as long again after %v at most", took, silence)
		}
		mine.train(-1, []uint64{1}, nil)
		check(t, c.Checkpoint(t.Context(), progress))
		all(t, "what was pushed", mine.peek(1), 4)
		for _, th := range []*thread{mine, theirs} {
			check(t, th.Close(t.Context()))
		}
		check(t, errors.Join(c.Leave(t.Context()), other.Leave(t.Context())))
	})
}
