package client

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestAlarm moves an alarm and clears it, and looks when it has rung.
func TestAlarm(t *testing.T) {
	const again = 3 * time.Second
	tests := map[string]struct {
		do   func(a *alarm, at func(seconds int) time.Time)
		want []int // seconds
	}{
		"set":           {func(a *alarm, at func(int) time.Time) { a.set(at(10)) }, []int{10, 13, 16, 19}},
		"cleared":       {func(a *alarm, at func(int) time.Time) { a.set(at(10)); a.set(time.Time{}) }, nil},
		"moved on":      {func(a *alarm, at func(int) time.Time) { a.set(at(10)); a.set(at(17)) }, []int{17, 20}},
		"moved forward": {func(a *alarm, at func(int) time.Time) { a.set(at(10)); a.set(at(5)) }, []int{5, 8, 11, 14, 17, 20}},
		"used again":    {func(a *alarm, at func(int) time.Time) { a.set(at(5)); a.set(time.Time{}); a.set(at(16)) }, []int{16, 19}},
		"after its timer": {func(a *alarm, at func(int) time.Time) {
			a.set(at(1))
			a.set(time.Time{})
			time.Sleep(2e9)
			a.set(at(18))
		}, []int{18}},
		"passed": {func(a *alarm, at func(int) time.Time) { a.set(at(-1)); time.Sleep(time.Nanosecond); a.set(time.Time{}) }, []int{0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var rang []int
				began := time.Now()
				a := &alarm{ring: func(now time.Time) time.Time {
					rang = append(rang, int(now.Sub(began)/time.Second))
					return now.Add(again)
				}}
				test.do(a, func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) })
				time.Sleep(time.Until(began.Add(20*time.Second + 1)))
				a.set(time.Time{})
				if !slices.Equal(rang, test.want) {
					t.Errorf("it rang after %v s, want %v", rang, test.want)
				}
			})
		})
	}
}

// TestLines uses a line until it ends: by the caller's context, by the client, or because the answer takes too long.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newJob(t, 1, 1, strategy.Async()).client(0, nil).link
		ctx, cancel := context.WithCancel(t.Context())
		first := l.line(ctx, time.Now(), time.Second)
		l.hangUp(first)
		time.Sleep(time.Hour)
		if next := l.line(t.Context(), time.Now(), time.Second); next != first {
			t.Error("a line that has not ended is not used again")
		}
		cancel()
		synctest.Wait()
		if first.Err() != nil {
			t.Errorf("the context of an earlier attempt ends a line: %v", context.Cause(first))
		}
		time.Sleep(2 * time.Second)
		if cause := context.Cause(first); cause != errSlow {
			t.Errorf("a line after its time: %v", cause)
		}
		l.hangUp(first)
		ended := l.line(ctx, time.Now(), time.Second)
		if ended == first || ended.Err() == nil {
			t.Error("a line that has ended is used again, or one of an ended context has not ended")
		}
		l.hangUp(ended)
		last := l.line(t.Context(), time.Now(), time.Second)
		l.end(ErrClosed)
		if cause := context.Cause(last); cause != ErrClosed {
			t.Errorf("a line of a client that was closed: %v", cause)
		}
	})
}

// TestARequestAllocatesLittle: contexts and timers of a request are those of the one before.
func TestARequestAllocatesLittle(t *testing.T) {
	var b wire.Builder
	b.Reset(wire.Header{Op: wire.OpStep, Status: wire.StatusOK})
	answer := bytes.Join(b.Parts(), nil)
	net := &script{lines: []func(context.Context, func([]byte) error) error{
		func(_ context.Context, read func([]byte) error) error { return read(answer) }}}
	l := newJob(t, 1, 1, strategy.Async()).client(0, net).link
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var errs error
	n := testing.AllocsPerRun(100, func() { errs = errors.Join(errs, l.Do(ctx, 0, b.Parts(), nil)) })
	if check(t, errs); n > 4 {
		t.Errorf("%v allocations a request, want 4", n)
	}
}
