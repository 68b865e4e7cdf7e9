package session

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
)

// ledger is a server without a network: it adds up what is pushed, and answers with the sums. In geo what is pushed are differences
// of weights, elsewhere gradients of a rule with rate 1.
type ledger struct {
	mu      sync.Mutex
	sign    float32
	w       float32
	row     float32 // of id 7
	version uint64
	pushes  int
	hold    chan struct{} // if set, a push waits for it
}

func (l *ledger) call(_ context.Context, _ int, req [][]byte, read func(*wire.Frame) error) error {
	var f wire.Frame
	if err := f.Parse(slices.Concat(req...)); err != nil {
		return err
	}
	if f.Samples > 0 && l.hold != nil {
		<-l.hold
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.apply(&f); err != nil || read == nil {
		return err
	}
	var b wire.Builder
	b.Reset(wire.Header{Op: f.Op, Version: l.version})
	if f.Version != wire.NoDense && f.Version != l.version {
		b.Dense([]float32{l.w})
	}
	for _, sec := range f.Sections {
		switch sec.Kind {
		case wire.KindIDs:
			b.Bare(sec.Param, []float32{l.row})
		case wire.KindChanged:
			b.Rows(sec.Param, []uint64{7}, []float32{l.row})
		}
	}
	var answer wire.Frame
	if err := answer.Parse(slices.Concat(b.Parts()...)); err != nil {
		return err
	}
	return read(&answer)
}

func (l *ledger) apply(f *wire.Frame) error {
	if f.Samples == 0 {
		return nil
	}
	l.pushes++
	l.version++
	for _, sec := range f.Sections {
		var g []float32
		var err error
		switch sec.Kind {
		case wire.KindDense:
			if g, err = sec.Dense(); err == nil {
				l.w += l.sign * g[0]
			}
		case wire.KindRows:
			if g, err = sec.Rows(); err == nil {
				l.row += l.sign * g[0]
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// params are a dense param of one weight and an embedding of width 1, which begin with zeros.
func params() []*optimizer.Param {
	return []*optimizer.Param{
		{Name: "w", Shape: []int{1}, W: make([]float32, 1), G: make([]float32, 1)},
		{Name: "emb", Shape: []int{0, 1}, Embedding: true},
	}
}

func newWorker(t *testing.T, s strategy.Strategy, l *ledger) *Worker {
	t.Helper()
	where, err := layout.New(params(), 1, placement.Options{})
	law.Check(t, err)
	servers := &exchange.Servers{Layout: where, MaxFrame: 1 << 20, Call: l.call,
		Header: func(op wire.Op) wire.Header { return wire.Header{Op: op, Version: wire.NoDense} }}
	ctx, end := context.WithCancelCause(context.Background())
	w := New(Config{Workers: 1, Layout: where, Rule: optimizer.SGD{LR: 1}, Strategy: s.WithDefaults(), Servers: servers, Context: ctx,
		UseRate: func(_ context.Context, use func(float64)) error { use(1); return nil }, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { end(ErrClosed); w.Stop() })
	return w
}

// train makes a step whose gradients are all -1, and returns the weights with which it began.
func train(t *testing.T, s optimizer.Session, ps []*optimizer.Param, eval bool) (w, row float32) {
	t.Helper()
	st := &optimizer.Step{Samples: 1, Eval: eval,
		Rows: []optimizer.Rows{{Param: ps[1], IDs: []uint64{7}, W: make([]float32, 1), G: []float32{-1}, Next: []uint64{7}}}}
	law.Check(t, s.Begin(t.Context(), st))
	ps[0].G[0] = -1
	law.Check(t, s.End(t.Context(), st))
	return ps[0].W[0], st.Rows[0].W[0]
}

// TestSessions trains in every mode against a server that only adds up: no step is lost or counted twice, an evaluation sees them all,
// and a session that was closed is forgotten.
func TestSessions(t *testing.T) {
	const steps = 6
	for _, mode := range strategy.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &ledger{sign: -1}
				if mode == strategy.ModeGeo {
					l.sign = 1
				}
				w := newWorker(t, strategy.Strategy{Mode: mode, KSteps: 2}, l)
				if _, err := w.Open(params()); err != backend.ErrNotJoined {
					t.Errorf("opened before the worker has begun: %v", err)
				}
				w.Begin()
				ps := params()
				s, err := w.Open(ps)
				law.Check(t, err)
				for range steps {
					train(t, s, ps, false)
				}
				law.Check(t, w.Settle(t.Context()))
				if l.w != steps || l.row != steps {
					t.Errorf("after %d steps the server has %v and %v", steps, l.w, l.row)
				}
				if got, row := train(t, s, ps, true); got != steps || row != steps {
					t.Errorf("an evaluation sees %v and %v, want %d", got, row, steps)
				}
				if err := s.Close(t.Context()); err != nil || len(w.open()) != 0 {
					t.Errorf("%d sessions train after the only one was closed, error %v", len(w.open()), err)
				}
				w.Leave()
				if _, err := w.Open(params()); err != ErrClosed {
					t.Errorf("opened after the worker has left: %v", err)
				}
			})
		})
	}
}

// TestRowsAheadEndWithThePeriod: rows that came with a push are not used after the end of a period, which may have dropped them.
func TestRowsAheadEndWithThePeriod(t *testing.T) {
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &ledger{sign: -1}
				w := newWorker(t, strategy.Strategy{Mode: mode}, l)
				w.Begin()
				ps := params()
				s, err := w.Open(ps)
				law.Check(t, err)
				train(t, s, ps, false)
				law.Check(t, w.Drain(t.Context()))
				l.mu.Lock()
				l.row = 100
				l.mu.Unlock()
				w.Met()
				if _, row := train(t, s, ps, false); row != 100 {
					t.Errorf("the step begins with %v, want the row as it is after the period, 100", row)
				}
				law.Check(t, s.Close(t.Context()))
			})
		})
	}
}

// TestThreadsExchangeOnce has two threads of geo find an exchange due while the one before is on its way: one of them makes it, with
// the steps of both.
func TestThreadsExchangeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{sign: 1, hold: make(chan struct{})}
		w := newWorker(t, strategy.Strategy{Mode: strategy.ModeGeo, KSteps: 1}, l)
		w.Begin()
		var threads sync.WaitGroup
		open := func() (optimizer.Session, []*optimizer.Param) {
			ps := params()
			s, err := w.Open(ps)
			law.Check(t, err)
			return s, ps
		}
		a, pa := open()
		b, pb := open()
		train(t, a, pa, false) // begins an exchange, which is held
		threads.Go(func() { train(t, a, pa, false) })
		threads.Go(func() { train(t, b, pb, false) })
		synctest.Wait() // both wait for it
		close(l.hold)
		threads.Wait()
		law.Check(t, w.Drain(t.Context()))
		if l.pushes != 2 {
			t.Errorf("%d exchanges, want 2: the second has the steps of both threads", l.pushes)
		}
	})
}
