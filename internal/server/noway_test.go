package server

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/journal"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestWhatNoServerFollows: a checkpoint without an id, with a path for a name, or in a job that has none of its own is
// refused at once, and nothing is looked for.
func TestWhatNoServerFollows(t *testing.T) {
	loads := func(context.Context, string) (checkpoint.Manifest, error) { return checkpoint.Manifest{}, nil }
	for name, c := range map[string]struct {
		first wire.Base
		load  loader
	}{
		"no id":       {wire.Base{Name: "ckpt-000007"}, loads},
		"a path":      {wire.Base{Name: "../ckpt-000007", ID: "seven"}, loads},
		"none of its": {wire.Base{Name: "ckpt-000007", ID: "seven"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, strategy.Async())
				s.recovery.series.Dir = t.TempDir()
				s.following.patience, s.following.load = time.Minute, c.load
				began := time.Now()
				if err := s.following.follow(t.Context(), c.first); !errors.Is(err, wire.ErrFailed) || time.Since(began) > 0 {
					t.Errorf("it follows for %v: %v", time.Since(began), err)
				}
			})
		})
	}
}

// TestAServerThatIsNotReached: a cut is given up when a server can't be reached for as long as one may be away, and its
// worker may begin again.
func TestAServerThatIsNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Async(), endpoints: []string{"server:1", "server:2"}}.server(t)
		a := newAnchor(t, s, cut.Ask{ID: "a", Task: taskOf(cut.Read)})
		if status := a.asks(); status != wire.StatusOK {
			t.Fatal(status)
		}
		time.Sleep(s.leading.peers.Away * 3 / 4)
		s.st.Lock()
		if _, under := s.st.Leader.Report(); under != 1 {
			t.Errorf("cut %d is under way before that", under)
		}
		s.st.Unlock()
		time.Sleep(s.leading.peers.Away)
		s.st.Lock()
		told := s.st.Leader.Ask(&a.Ask)
		s.st.Unlock()
		if !errors.Is(told.Err, wire.ErrStale) || !strings.Contains(told.Err.Error(), "server 1 was not reached") {
			t.Errorf("its worker is told %v", told.Err)
		}
		time.Sleep(2 * s.leading.peers.Away) // nor to be told that it is free, which the next report says
		s.st.Lock()
		defer s.st.Unlock()
		if o := s.leading.orders[1]; o != nil || s.leading.withdraw[1] != nil {
			t.Errorf("it is sent %+v still", o)
		}
	})
}

// TestReturnedServerAwaitsItsWorkers: a server that has come back takes no part in a cut before each worker in the job has
// shown that nothing it knows of is lacking, and none of them counts as silent for the time that the server was away.
func TestReturnedServerAwaitsItsWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := withJournal(t)
		first, _ := j.journaled(t)
		send(t, first, pushOf(first, wire.Header{Seq: 1}), wire.StatusOK)
		first.Release()
		time.Sleep(10 * j.strategy.WithDefaults().WorkerTimeout.Std())
		s, returned := j.journaled(t)
		if !returned {
			t.Fatal("it has not come back")
		}
		s.st.Lock()
		if deaths := s.st.Roster.Silent(s.st.Now()); len(deaths) != 0 || !s.st.Roster.Heard(s.st.Now()) {
			t.Errorf("%d workers are dead", len(deaths))
		}
		s.st.Unlock()
		hold := cut.Order{Number: 1, Work: cut.Hold, Task: taskOf(cut.Read)}
		if a, err := s.holding.answer(&hold, func() bool { return false }); err != nil || a.Work != "" || s.st.Follower.Number() != 0 {
			t.Errorf("it holds before its worker has shown life: %+v, %v", a, err)
		}
		b := new(wire.Builder)
		b.Reset(wire.Header{Op: wire.OpHeartbeat, Life: 1})
		send(t, s, b, wire.StatusOK)
		holds(t, s, 1, cut.Read)
		ordered(t, s, cut.Order{Number: 1, Work: cut.Free})
	})
}

// TestAGapInTheFirstWeights is refused with the pieces that it lies between.
func TestAGapInTheFirstWeights(t *testing.T) {
	s := newServer(t, strategy.Async())
	s.st.Published = false
	b := new(wire.Builder)
	b.Reset(wire.Header{Op: wire.OpPublish, Life: 1})
	b.Piece(wire.Piece{Number: 5, Of: 9})
	b.Span(0, 1)
	b.Dense([]float32{1})
	var reply transport.Reply
	s.door.handle(bodyOf(s, b), &reply)
	defer reply.Done()
	var f wire.Frame
	if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil || f.Status != wire.StatusRefused {
		t.Fatal(err, f.Status)
	}
	if text := f.Refusal().Error(); !strings.Contains(text, "publishes piece 6 after 1") {
		t.Errorf("it is refused with %q", text)
	}
}

// TestServersDoubtAModelOnce: servers note what their worker doubts of a model before it is whole, once, and only in its cut.
func TestServersDoubtAModelOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, strategy.Async())
		chain := table.Chain{Base: "b", Last: "b", Generation: "g"}
		s.part.Store.SetChain(chain)
		doubts := func(cut string) *wire.Builder {
			return message(t, wire.Header{Op: wire.OpServe, Life: 1}, wire.Serve{Cut: cut, Before: wire.Chain(chain.Doubted())})
		}
		send(t, s, doubts("1"), wire.StatusStale)
		a := newAnchor(t, s, cut.Ask{ID: "a", Task: taskOf(cut.Read)})
		a.until(cut.Reached)
		for range 2 {
			send(t, s, doubts("1"), wire.StatusOK)
			if is := s.part.Store.Chain(); is != chain.Doubted() {
				t.Errorf("the chain is %+v", is)
			}
		}
		a.Ends = true
		a.whole()
	})
}

// TestAJournalGrowsLarge: another server than the first reports that its journal is large, again until server 0 has heard
// it, and then no more; while it is not large it reports nothing.
func TestAJournalGrowsLarge(t *testing.T) {
	j, err := journal.Open(journal.Options{Dir: t.TempDir(), Name: "j"})
	if err == nil {
		err = j.Next(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Async(), endpoints: []string{"server:1", "server:2"}}.server(t)
		s.servers.index = 1
		var reports atomic.Int32
		l, err := s.c.Transport.Listen("server:1")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			done <- l.Serve(func(_ []byte, reply *transport.Reply) {
				var b wire.Builder
				b.Reset(wire.Header{Op: wire.OpReport, Status: wire.StatusNotReady})
				if reports.Add(1) > 2 {
					b.Reset(wire.Header{Op: wire.OpReport})
					_ = b.JSON(wire.Reported{})
				}
				reply.Parts = b.Parts()
			})
		}()
		c := &growth{journal: &state.Journal{Journal: j}, segments: new(segments), servers: s.servers}
		ctx, end := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); c.watch(ctx, 10_000) }()
		time.Sleep(10 * s.servers.pace)
		if n := reports.Load(); n != 0 {
			t.Errorf("%d reports of a small journal", n)
		}
		if err := j.Append(state.KindEvent, make([]byte, 20_000)); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * s.servers.pace)
		end()
		<-over
		if n := reports.Load(); n != 3 {
			t.Errorf("%d reports, of which the third was heard", n)
		}
		if err := errors.Join(l.Close(t.Context()), <-done); err != nil {
			t.Error(err)
		}
	})
}

// TestOrderIsAnsweredWhenDone: an order is answered when its work is done, and not at the end of a wait.
func TestOrderIsAnsweredWhenDone(t *testing.T) {
	for work, plan := range map[cut.Work]cut.Plan{cut.Write: {cut.Write, cut.Commit}, cut.End: {cut.End}, cut.Mark: {cut.Read, cut.Mark},
		cut.Take: {cut.Read, cut.Take}} {
		t.Run(string(work), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, strategy.Async())
				task := taskOf(plan...)
				switch work {
				case cut.Write:
					task.Save.Dir = t.TempDir()
				case cut.Mark:
					task.Serve.Params = []string{"emb"}
				case cut.Take:
					task.Load.Dir = t.TempDir()
					commits(t, s, task.Load.Dir, "seven")
				}
				began := time.Now()
				for _, w := range []cut.Work{cut.Hold, cut.Reach, work, cut.Free} {
					o := cut.Order{Number: 1, Work: w, Task: task, Steps: none[:1]}
					if w == work {
						o.Name = "final-1"
					}
					a, err := s.holding.answer(&o, func() bool { return false })
					if err != nil || a.Work != w || a.Err != "" || time.Since(began) > 0 {
						t.Fatalf("%s is answered with %+v, %v, %v later", w, a, err, time.Since(began))
					}
					if work == cut.Take && w == cut.Reach {
						task.Load.Found = string(a.Said)
					}
				}
				s.holding.under.Wait()
				if s.holding.now != nil {
					t.Error("the cut is over, and what was set aside for it is kept")
				}
			})
		})
	}
}

// TestALoadWhereWorkersTrainCopies has servers count the checkpoint's updates, and workers told of that number and that
// all of their copies are others.
func TestALoadWhereWorkersTrainCopies(t *testing.T) {
	s := newServer(t, strategy.Geo(1))
	dir := t.TempDir()
	image := checkpoint.ImageOf(s.part.Store)
	part, err := checkpoint.WriteImage(t.Context(), dir, checkpoint.PartName("a", 0, 1), image)
	image.Close()
	if err == nil {
		err = checkpoint.Commit(dir, checkpoint.Manifest{ID: "a", Rule: s.c.Rule.Name(), Step: 40, Copies: true,
			Params: checkpoint.Params(s.c.Layout.Params), Parts: []checkpoint.Part{part}})
	}
	if err != nil {
		t.Fatal(err)
	}
	n := s.reloading.readFrom(t.Context(), dir, nil)
	if n.err != nil {
		t.Fatal(n.err)
	}
	s.st.Lock()
	defer s.st.Unlock()
	s.reloading.put(&n)
	if open := s.st.Mode.Open(); open != 40 || s.st.Loads.Updates != 40 || s.st.Loads.Whole != 1 {
		t.Errorf("%v updates count, and workers are told %+v", open, s.st.Loads)
	}
}

// TestReleasingACutsWorkTwice: what lets go of a cut's work may do so again, and where there is none.
func TestReleasingACutsWorkTwice(t *testing.T) {
	s := newServer(t, strategy.Async())
	image := checkpoint.ImageOf(s.part.Store)
	w := &work{image: &image}
	for range 2 {
		if w.close(); w.image != nil {
			t.Error("its image is there still")
		}
	}
	w = nil
	w.close()
}

// TestASpanOfFrozenValues: a worker that joins gets the ones that it asks for, from several params.
func TestASpanOfFrozenValues(t *testing.T) {
	s := newKeeper(t)
	s.st.Lock()
	err := s.loading.frozen.put([]float32{1, 2, 3, 4})
	s.st.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	for from := range 4 {
		for to := from + 1; to <= 4; to++ {
			b := message(t, wire.Header{Op: wire.OpBring, Life: 1}, wire.Keep{})
			b.Span(from, to)
			var reply transport.Reply
			s.door.handle(bodyOf(s, b), &reply)
			var f wire.Frame
			if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil || f.Status != wire.StatusOK {
				t.Fatal(err, f.Refusal())
			}
			var got []float32
			for _, sec := range f.Sections {
				if w, err := sec.Dense(); sec.Kind == wire.KindDense && err == nil {
					got = slices.Clone(w)
				}
			}
			if !slices.Equal(got, []float32{1, 2, 3, 4}[from:to]) {
				t.Errorf("values %d to %d are %v", from, to, got)
			}
			reply.Done()
		}
	}
}

// TestAServerOutlastsItsEnd: what a server does as it is asked to end has a context that goes on, which ends behind it,
// and a server that ends by itself waits for it.
func TestAServerOutlastsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, why := new(stopping), errors.New("it was asked to end")
		ctx, end := context.WithCancelCause(t.Context())
		done := make(chan struct{})
		longer, release := c.outlast(ctx, func(ctx context.Context) {
			if time.Sleep(time.Minute); ctx.Err() != nil {
				t.Errorf("its context has ended: %v", ctx.Err())
			}
			close(done)
		})
		end(why)
		<-longer.Done()
		select {
		case <-done:
		default:
			t.Error("nothing was done before")
		}
		if err := context.Cause(longer); err != why {
			t.Errorf("it ends with %v", err)
		}
		release()
		ctx, end = context.WithCancelCause(t.Context())
		var over bool
		_, release = c.outlast(ctx, func(ctx context.Context) { <-ctx.Done(); time.Sleep(time.Second); over = true })
		end(why)
		synctest.Wait()
		if release(); !over {
			t.Error("it is not waited for")
		}
	})
}

// TestAnUnknownWork of another build is refused at once.
func TestAnUnknownWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, strategy.Async())
		holds(t, s, 1, cut.Read)
		began := time.Now()
		a, err := s.holding.answer(&cut.Order{Number: 1, Work: "paint"}, func() bool { return false })
		if err != nil || !strings.Contains(a.Err, `no work "paint"`) || time.Since(began) > 0 {
			t.Errorf("%+v, %v, %v later", a, err, time.Since(began))
		}
		ordered(t, s, cut.Order{Number: 1, Work: cut.Free})
	})
}

// TestInvalidPeriodEndIsRefused: an order to end a period that says nothing of how is answered with why, and ends none.
func TestInvalidPeriodEndIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, strategy.Async())
		holds(t, s, 1, cut.End)
		ordered(t, s, cut.Order{Number: 1, Work: cut.Reach, Steps: none[:1]})
		if a := ordered(t, s, cut.Order{Number: 1, Work: cut.End, Name: "end-1", Task: taskOf(cut.Read)}); a.Err == "" || s.part.Store.Tables[0].Clock() != 0 {
			t.Errorf("it is answered with %+v, and %d periods have ended", a, s.part.Store.Tables[0].Clock())
		}
		ordered(t, s, cut.Order{Number: 1, Work: cut.Free})
	})
}
