package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
)

// said is what a request has said.
type said struct {
	op      wire.Op
	round   uint64
	samples uint32
	at      []progress.Position
}

// listen has a worker's requests noted in their order, and fail where failing says so.
func listen(t *testing.T, w *Worker, failing func(said) error) *[]said {
	t.Helper()
	var mu sync.Mutex
	var all []said
	inner := w.Servers.Call
	w.Servers.Call = func(ctx context.Context, s int, req [][]byte, read func(*wire.Frame) error) error {
		var b []byte
		for _, part := range req {
			b = append(b, part...)
		}
		var f wire.Frame
		if err := f.Parse(b); err != nil {
			return err
		}
		one := said{op: f.Op, round: f.Round, samples: f.Samples}
		var err error
		if one.at, err = f.Positions(nil); err != nil {
			return err
		}
		mu.Lock()
		all = append(all, one)
		mu.Unlock()
		if failing != nil {
			if err := failing(one); err != nil {
				return err
			}
		}
		return inner(ctx, s, req, read)
	}
	return &all
}

// pushes are the requests that brought gradients.
func pushes(all []said) (of []said) {
	for _, one := range all {
		if one.samples > 0 {
			of = append(of, one)
		}
	}
	return of
}

// begun is a worker with a session.
func begun(t *testing.T, s strategy.Strategy, l *ledger) (*Worker, optimizer.Session, []*optimizer.Param) {
	t.Helper()
	w := newWorker(t, s, l)
	w.Begin()
	session, ps := another(t, w)
	return w, session, ps
}

// another is one more session of a worker.
func another(t *testing.T, w *Worker) (optimizer.Session, []*optimizer.Param) {
	t.Helper()
	ps := params()
	s, err := w.Open(ps)
	if err != nil {
		t.Fatal(err)
	}
	return s, ps
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// begins makes a step whose gradients are all -1, and returns what it has when its gradients are to be computed.
func begins(t *testing.T, s optimizer.Session, ps []*optimizer.Param) (w, row float32) {
	t.Helper()
	st := &optimizer.Step{Samples: 1,
		Rows: []optimizer.Rows{{Param: ps[1], IDs: []uint64{7}, W: make([]float32, 1), G: []float32{-1}, Next: []uint64{7}}}}
	check(t, s.Begin(t.Context(), st))
	w, row = ps[0].W[0], st.Rows[0].W[0]
	ps[0].G[0] = -1
	check(t, s.End(t.Context(), st))
	return w, row
}

// TestPushesSayHowFarTheyAre: in every mode the last push has the position behind all steps, and each step is counted where it is
// pushed.
func TestPushesSayHowFarTheyAre(t *testing.T) {
	const steps = 6
	for _, m := range strategy.Modes() {
		t.Run(string(m), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &ledger{sign: 1}
				w, s, ps := begun(t, strategy.Strategy{Mode: m, KSteps: 2}, l)
				heard := listen(t, w, nil)
				for range steps {
					train(t, s, ps, false)
				}
				check(t, w.Settle(t.Context()))
				all := pushes(*heard)
				last := all[len(all)-1]
				if len(last.at) != 1 || last.at[0].Samples != steps {
					t.Errorf("the last push is at %+v, want %d samples", last.at, steps)
				}
				var samples uint32
				for _, p := range all {
					samples += p.samples
				}
				if n := w.Servers.Tally.Steps.Load(); samples != steps || m != strategy.ModeGeo && n != steps {
					t.Errorf("%d samples were pushed, %d steps counted, want %d", samples, n, steps)
				}
			})
		})
	}
}

// TestRoundsAreCounted: each push in lockstep is of the next round, also behind the end of an epoch, which takes a round of its own.
func TestRoundsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, ps := begun(t, strategy.Strategy{Mode: strategy.ModeSync}, &ledger{sign: -1})
		heard := listen(t, w, nil)
		first := w.Round()
		train(t, s, ps, false)
		train(t, s, ps, false)
		check(t, w.EndEpoch(t.Context()))
		parked := w.Round()
		train(t, s, ps, false)
		var rounds []uint64
		for _, one := range *heard {
			if one.samples > 0 || one.op == wire.OpPark {
				rounds = append(rounds, one.round-uint64(first))
			}
		}
		if fmt.Sprint(rounds) != fmt.Sprintf("[0 1 2 %d]", parked-first) || parked == first+2 {
			t.Errorf("rounds %v, after the epoch %d", rounds, parked-first)
		}
	})
}

// TestOneTurnAWorkerInLockstep: in lockstep a worker has one turn, elsewhere nothing waits.
func TestOneTurnAWorkerInLockstep(t *testing.T) {
	for m, alone := range map[strategy.Mode]bool{strategy.ModeSync: true, strategy.ModeAsync: false} {
		w := newWorker(t, strategy.Strategy{Mode: m}, &ledger{})
		done, err := w.InTurn(t.Context(), "saving")
		check(t, err)
		over, end := context.WithCancel(t.Context())
		end()
		for range 16 { // a free turn is taken now and then though ctx is over
			if _, err := w.InTurn(over, "pushing"); (err != nil) != alone {
				t.Errorf("%s: a second turn: %v", m, err)
			}
		}
		done()
		done, err = w.InTurn(t.Context(), "pushing")
		check(t, err)
		done()
	}
}

// TestWeightsAreRefreshedAfterAnEpoch: a step behind the end of an epoch has the servers' weights and rows, whatever came before with
// the same version.
func TestWeightsAreRefreshedAfterAnEpoch(t *testing.T) {
	for _, m := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync, strategy.ModeHalfAsync} {
		t.Run(string(m), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &ledger{sign: -1}
				w, s, ps := begun(t, strategy.Strategy{Mode: m}, l)
				train(t, s, ps, false)
				check(t, w.EndEpoch(t.Context()))
				l.mu.Lock()
				l.w, l.row = 50, 100
				l.mu.Unlock()
				if got, row := begins(t, s, ps); got != 50 || row != 100 {
					t.Errorf("the step begins with %v and %v, want 50 and 100", got, row)
				}
				check(t, s.Close(t.Context()))
			})
		})
	}
}

// TestEvaluationBetweenSteps: with delay compensation the step behind an evaluation brings its weights again, in half_async it goes on with
// the weights that all threads have.
func TestEvaluationBetweenSteps(t *testing.T) {
	for _, tt := range []struct {
		s    strategy.Strategy
		want float32
	}{
		{strategy.Strategy{Mode: strategy.ModeAsync, DelayCompensation: .1}, 50},
		{strategy.Strategy{Mode: strategy.ModeHalfAsync}, 1},
	} {
		t.Run(string(tt.s.Mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &ledger{sign: -1}
				w, s, ps := begun(t, tt.s, l)
				train(t, s, ps, false)
				check(t, w.Drain(t.Context()))
				l.mu.Lock()
				l.w = 50
				if tt.want != 50 {
					l.version++
				}
				l.mu.Unlock()
				train(t, s, ps, true)
				if got, _ := begins(t, s, ps); got != tt.want {
					t.Errorf("the step behind the evaluation begins with %v, want %v", got, tt.want)
				}
				check(t, s.Close(t.Context()))
			})
		})
	}
}

// TestAThreadThatClosesIsNotWaitedFor: in half_async a push has the positions of all threads that deliver, and goes when the last that is
// missing closes.
func TestAThreadThatClosesIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{sign: -1}
		w, a, pa := begun(t, strategy.Strategy{Mode: strategy.ModeHalfAsync}, l)
		heard := listen(t, w, nil)
		b, pb := another(t, w)
		step := func(s optimizer.Session, ps []*optimizer.Param, thread int) {
			st := &optimizer.Step{Samples: 1, Thread: thread, Threads: 2,
				Rows: []optimizer.Rows{{Param: ps[1], IDs: []uint64{7}, W: make([]float32, 1), G: []float32{-1}}}}
			if err := errors.Join(s.Begin(t.Context(), st), s.End(t.Context(), st)); err != nil {
				t.Error(err)
			}
		}
		for _, s := range []optimizer.Session{a, b} { // both train from now on
			check(t, s.(*opened).begun(&optimizer.Step{}))
		}
		var threads sync.WaitGroup
		threads.Go(func() { step(a, pa, 0) })
		threads.Go(func() { step(b, pb, 1) })
		threads.Wait()
		if all := pushes(*heard); len(all) != 1 || len(all[0].at) != 2 || all[0].samples != 2 {
			t.Errorf("pushes %+v, want one with the positions of two threads", all)
		}
		threads.Go(func() { step(a, pa, 0) })
		synctest.Wait()
		check(t, b.Close(t.Context()))
		threads.Wait()
		if l.pushes != 2 {
			t.Errorf("%d pushes, want 2", l.pushes)
		}
	})
}

// TestSharesOfGeo: of two workers each exchange takes half of what has changed, and what is left of a row that does not change again goes
// whole with the next, or stays; a Settle sends all.
func TestSharesOfGeo(t *testing.T) {
	for rest, want := range map[strategy.GeoRest]float32{"": 1, strategy.GeoRestKeep: .5} {
		synctest.Test(t, func(t *testing.T) {
			l := &ledger{sign: 1}
			w, s, ps := begun(t, strategy.Strategy{Mode: strategy.ModeGeo, KSteps: 1, GeoRest: rest}, l)
			w.Workers = 2
			train(t, s, ps, false)
			check(t, w.Drain(t.Context()))
			if l.w != .5 || l.row != .5 {
				t.Errorf("rest %q: half of the first step is %v and %v at the server", rest, l.w, l.row)
			}
			st := &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{{Param: ps[1]}}}
			check(t, errors.Join(s.Begin(t.Context(), st), s.End(t.Context(), st)))
			check(t, w.Drain(t.Context()))
			if l.row != want {
				t.Errorf("rest %q: the server has %v of the row, want %v", rest, l.row, want)
			}
			train(t, s, ps, false)
			check(t, w.Settle(t.Context()))
			if rest == "" && l.row != 2 {
				t.Errorf("after Settle the server has %v of the row, want 2", l.row)
			}
			w.Resume(40)
			if n := w.copied().model.store.Step(); n != 40 {
				t.Errorf("the copy goes on behind %d updates, want 40", n)
			}
		})
	}
}

// TestFailuresAreTold: what a request fails of is the next step's error, with how many steps servers may lack.
func TestFailuresAreTold(t *testing.T) {
	broken := errors.New("no server there")
	for _, m := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo} {
		t.Run(string(m), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s, ps := begun(t, strategy.Strategy{Mode: m, KSteps: 1}, &ledger{})
				listen(t, w, func(one said) error {
					if one.samples > 0 {
						return broken
					}
					return nil
				})
				st := &optimizer.Step{Samples: 1,
					Rows: []optimizer.Rows{{Param: ps[1], IDs: []uint64{7}, W: make([]float32, 1), G: []float32{-1}}}}
				err := errors.Join(s.Begin(t.Context(), st), s.End(t.Context(), st))
				err = errors.Join(err, w.Drain(t.Context()))
				if !errors.Is(err, broken) || !strings.Contains(err.Error(), "worker 0") {
					t.Errorf("%v, want that of the server, and whose it is", err)
				}
				if m == strategy.ModeAsync && !strings.Contains(err.Error(), "missing at the servers: 1") {
					t.Errorf("%v, want how many steps may be missing", err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorker(t, strategy.Strategy{Mode: strategy.ModeGeo, KSteps: 1}, &ledger{})
		w.UseRate = func(context.Context, func(float64)) error { return broken }
		w.Begin()
		s, ps := another(t, w)
		st := &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{{Param: ps[1]}}}
		if err := s.Begin(t.Context(), st); !errors.Is(err, broken) {
			t.Errorf("a worker of geo that does not get the rate begins: %v", err)
		}
	})
}

// TestWhatIsNotTheLayoutsIsRefused before anything of it is sent.
func TestWhatIsNotTheLayoutsIsRefused(t *testing.T) {
	for _, m := range strategy.Modes() {
		synctest.Test(t, func(t *testing.T) {
			w, s, ps := begun(t, strategy.Strategy{Mode: m}, &ledger{})
			heard := listen(t, w, nil)
			st := &optimizer.Step{Samples: 1,
				Rows: []optimizer.Rows{{Param: ps[1], IDs: []uint64{7, 7}, W: make([]float32, 2), G: make([]float32, 2)}}}
			if err := s.Begin(t.Context(), st); err == nil || len(*heard) > 0 {
				t.Errorf("%s: an id that comes twice: %v, %d requests", m, err, len(*heard))
			}
			others := params()
			others[0].Shape, others[0].W, others[0].G = []int{2}, make([]float32, 2), make([]float32, 2)
			if _, err := w.Open(others); err == nil {
				t.Errorf("%s: a session with another shape was opened", m)
			}
		})
	}
}

// TestFrozenValuesAreASessionsOwn until they are set: then the set ones are every session's.
func TestFrozenValuesAreASessionsOwn(t *testing.T) {
	make := func() []*optimizer.Param {
		return []*optimizer.Param{{Name: "a", Shape: []int{1}, Frozen: true, W: []float32{1}},
			{Name: "b", Shape: []int{1}, Frozen: true, W: []float32{2}}}
	}
	l, err := layout.New(make(), 1, placement.Options{})
	check(t, err)
	f, ps := newFrozen(l), make()
	has := f.Install(ps, -1)
	ps[0].W[0], ps[1].W[0] = 10, 20
	if has = f.Install(ps, has); ps[0].W[0] != 10 {
		t.Errorf("a value of the session's own became %v", ps[0].W[0])
	}
	f.Set(0, []float32{5})
	if f.Install(ps, has); ps[0].W[0] != 5 || ps[1].W[0] != 20 {
		t.Errorf("after the first was set to 5 they are %v and %v, want 5 and 20", ps[0].W[0], ps[1].W[0])
	}
	if all := fmt.Sprint(f.Values()); all != "[5 2]" {
		t.Errorf("the worker's values are %s", all)
	}
}
