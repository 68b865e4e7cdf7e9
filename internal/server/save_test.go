package server

import (
	"bytes"
	"os"
	"testing"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// anchor is worker 0, which asks for a cut. Each of its questions comes twice.
type anchor struct {
	t *testing.T
	s *Server
	cut.Ask
	told cut.Told
}

func newAnchor(t *testing.T, s *Server, ask cut.Ask) *anchor {
	t.Helper()
	s.st.Lock()
	begun := s.leading.begun
	s.st.Unlock()
	if !begun {
		s.leading.begin()
		t.Cleanup(s.leading.under.Wait)
		t.Cleanup(s.holding.under.Wait)
		t.Cleanup(s.st.End)
	}
	return &anchor{t: t, s: s, Ask: ask}
}

// asks asks twice, and returns the second answer's status.
func (a *anchor) asks() (status uint8) {
	a.t.Helper()
	for range 2 {
		var reply transport.Reply
		a.s.door.handle(bodyOf(a.s, message(a.t, wire.Header{Op: wire.OpCut, Life: 1}, a.Ask)), &reply)
		var f wire.Frame
		err := f.Parse(bytes.Join(reply.Parts, nil))
		if status = f.Status; err == nil && status == wire.StatusOK {
			a.told = cut.Told{}
			err = f.JSON(&a.told)
		}
		if err != nil {
			a.t.Fatal(err)
		}
		reply.Done()
	}
	return status
}

// until goes on to a stage, from which the worker knows of it.
func (a *anchor) until(stage cut.Stage) {
	a.t.Helper()
	for a.Knows != stage {
		if status := a.asks(); status != wire.StatusOK {
			a.t.Fatalf("status %d", status)
		}
		if a.told.Stage == cut.Whole && stage != cut.Whole {
			a.t.Fatal("it is whole")
		}
		a.Number, a.Knows = a.told.Number, a.told.Stage
	}
}

func (a *anchor) whole() {
	a.t.Helper()
	a.until(cut.Whole)
}

// TestMessagesOfASaveComeTwice repeats every message of a save, right after itself and when the save is over: the same
// answers, and no cut that nobody would end.
func TestMessagesOfASaveComeTwice(t *testing.T) {
	s := newServer(t, strategy.Async())
	send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
	a := newAnchor(t, s, cut.Ask{ID: "a", Task: cut.Task{Save: &cut.Save{Dir: t.TempDir()}}})
	first := a.Ask
	a.whole()
	send(t, s, pushOf(s, wire.Header{Seq: 2, Acked: 2}), wire.StatusOK)
	a.Ask = first
	a.whole()
	s.st.Lock() // the answer to the order that frees this server may be on its way
	last, _ := s.st.Leader.Report()
	held := s.st.Follower.Number()
	s.st.Unlock()
	if last != 1 || held > 1 {
		t.Fatal("a late message of a save has begun another")
	}
	send(t, s, pushOf(s, wire.Header{Seq: 3, Acked: 3}), wire.StatusOK)
	if w := weight(t, s); w != -3 {
		t.Errorf("weight %g after three pushes, want -3", w)
	}
}

// TestASaveThatWasGivenUp sends its messages late.
func TestASaveThatWasGivenUp(t *testing.T) {
	s := newServer(t, strategy.Async())
	a := newAnchor(t, s, cut.Ask{ID: "a", Task: cut.Task{Save: &cut.Save{Dir: t.TempDir()}}, GivesUp: true})
	if status := a.asks(); status != wire.StatusStale {
		t.Errorf("status %d", status)
	}
	if a.GivesUp = false; a.asks() != wire.StatusStale {
		t.Error("it begins")
	}
	if _, under := s.st.Leader.Report(); under != 0 || s.st.Follower.Number() != 0 {
		t.Error("a save that was given up holds pushes")
	}
}

// TestStrangersWriteNothing has those who are no workers of the job ask for files.
func TestStrangersWriteNothing(t *testing.T) {
	s := newServer(t, strategy.Async())
	dir := t.TempDir()
	ask := cut.Ask{ID: "a", Task: cut.Task{Save: &cut.Save{Dir: dir}}}
	for _, op := range []wire.Op{wire.OpCut, wire.OpKeep, wire.OpServe} {
		for name, c := range map[string]struct {
			h    wire.Header
			want uint8
		}{
			"another job":         {wire.Header{Life: 1, Job: 1}, wire.StatusBack},
			"no worker":           {wire.Header{Life: 1, Worker: 9}, wire.StatusRefused},
			"an earlier life":     {wire.Header{Life: 0}, wire.StatusStale},
			"one that never came": {wire.Header{Life: 2}, wire.StatusNotReady},
		} {
			t.Run(op.String()+" of "+name, func(t *testing.T) {
				h := c.h
				h.Op = op
				send(t, s, message(t, h, ask), c.want)
			})
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("%d files were written, error %v", len(files), err)
	}
}

// TestFilesOfASaveThatWasGivenUp: the part of a save that nobody will commit is removed; that of a checkpoint stays,
// whatever comes late of it.
func TestFilesOfASaveThatWasGivenUp(t *testing.T) {
	for name, vain := range map[string]bool{"given up": true, "whole": false} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, strategy.Async())
			dir := t.TempDir()
			order := func(o cut.Order) (a *cut.Answer) {
				t.Helper()
				for a == nil || a.Work == "" {
					var err error
					if a, err = s.holding.answer(&o, func() bool { return false }); err != nil || a.Err != "" {
						t.Fatal(err, a)
					}
				}
				return a
			}
			order(cut.Order{Number: 1, Work: cut.Hold, Task: taskOf(cut.Write, cut.Commit)})
			order(cut.Order{Number: 1, Work: cut.Reach, Steps: []uint64{roster.Step(1, 0)}, Task: cut.Task{Save: &cut.Save{Dir: dir}}})
			if a := order(cut.Order{Number: 1, Work: cut.Write}); a.Stale {
				t.Fatal("nothing was written")
			}
			for range 2 {
				order(cut.Order{Number: 1, Work: cut.Free, Vain: vain})
			}
			if a := order(cut.Order{Number: 1, Work: cut.Write}); !a.Stale {
				t.Errorf("a late order is answered with %+v", a)
			}
			s.holding.under.Wait()
			if files, err := os.ReadDir(dir); err != nil || len(files) != map[bool]int{true: 0, false: 1}[vain] {
				t.Errorf("%v are there, error %v", files, err)
			}
		})
	}
}

// TestARestartedWorkerEndsItsSave: another process in a worker's place does not go on with its save, and pushes do.
func TestARestartedWorkerEndsItsSave(t *testing.T) {
	s := newServer(t, strategy.Async())
	a := newAnchor(t, s, cut.Ask{ID: "a", Task: cut.Task{Save: &cut.Save{Dir: t.TempDir()}}})
	a.until(cut.Held)
	hello := message(t, wire.Header{Op: wire.OpJoin}, wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint})
	send(t, s, hello, wire.StatusNotReady)
	s.st.Roster.End(0, "it was restarted", false)
	send(t, s, hello, wire.StatusOK)
	send(t, s, pushOf(s, wire.Header{Seq: 1, Life: 2}), wire.StatusOK)
	send(t, s, message(t, wire.Header{Op: wire.OpCut, Life: 2}, a.Ask), wire.StatusStale)
}

// TestTheStepOfAManifest is the tables' update, and where workers train copies how many each has made.
func TestTheStepOfAManifest(t *testing.T) {
	for m, want := range map[strategy.Mode]int64{strategy.ModeAsync: 3, strategy.ModeGeo: 7} {
		choice := strategy.Async()
		if m == strategy.ModeGeo {
			choice = strategy.Geo(1)
		}
		s := newServer(t, choice)
		is := s.saving.manifest(&cut.Sealing{Save: cut.Save{ID: "a"}, Steps: []uint64{roster.Step(2, 9)}}, []written{{Step: 3, Updates: 7}})
		if is.Step != want || is.Copies != (m == strategy.ModeGeo) || len(is.Steps) != 1 || is.Steps[0] != 9 {
			t.Errorf("%s: step %d, copies %t, steps of workers %v", m, is.Step, is.Copies, is.Steps)
		}
	}
}

// TestRateFactorBeginsAtItsUpdate: where workers train copies a checkpoint has a factor from the next of their updates on.
func TestRateFactorBeginsAtItsUpdate(t *testing.T) {
	s := newServer(t, strategy.Geo(1))
	s.part.Store.SetStep(10)
	s.part.Store.SetRateFactor(0.5)
	s.st.Lock()
	p := s.saving.partOf(&cut.Save{})
	s.st.Unlock()
	if n := len(p.RateFactors); n == 0 || p.Updates != 0 || p.RateFactors[n-1].From != 1 || p.RateFactors[n-1].By != 0.5 {
		t.Errorf("behind %d updates the factors are %+v", p.Updates, p.RateFactors)
	}
}
