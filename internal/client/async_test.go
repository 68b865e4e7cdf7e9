package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/session"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// gate lets a push go for every token.
func gate(j *job) (*tap, chan struct{}) {
	goOn := make(chan struct{}, 100)
	return &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
		if h.Samples > 0 {
			<-goOn
		}
		return nil
	}}, goOn
}

// TestAnEvaluationLeavesWhatWasAskedAhead evaluates while the rows of the next step are asked for and wait for a slow push: that
// step gets them all the same.
func TestAnEvaluationLeavesWhatWasAskedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 1, 1, strategy.Strategy{SendQueueSize: 3})
		j.serve(0)
		net, goOn := gate(j)
		th := open(t, j.join(0, net))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		check(t, th.Begin(ctx, th.step(1, []uint64{1}, nil)))
		for range 3 {
			check(t, th.End(ctx, th.step(1, []uint64{1}, nil)))
		}
		goOn <- struct{}{}
		goOn <- struct{}{}
		st := th.step(1, []uint64{1}, []uint64{2})
		check(t, th.Begin(ctx, st)) // travels with the second push; the third goes before the next rows are asked for
		check(t, th.End(ctx, st))
		var peeked []float32
		evaluation := make(chan error)
		go func() {
			peek := th.step(0, []uint64{1}, nil)
			peek.Eval = true
			err := th.Begin(ctx, peek)
			peeked = peek.Rows[0].W
			evaluation <- err
		}()
		synctest.Wait() // it waits for the third push
		close(goOn)
		check(t, <-evaluation)
		if len(peeked) == 0 {
			t.Error("the evaluation saw nothing")
		}
		check(t, th.Begin(ctx, th.step(1, []uint64{2}, nil)))
		check(t, th.Close(ctx))
	})
}

// TestAClosedSessionSaysSo uses a session after it, or its client, was closed: it is told, and waits for nothing.
func TestAClosedSessionSaysSo(t *testing.T) {
	for want, end := range map[error]func(c *Client, th *thread) error{
		session.ErrSessionClosed: func(_ *Client, th *thread) error { return th.Close(context.Background()) },
		ErrClosed:                func(c *Client, _ *thread) error { c.Close(); return nil },
	} {
		t.Run(want.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 1, 1, strategy.Async())
				j.serve(0)
				c := j.join(0, nil)
				th := open(t, c)
				th.train(1, []uint64{1}, nil)
				check(t, c.drain(t.Context()))
				check(t, end(c, th))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				use := map[string]func(context.Context, *optimizer.Step) error{"Begin": th.Begin, "End": th.End}
				for what, do := range use {
					if err := do(ctx, th.step(1, []uint64{1}, nil)); !errors.Is(err, want) {
						t.Errorf("%s: %v, want %v", what, err, want)
					}
				}
				check(t, th.Close(ctx))
			})
		})
	}
}

// TestNothingIsMergedAfterAFailure has a push fail while others wait and might be merged: the next step is told at once.
func TestNothingIsMergedAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 1, 1, strategy.Strategy{MaxMergeVarNum: 9, SendQueueSize: 2})
		j.serve(0)
		goOn := make(chan struct{})
		th := open(t, j.join(0, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
			if h.Samples > 0 {
				<-goOn
				return wire.ErrVersion
			}
			return nil
		}}))
		for range 2 {
			check(t, th.End(t.Context(), th.step(1, []uint64{1}, nil)))
			synctest.Wait()
		}
		close(goOn)
		synctest.Wait()
		if err := th.End(t.Context(), th.step(1, []uint64{1}, nil)); !errors.Is(err, wire.ErrVersion) {
			t.Errorf("a step after a failed push: %v, want why it failed", err)
		}
		err := th.Close(t.Context())
		if says := "missing at the servers: 2"; !errors.Is(err, wire.ErrVersion) || !strings.Contains(err.Error(), says) {
			t.Errorf("closing after a failed push: %v, want why it failed and %q", err, says)
		}
	})
}
