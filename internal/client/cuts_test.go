package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestAnEndedSaveHoldsUpNobody: the context of a save ends when all servers hold pushes, and server 0 can't be asked for
// anything more. The caller is free when it has been told for a heartbeat; others push when server 0 has the word.
//
// Promise: [G6] a save whose context has ended holds no worker up, as soon as server 0 can be reached
func TestAnEndedSaveHoldsUpNobody(t *testing.T) {
	const patience = time.Second
	for _, silence := range []time.Duration{8 * time.Second, time.Minute} { // less and more than a worker may be silent
		endedSave(t, patience, silence)
	}
}

func endedSave(t *testing.T, patience, silence time.Duration) {
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
		err := c.Checkpoint(ctx, progress, none)
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
		check(t, c.Checkpoint(t.Context(), progress, none))
		all(t, "what was pushed", mine.peek(1), 4)
		for _, th := range []*thread{mine, theirs} {
			check(t, th.Close(t.Context()))
		}
		check(t, errors.Join(c.Leave(t.Context()), other.Leave(t.Context())))
	})
}

// TestCutIsNotRepeatedAfterSteps: server 0 that was started again knows no number of a cut. A call begins again then under its own id,
// but for one whose worker has gone on with steps: another cut beside these would hold one step at some servers and not at others.
func TestCutIsNotRepeatedAfterSteps(t *testing.T) {
	none := func(string, *cut.Save) error { return nil }
	for _, c := range []struct {
		call
		knows cut.Stage
		ends  bool
	}{
		{call{held: none, taken: func() {}}, cut.Queued, false},
		{call{held: none, taken: func() {}}, cut.Held, false},
		{call{held: none, taken: func() {}}, cut.Reached, true},
		{call{read: func(uint64, [][]byte) (now wire.Chain, err error) { return now, err }}, cut.Reached, false}, // the worker makes no step
	} {
		ask := cut.Ask{ID: "call", Number: 4, Knows: c.knows}
		err := c.goOn(&ask, &cut.Told{Anew: true})
		if ends := errors.Is(err, wire.ErrStale); ends != c.ends || !ends && (err != nil || ask.ID != "call" || ask.Number != 0 || ask.Knows != cut.Queued) {
			t.Errorf("at stage %d: %+v, error %v", c.knows, ask, err)
		}
	}
}

// TestASaveThatPanics: a program that goes on from a panic in what it does in a cut holds up nobody.
func TestASaveThatPanics(t *testing.T) {
	s := strategy.HalfAsync()
	s.Recovery.Dir = t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 1, s)
		j.serve(0, 1)
		c := j.client(0, nil)
		check(t, c.Join(t.Context()))
		th := open(t, c)
		th.train(-1, []uint64{1}, nil)
		asked := 0
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the save did not panic")
				}
			}()
			_ = c.Checkpoint(t.Context(), func() (p checkpoint.Progress) {
				if asked++; asked == 2 { // all servers hold
					panic("no progress")
				}
				return p
			}, none)
		}()
		began := time.Now()
		th.train(-1, []uint64{1}, nil)
		if took := time.Since(began); took > j.strategy.HeartbeatInterval.Std() {
			t.Errorf("a push is held for %v", took)
		}
		check(t, errors.Join(th.Close(t.Context()), c.Leave(t.Context())))
	})
}

// TestASaveBehindAnotherCut waits no longer for that than for any worker, and says so.
func TestASaveBehindAnotherCut(t *testing.T) {
	law.Slow(t)
	s := strategy.HalfAsync()
	s.Recovery.Dir = t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 2, s)
		j.serve(0, 1)
		c, other := j.client(0, nil), j.client(1, nil)
		joined := make(chan error)
		go func() { joined <- other.Join(t.Context()) }()
		check(t, errors.Join(c.Join(t.Context()), <-joined))
		began, read := time.Now(), make(chan error)
		reads, stop := context.WithTimeout(t.Context(), 2*j.strategy.WaitTimeout.Std())
		defer stop()
		go func() {
			read <- c.Cut(t.Context(), func(backend.Weights) error { <-reads.Done(); return nil })
		}()
		synctest.Wait()
		err := other.Checkpoint(t.Context(), func() (p checkpoint.Progress) { return p }, none)
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "has led other cuts") || took > j.strategy.WaitTimeout.Std()+time.Minute {
			t.Errorf("the save ends after %v with %v", took, err)
		}
		stop()
		check(t, errors.Join(<-read, c.Leave(t.Context()), other.Leave(t.Context())))
	})
}

// none are no frozen values in place of the worker's own.
func none() map[string][]float32 { return nil }
