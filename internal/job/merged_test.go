package job

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// recorder is a session that remembers what it was given.
type recorder struct {
	w      *optimizer.Param
	steps  []optimizer.Step // that were no evaluations, and between them
	g      []float32        // of the first weight, at each
	calls  []string
	fails  bool
	during func() // a step's Begin
	ending func() // its End

	closing error // what Close says
	pushing error // what a step's End says that has gradients
}

var errBroken = errors.New("broken")

func (r *recorder) Begin(_ context.Context, st *optimizer.Step) error {
	r.calls = append(r.calls, "begin")
	if r.during != nil {
		r.during()
	}
	if r.fails {
		return errBroken
	}
	return nil
}

func (r *recorder) End(_ context.Context, st *optimizer.Step) error {
	if st.Eval {
		r.calls = append(r.calls, "pass")
		return nil
	}
	if r.ending != nil {
		r.ending()
	}
	if r.pushing != nil {
		return r.pushing
	}
	r.calls = append(r.calls, "push")
	st.Rows = slices.Clone(st.Rows)
	for e := range st.Rows {
		st.Rows[e].IDs, st.Rows[e].G = slices.Clone(st.Rows[e].IDs), slices.Clone(st.Rows[e].G)
	}
	r.steps, r.g = append(r.steps, *st), append(r.g, r.w.G[0])
	return nil
}

func (r *recorder) Close(context.Context) error { r.calls = append(r.calls, "close"); return r.closing }

// thread is a session that merges, above a recorder.
type thread struct {
	t *testing.T
	r *recorder
	e *optimizer.Param
	s *mergedSession
}

func newThread(t *testing.T, c strategy.GradientMerge) *thread {
	w := &optimizer.Param{Name: "w", Shape: []int{1}, W: make([]float32, 1), G: make([]float32, 1)}
	frozen := &optimizer.Param{Name: "f", Shape: []int{1}, W: make([]float32, 1), Frozen: true}
	e := &optimizer.Param{Name: "e", Shape: []int{0, 1}, Embedding: true}
	r := &recorder{w: w}
	return &thread{t, r, e, newMerged(r, []*optimizer.Param{w, frozen, e}, c)}
}

// train makes a step whose gradients are all g.
func (th *thread) train(n int, g float32, loss float64, ids ...uint64) {
	th.t.Helper()
	st := &optimizer.Step{Samples: n, Loss: loss, Rows: []optimizer.Rows{{Param: th.e, IDs: ids, G: slices.Repeat([]float32{g}, len(ids)), Next: []uint64{9}}}}
	if err := th.s.Begin(th.t.Context(), st); err != nil {
		th.t.Fatal(err)
	}
	th.r.w.G[0] = g
	if err := th.s.End(th.t.Context(), st); err != nil {
		th.t.Fatal(err)
	}
}

func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		sum  bool
		w    float32
		rows []float32
	}{ // (2·2 + 6·5) / 8 = 4.25
		{false, 4.25, []float32{0.5, 4.25, 3.75}},
		{true, 7, []float32{2, 7, 5}},
	} {
		th := newThread(t, strategy.GradientMerge{KSteps: 2, Sum: tt.sum})
		for range 2 { // the second time in memory of the first
			th.train(2, 2, 1, 1, 4)
			th.train(6, 5, 3, 4, 7)
		}
		if want := []string{"begin", "pass", "begin", "push", "begin", "pass", "begin", "push"}; !slices.Equal(th.r.calls, want) {
			t.Errorf("sum %t: calls %v, want %v", tt.sum, th.r.calls, want)
		}
		for i, st := range th.r.steps {
			r := st.Rows[0]
			if st.Samples != 8 || st.Loss != 2.5 || th.r.g[i] != tt.w || !slices.Equal(r.IDs, []uint64{1, 4, 7}) || !slices.Equal(r.G, tt.rows) || !slices.Equal(r.Next, []uint64{9}) {
				t.Errorf("sum %t, push %d: %d samples, loss %g, gradient %g, rows %v %v, next %v; want %g and %v", tt.sum, i, st.Samples, st.Loss, th.r.g[i], r.IDs, r.G, r.Next, tt.w, tt.rows)
			}
		}
	}
}

// TestFlush: what has come since the last push is a push of its own, once, and not in the middle of a step, after an error or Close.
func TestFlush(t *testing.T) {
	ctx := t.Context()
	th := newThread(t, strategy.GradientMerge{KSteps: 3})
	flushed := func(want int) {
		t.Helper()
		if err := th.s.Flush(ctx); err != nil || len(th.r.steps) != want {
			t.Errorf("%d pushes, error %v, want %d", len(th.r.steps), err, want)
		}
	}
	flushed(0)
	th.train(1, 1, 0, 1)
	flushed(1)
	flushed(1)
	th.train(1, 1, 0, 2)
	law.Check(t, th.s.Begin(ctx, &optimizer.Step{Eval: true}))
	flushed(1)
	law.Check(t, th.s.End(ctx, &optimizer.Step{Eval: true}))
	if err := th.s.Close(ctx); err != nil || len(th.r.steps) != 2 || !th.s.Over() {
		t.Errorf("after Close %d pushes, error %v", len(th.r.steps), err)
	}
	law.Check(t, th.s.sum.Add(&optimizer.Step{Samples: 1}))
	flushed(2)

	th = newThread(t, strategy.GradientMerge{KSteps: 3})
	th.train(1, 1, 0, 1)
	th.r.fails = true
	if err := th.s.Flush(ctx); !errors.Is(err, errBroken) || !th.s.Over() {
		t.Errorf("error %v, want %v", err, errBroken)
	}
	flushed(0)
}

// TestCloseTellsAll: what becomes of the rest, and of the session inside.
func TestCloseTellsAll(t *testing.T) {
	jammed := errors.New("jammed")
	for _, fails := range []bool{false, true} {
		th := newThread(t, strategy.GradientMerge{KSteps: 2})
		th.train(1, 2, 0, 5)
		th.r.fails, th.r.closing = fails, jammed
		if err := th.s.Close(t.Context()); !errors.Is(err, jammed) || errors.Is(err, errBroken) != fails {
			t.Errorf("the rest fails %t: %v", fails, err)
		}
	}
}

// TestSessionIsFreeDuringAStep: a step that waits for servers keeps nobody who asks for the session.
func TestSessionIsFreeDuringAStep(t *testing.T) {
	th := newThread(t, strategy.GradientMerge{KSteps: 2})
	asked := 0
	th.r.during = func() {
		if asked++; th.s.Over() {
			t.Error("the session is over in the middle of a step")
		}
	}
	th.train(1, 1, 0, 1)
	if asked != 1 || th.s.Over() {
		t.Errorf("asked %d times, over %v", asked, th.s.Over())
	}
}

// TestAFlushWaitsForNoStep: a session whose step waits for another thread's is in the middle of a step, and flushing it does nothing,
// since that thread may be the one that flushes. What is gathered goes with the step.
func TestAFlushWaitsForNoStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, waits := range []string{"Begin", "End"} {
			th := newThread(t, strategy.GradientMerge{KSteps: 2})
			th.train(1, 3, 1, 1)
			other := make(chan struct{})
			wait := func() { <-other }
			if th.r.during = wait; waits == "End" {
				th.r.during, th.r.ending = nil, wait
			}
			done := make(chan struct{})
			go func() {
				th.train(1, 5, 1, 1)
				close(done)
			}()
			synctest.Wait()
			law.Check(t, th.s.Flush(t.Context()))
			close(other)
			<-done
			if len(th.r.g) != 1 || th.r.g[0] != 4 {
				t.Errorf("a step whose %s waits: %v was pushed", waits, th.r.g)
			}
		}
	})
}

// TestAStepWaitsForAFlush: a step that begins while another goroutine flushes, which takes a second, begins behind that; in virtual time
// too, where a goroutine that waits for a mutex stops the clock.
func TestAStepWaitsForAFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThread(t, strategy.GradientMerge{KSteps: 2})
		th.train(1, 3, 1, 1)
		th.r.ending = func() { time.Sleep(time.Second) }
		flushed := make(chan error, 1)
		go func() { flushed <- th.s.Flush(t.Context()) }()
		synctest.Wait()
		th.train(1, 5, 1, 1)
		if err := <-flushed; err != nil || len(th.r.g) != 1 || th.r.g[0] != 3 {
			t.Errorf("%v were pushed, error %v; want what was gathered before", th.r.g, err)
		}
	})
}

// TestFrozenValuesOfTheLastUpdate: while steps are merged whose gradients are in no update, a checkpoint has the averages of before them.
func TestFrozenValuesOfTheLastUpdate(t *testing.T) {
	th := newThread(t, strategy.GradientMerge{KSteps: 3})
	step := func(moved float32, want ...float32) {
		t.Helper()
		th.train(1, 1, 0, 1)
		th.s.params[1].W[0] = moved // as an executor does, behind a step
		if got := th.s.Frozen()["f"]; !slices.Equal(got, want) {
			t.Errorf("a checkpoint has %v, want %v", got, want)
		}
	}
	step(1, 0)
	step(2, 0)
	step(3)
	step(4, 3)
	if err := th.s.Flush(t.Context()); err != nil || th.s.Frozen() != nil {
		t.Errorf("after a flush a checkpoint has %v, error %v, want the present values", th.s.Frozen(), err)
	}
}

// TestFrozenValuesBehindALostPush: the role is asked to end while the sum of three steps is pushed, by the last step or by a flush. A
// checkpoint has the averages of the update before.
func TestFrozenValuesBehindALostPush(t *testing.T) {
	for name, push := range map[string]func(*thread, *optimizer.Step) error{
		"step":  func(th *thread, st *optimizer.Step) error { return th.s.End(th.t.Context(), st) },
		"flush": func(th *thread, _ *optimizer.Step) error { th.s.step(false); return th.s.Flush(th.t.Context()) },
		"close": func(th *thread, _ *optimizer.Step) error { th.s.step(false); return th.s.Close(th.t.Context()) },
	} {
		th := newThread(t, strategy.GradientMerge{KSteps: 2})
		th.train(1, 1, 0, 1)
		th.s.params[1].W[0] = 1 // as an executor does, behind a step
		st := &optimizer.Step{Samples: 1}
		law.Check(t, th.s.Begin(t.Context(), st))
		th.r.pushing = context.Canceled
		if err := push(th, st); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if got := th.s.Frozen()["f"]; !slices.Equal(got, []float32{0}) {
			t.Errorf("%s: a checkpoint has %v, want 0", name, got)
		}
	}
}

// failing is a session whose calls return err.
type failing struct{ err error }

func (f *failing) Begin(context.Context, *optimizer.Step) error { return f.err }
func (f *failing) End(context.Context, *optimizer.Step) error   { return f.err }
func (f *failing) Close(context.Context) error                  { return f.err }

// TestFrozenValuesOutliveAnError: a worker is asked to end between two steps whose gradients are merged. Its last checkpoint has the averages
// of the last update, as long as it opens no other session.
func TestFrozenValuesOutliveAnError(t *testing.T) {
	t.Parallel()
	ctx, inner, m := t.Context(), new(failing), new(merging)
	frozen := &optimizer.Param{Name: "f", Shape: []int{1}, W: []float32{1}, Frozen: true}
	open := func() *mergedSession {
		return m.add(newMerged(inner, []*optimizer.Param{frozen}, strategy.GradientMerge{KSteps: 3}))
	}
	s := open()
	if err := errors.Join(s.Begin(ctx, new(optimizer.Step)), s.End(ctx, &optimizer.Step{Samples: 1})); err != nil {
		t.Fatal(err)
	}
	frozen.W[0] = 2 // as an executor does, behind a step
	inner.err = context.Canceled
	if err := s.Begin(ctx, new(optimizer.Step)); err == nil || !s.Over() {
		t.Fatal("the session goes on")
	}
	if got := m.frozen()["f"]; !slices.Equal(got, []float32{1}) {
		t.Errorf("a checkpoint has %v, want 1", got)
	}
	open()
	if got := m.frozen(); got != nil {
		t.Errorf("with another session a checkpoint has %v, want the present values", got)
	}
}
