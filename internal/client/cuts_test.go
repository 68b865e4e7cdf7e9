package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestAnEndedSaveHoldsUpNobody: the context of a save ends while server 1, which holds pushes for it, can't be asked for anything more. The
// caller is free at once; server 1 takes pushes again when it is asked once more.
func TestAnEndedSaveHoldsUpNobody(t *testing.T) {
	const patience, silence = time.Second, 5 * time.Second
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 2, strategy.HalfAsync())
		j.serve(0, 1)
		line := newHalfOpen(j)
		c, other := j.client(0, line), j.client(1, nil)
		joined := make(chan error)
		go func() { joined <- other.Join(t.Context()) }()
		check(t, errors.Join(c.Join(t.Context()), <-joined))
		mine, theirs := open(t, c), open(t, other)
		mine.train(-1, []uint64{1}, nil)
		theirs.train(-1, []uint64{1}, nil)

		line.answerNone(wire.OpSave, wire.OpCommit)
		began := time.Now()
		time.AfterFunc(silence, func() { line.answerNone() })
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := c.Save(ctx, t.TempDir()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > patience+100*time.Millisecond {
			t.Errorf("the save ends after %v with %v", time.Since(began), err)
		}
		synctest.Wait()
		theirs.train(-1, []uint64{1}, nil)
		if took := time.Since(began); took < silence || took > 2*silence+time.Second {
			t.Errorf("another's push is in after %v, want it as long again after %v at most", took, silence)
		}
		mine.train(-1, []uint64{1}, nil)
		check(t, c.Save(t.Context(), t.TempDir()))
		all(t, "what was pushed", mine.peek(1), 4)
		for _, th := range []*thread{mine, theirs} {
			check(t, th.Close(t.Context()))
		}
		check(t, errors.Join(c.Leave(t.Context()), other.Leave(t.Context())))
	})
}

// TestBases: a checkpoint is based on what server 0 says, and on nothing if one server must have it whole.
func TestBases(t *testing.T) {
	for want, held := range map[string][]wire.Held{
		"a": {{Base: "a"}, {}, {}},
		"":  {{Base: "a"}, {Whole: true}, {}},
	} {
		if got := baseOf(held); got != want {
			t.Errorf("%+v: it is based on %q, want %q", held, got, want)
		}
	}
	if got := baseOf([]wire.Held{{Whole: true}}); got != "" {
		t.Errorf("it is based on %q", got)
	}
}
