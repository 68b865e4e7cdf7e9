package fleet

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/optimizer"
)

// ordered checks the order of a session's calls in a training thread: Begin and End alternate, Begin first, and after
// an error or Close there are none. A step out of order would be pushed again, or make others wait.
type ordered struct {
	inner   optimizer.Session
	worker  int
	reading *progress.Tracker
	leave   func()       // withdraws that it trains; nil before it does
	goesOn  func()       // called for each step whose context lives
	trains  func() error // says why a training step is not made
	begun   bool
	eval    bool // the step that has begun is an evaluation
	closed  bool
	meter   *workMeter
	last    time.Time // end of the step's last part; zero before the first
	err     error

	labelled bool // goroutine has labels for a profile
}

// Begin implements [optimizer.Session].
func (s *ordered) Begin(ctx context.Context, st *optimizer.Step) error {
	switch {
	case s.err != nil:
	case s.begun:
		s.refuse("Begin follows Begin: the step before was not ended")
	default:
		if ctx.Err() == nil {
			s.goesOn()
		}
		if !st.Eval {
			if s.err = named("training", s.trains()); s.err != nil {
				return s.err
			}
			if s.leave == nil {
				s.leave = s.reading.Enter(st.Thread, st.Threads)
			}
			s.spend(ctx, &s.meter.input, "pull")
		}
		s.err = s.inner.Begin(ctx, st)
		s.begun, s.eval = s.err == nil, st.Eval
		if !st.Eval {
			s.spend(ctx, &s.meter.pull, "compute")
		}
	}
	return s.err
}

// End implements [optimizer.Session].
func (s *ordered) End(ctx context.Context, st *optimizer.Step) error {
	switch {
	case s.err != nil:
	case !s.begun:
		s.refuse("End without Begin")
	case s.eval != st.Eval:
		s.refuse(fmt.Sprintf("a step began with Eval %t and ends with Eval %t", s.eval, st.Eval))
	case s.eval:
		s.err, s.begun = s.inner.End(ctx, st), false
	default:
		s.spend(ctx, &s.meter.compute, "push")
		s.err, s.begun = s.inner.End(ctx, st), false
		if s.spend(ctx, &s.meter.push, ""); s.err == nil {
			s.meter.examples.Add(int64(st.Samples))
		}
	}
	return s.err
}

// Close implements [optimizer.Session]. It may be called twice.
func (s *ordered) Close(ctx context.Context) error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.err == nil {
		s.refuse("the session is closed")
	}
	if s.leave != nil {
		defer s.leave()
	}
	return s.inner.Close(ctx)
}

// spend adds the time since the last part to a part, and labels the next one in a profile.
func (s *ordered) spend(ctx context.Context, part *atomic.Int64, next string) {
	if on := count.Profiling(); on && next != "" {
		count.Label(ctx, "op", next, "worker", strconv.Itoa(s.worker))
		s.labelled = true
	} else if s.labelled {
		count.Label(ctx)
		s.labelled = false
	}
	now := time.Now()
	if !s.last.IsZero() {
		part.Add(int64(now.Sub(s.last)))
	}
	s.last = now
}

// workMeter counts the time of training threads, in nanoseconds, and their examples.
type workMeter struct{ input, pull, compute, push, examples atomic.Int64 }

func (m *workMeter) read() stats.Work {
	of := func(part *atomic.Int64) time.Duration { return time.Duration(part.Load()) }
	return stats.Work{Examples: m.examples.Load(), Input: of(&m.input), Pull: of(&m.pull), Compute: of(&m.compute),
		Push: of(&m.push)}
}

func (s *ordered) refuse(why string) {
	s.err = fmt.Errorf("fleet: training: worker %d: %s: %w", s.worker, why, ErrOrder)
}
