package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/optimizer"
)

// calls is a session that counts what comes through.
type calls struct {
	n     int
	fails error
}

func (c *calls) Begin(context.Context, *optimizer.Step) error { c.n++; return c.fails }
func (c *calls) End(context.Context, *optimizer.Step) error   { c.n++; return c.fails }
func (c *calls) Close(context.Context) error                  { c.n++; return c.fails }

// TestSessionsKeepTheirOrder makes calls in the order of a script's letters: Begin and End of a step, begin and end of an evaluation,
// Close.
func TestSessionsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, c := range []struct {
		script string
		passed int
		says   string // of the last call's error, "" if it is none
	}{
		{"BEBEbeBE", 8, ""},
		{"BEC", 3, ""},
		{"BECC", 3, ""},
		{"C", 1, ""},
		{"BC", 2, ""},
		{"E", 0, "End without Begin"},
		{"BEE", 2, "End without Begin"},
		{"BB", 1, "Begin follows Begin"},
		{"BBE", 1, "Begin follows Begin"},
		{"Be", 1, "Eval false and ends with Eval true"},
		{"bE", 1, "Eval true and ends with Eval false"},
		{"BECB", 3, "is closed"},
		{"BECE", 3, "is closed"},
	} {
		inner := new(calls)
		s := &ordered{inner: inner, worker: 3, reading: new(progress.Tracker), goesOn: func() {}, trains: func() error { return nil }, meter: new(workMeter)}
		var err error
		for _, call := range c.script {
			st := &optimizer.Step{Eval: call == 'b' || call == 'e'}
			switch call {
			case 'B', 'b':
				err = s.Begin(ctx, st)
			case 'E', 'e':
				err = s.End(ctx, st)
			default:
				err = s.Close(ctx)
			}
		}
		if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, ErrOrder) || !strings.Contains(err.Error(), "worker 3: ") || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", c.script, err, c.says)
		}
		if inner.n != c.passed {
			t.Errorf("%s: %d calls came through, want %d", c.script, inner.n, c.passed)
		}
	}
}

// TestAFailedSessionIsOver: what comes after an error is that error, and Close still closes.
func TestAFailedSessionIsOver(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	inner := &calls{fails: broken}
	s := &ordered{inner: inner, reading: new(progress.Tracker), goesOn: func() {}, trains: func() error { return nil }, meter: new(workMeter)}
	for range 3 {
		if err := s.Begin(t.Context(), &optimizer.Step{}); err != broken {
			t.Errorf("got %v, want the first error", err)
		}
	}
	if err := s.Close(t.Context()); err != broken || inner.n != 2 {
		t.Errorf("Close: %v after %d calls", err, inner.n)
	}
}
