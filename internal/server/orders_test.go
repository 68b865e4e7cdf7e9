package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// ordered does an order as server 0 sends it: until it is answered. One that names no task is for the cut's.
func ordered(t *testing.T, s *Server, o cut.Order) *cut.Answer {
	t.Helper()
	if o.Task == (cut.Task{}) {
		o.Task = taskOf(s.st.Follower.Plan()...)
	}
	for {
		switch a, err := s.holding.answer(&o, func() bool { return false }); {
		case err != nil:
			t.Fatal(err)
		case a.Number != o.Number:
			t.Fatalf("an order of cut %d is answered for cut %d", o.Number, a.Number)
		case a.Work != "":
			return a
		}
	}
}

// holds has a server hold a cut of a plan.
func holds(t *testing.T, s *Server, number uint64, plan ...cut.Work) {
	t.Helper()
	t.Cleanup(s.holding.under.Wait)
	a := ordered(t, s, cut.Order{Number: number, Work: cut.Hold, Task: taskOf(plan...)})
	if a.Stale || a.Err != "" {
		t.Fatalf("it does not hold: %+v", a)
	}
	for w, step := range a.Steps {
		if step != s.st.Roster.Last(w) || a.In[w] != s.st.Roster.In(w) {
			t.Errorf("it says that worker %d has come to %d, with parks to %d", w, step, a.In[w])
		}
	}
	if len(a.Steps) != s.st.Roster.Workers() {
		t.Errorf("it says how far %d workers are", len(a.Steps))
	}
}

// taskOf is a task with these works.
func taskOf(plan ...cut.Work) (t cut.Task) {
	has := cut.Plan(plan).Has
	if has(cut.Write) {
		t.Save = new(cut.Save)
	}
	if has(cut.End) {
		t.Shrink = unseen(1)
	}
	if has(cut.Mark) {
		t.Serve = new(cut.Serve)
	}
	if has(cut.Take) {
		t.Load = new(cut.Load)
	}
	t.Read = has(cut.Read) && t.Serve == nil && t.Load == nil
	return t
}

// unseen is the end of a period that drops rows which were not seen for so many.
func unseen(periods uint32) *cut.Shrink { return &cut.Shrink{Shrink: wire.Shrink{Unseen: periods}} }

// none are steps of a cut in which worker 0 has made none.
var none = []uint64{roster.Step(1, 0), 0}

// TestACutWaitsForNoDead: a step that this server lacks is waited for as long as its worker lives.
func TestACutWaitsForNoDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Async(), workers: 2}.server(t)
		send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
		holds(t, s, 1, cut.Read)
		reach := cut.Order{Number: 1, Work: cut.Reach, Steps: []uint64{roster.Step(1, 0), roster.Step(1, 2)}, Task: taskOf(cut.Read)}
		if a, err := s.holding.answer(&reach, func() bool { return false }); err != nil || a.Work != "" || a.Number != 1 {
			t.Fatalf("a step is lacking, and the answer is %+v, %v", a, err)
		}
		s.st.Lock()
		s.st.Roster.Drop(1, 1, false)
		s.deaths.membership.depart(1, false)
		s.st.Unlock()
		if a := ordered(t, s, reach); a.Stale || a.Err != "" || !s.st.Follower.Keeps(1) {
			t.Errorf("the worker is dead, and the answer is %+v", a)
		}
		ordered(t, s, cut.Order{Number: 1, Work: cut.Free})
	})
}

// TestSignsOfLifeEndAHold: one of server 0 that names another cut lets pushes go on, and one that names this cut, or
// is of before, does not.
//
// Promise: [G6] a server holds a cut until server 0 ends it or its heartbeats stop, does not wait for dead workers,
// writes a part once, and marks what it has listed
// Also: TestACutWaitsForNoDead, TestAPartIsWrittenOnce, TestAModelIsMarked
func TestSignsOfLifeEndAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, strategy.Async())
		holds(t, s, 2, cut.Read)
		ordered(t, s, cut.Order{Number: 2, Work: cut.Reach, Steps: none[:1]})
		pushed := make(chan uint8, 1)
		push := pushOf(s, wire.Header{Seq: 1})
		go func() { pushed <- statusOf(t, s, push) }()
		s.servers.index, s.servers.room.index = 1, 1 // of one that server 0 tells
		says := func(last, under uint64) {
			if _, err := s.servers.heard(&wire.Report{Server: 1, Process: s.servers.process, Cuts: [2]uint64{last, under}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		says(1, 0)
		says(2, 2)
		if s.holding.now == nil || s.st.Follower.Number() != 2 || weight(t, s) != 0 {
			t.Error("the hold is over")
		}
		says(2, 0)
		if s.holding.now != nil || s.st.Follower.Number() != 0 {
			t.Error("it is held still")
		}
		if status := <-pushed; status != wire.StatusOK {
			t.Errorf("status %d", status)
		}
	})
}

// TestPushesGoOnBehindACut: a push that waits for a cut goes on when server 0 ends the cut, not a second later.
func TestPushesGoOnBehindACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, strategy.Async())
		for seq := uint64(1); seq <= 3; seq++ {
			holds(t, s, seq, cut.Read)
			ordered(t, s, cut.Order{Number: seq, Work: cut.Reach, Steps: []uint64{roster.Step(1, seq-1)}})
			pushed := make(chan uint8, 1)
			push := pushOf(s, wire.Header{Seq: seq})
			go func() { pushed <- statusOf(t, s, push) }()
			synctest.Wait()
			began := time.Now()
			ordered(t, s, cut.Order{Number: seq, Work: cut.Free})
			if status, took := <-pushed, time.Since(began); status != wire.StatusOK || took != 0 {
				t.Errorf("push %d has status %d, %v behind the end of the cut that it waited for", seq, status, took)
			}
		}
	})
}

// TestParksAreStepsOfACut: where a phase is over on one server when a cut begins, the others let the parks in that end it: what is
// read in the cut may wait for the next phase.
func TestParksAreStepsOfACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all [2]*Server
		for i := range all {
			all[i] = job{strategy: strategy.Sync(), workers: 2}.server(t)
			send(t, all[i], message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 2, Fingerprint: all[i].c.Fingerprint}), wire.StatusOK)
		}
		parks := func(s *Server) (all []chan uint8) {
			for w := range uint32(2) {
				park := new(wire.Builder)
				park.Reset(wire.Header{Op: wire.OpPark, Worker: w, Life: 1, Seq: 1})
				all = append(all, sends(t, s, park))
			}
			return all
		}
		first, late := all[0], all[1]
		for _, status := range parks(first) {
			<-status
		}
		holds(t, first, 1, cut.Read)
		holds(t, late, 1, cut.Read)
		held := parks(late)
		synctest.Wait()
		steps := []uint64{first.st.Roster.In(0), first.st.Roster.In(1)}
		ordered(t, late, cut.Order{Number: 1, Work: cut.Reach, Steps: steps})
		for w, status := range held {
			select {
			case is := <-status:
				if is != wire.StatusOK {
					t.Errorf("worker %d's park has status %d", w, is)
				}
			case <-time.After(time.Minute):
				t.Errorf("worker %d's park waits for the cut's end", w)
			}
		}
		ordered(t, late, cut.Order{Number: 1, Work: cut.Free})
	})
}

// TestParksSentAgainWait: a park that comes again while the first waits for the end of a cut is not answered before that one counts.
// Its worker would otherwise tell a server that came back of an answer that no journal has.
func TestParksSentAgainWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Sync(), workers: 2}.server(t)
		send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
		holds(t, s, 1, cut.Read)
		var parks []chan uint8
		for range 2 {
			park := new(wire.Builder)
			park.Reset(wire.Header{Op: wire.OpPark, Worker: 1, Life: 1, Seq: 1})
			parks = append(parks, sends(t, s, park))
			synctest.Wait()
		}
		for i, status := range parks {
			select {
			case <-status:
				t.Errorf("request %d of the park is answered while it waits for its turn", i+1)
			default:
			}
		}
		ordered(t, s, cut.Order{Number: 1, Work: cut.Free})
		for i, status := range parks {
			if is := <-status; is != wire.StatusOK {
				t.Errorf("request %d of the park has status %d behind the cut's end", i+1, is)
			}
		}
		if in := s.st.Roster.In(1); in != roster.Step(1, 1) {
			t.Errorf("it says that worker 1 has come to %d", in)
		}
	})
}

// TestARefusalAnswersRepetitions: a push that is refused while it waits wakes its repetition, which has come later and looks
// by itself half a second later.
func TestARefusalAnswersRepetitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Async(), workers: 2}.server(t)
		send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
		holds(t, s, 1, cut.Read)
		first := sends(t, s, pushOf(s, wire.Header{Worker: 1, Seq: 1}))
		time.Sleep(500 * time.Millisecond)
		again := sends(t, s, pushOf(s, wire.Header{Worker: 1, Seq: 1}))
		s.st.Lock()
		s.st.Roster.Drop(1, 1, false)
		s.st.Follower.Order(&cut.Order{Number: 1, Work: cut.Free}) // wakes nobody
		s.st.Unlock()
		if status := <-first; status != wire.StatusStale {
			t.Errorf("the push of a dead worker has status %d", status)
		}
		refused := time.Now()
		if status, late := <-again, time.Since(refused); status != wire.StatusStale || late != 0 {
			t.Errorf("its repetition has status %d, %v later", status, late)
		}
	})
}

// TestRestartedServerRefusesHold: a server that was started again takes part in a cut when all workers that show life
// have shown that it lacks nothing.
//
// Promise: [G6] a restarted server holds no cut before its state is complete, and a restarted server 0 continues what
// it had begun
// Also: TestAReturnedServer0GoesOn
func TestRestartedServerRefusesHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, strategy.Async())
		s.st.Returned = true
		s.st.Roster.Awake(s.st.Clock.Now())
		hold := cut.Order{Number: 1, Work: cut.Hold, Task: taskOf(cut.Read)}
		if a, err := s.holding.answer(&hold, func() bool { return false }); err != nil || a.Work != "" || s.st.Follower.Number() != 0 {
			t.Fatalf("it holds: %+v, %v", a, err)
		}
		s.st.Returned = false
		holds(t, s, 1, cut.Read)
	})
}

// TestRowsThatAJournalLacksAreMissed: a server of rows alone, which has come back without a push that it had acknowledged, finds out:
// it has shown the worker no first weights, which would count as one request more.
func TestRowsThatAJournalLacksAreMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Async(), workers: 2}.server(t)
		send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
		s.part.Floats, s.st.Returned = 0, true
		s.st.Roster.Awake(s.st.Clock.Now())
		beat := new(wire.Builder)
		beat.Reset(wire.Header{Op: wire.OpHeartbeat, Worker: 1, Life: 1})
		send(t, s, beat, wire.StatusOK)
		beat.Reset(wire.Header{Op: wire.OpHeartbeat, Worker: 1, Life: 1, Acked: 1})
		send(t, s, beat, wire.StatusBack)
	})
}

// TestAReturnedServer0GoesOn with what can't be taken back: it holds from the start, has the work done, and no more.
func TestAReturnedServer0GoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, strategy.Async())
		send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
		ask := cut.Ask{ID: "a", Task: cut.Task{Shrink: unseen(1)}}
		then := s.facts(t)
		text, err := json.Marshal([]cut.Record{{Led: 4}, {Intent: &cut.Done{Number: 4, Ask: ask, Step: 1, At: none[:1]}}})
		if err != nil {
			t.Fatal(err)
		}
		then["cuts"] = text
		s.resume(t, then)
		life := s.leading.life
		ended, end := context.WithCancel(life)
		end()
		s.leading.life = ended // nothing is sent yet
		s.leading.begin()
		s.leading.under.Wait()
		if s.st.Follower.Number() != 4 || !s.st.Follower.Holds(0, roster.Step(1, 2)) {
			t.Error("it does not hold the cut from the start")
		}
		s.leading.life = life
		a := newAnchor(t, s, ask) // its worker asks again
		s.st.Lock()
		s.leading.do()
		s.leading.send(cut.Sending{To: 0, Order: &cut.Order{Number: 4, Work: cut.End, Name: "end-4", Task: ask.Task}})
		s.st.Unlock()
		a.whole()
		synctest.Wait()
		if last, under := s.st.Leader.Report(); last != 4 || under != 0 || s.st.Follower.Number() != 0 || s.part.Store.Tables[0].Clock() != 1 {
			t.Errorf("cut %d is under way behind %d, and %d periods have ended", under, last, s.part.Store.Tables[0].Clock())
		}
		if names := s.st.Follower.Names(); len(names) != 1 || names[0].Name != "end-4" {
			t.Errorf("the server remembers %v", names)
		}
	})
}

// TestAPartIsWrittenOnce: one that a process before has written stays, and the save is to begin anew.
func TestAPartIsWrittenOnce(t *testing.T) {
	s := newServer(t, strategy.Async())
	dir := t.TempDir()
	part := filepath.Join(dir, checkpoint.PartName(s.holding.fileID(1), 0, 1))
	if err := os.WriteFile(part, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(t, s, 1, cut.Write, cut.Commit)
	ordered(t, s, cut.Order{Number: 1, Work: cut.Reach, Steps: none[:1], Task: cut.Task{Save: &cut.Save{Dir: dir}}})
	if a := ordered(t, s, cut.Order{Number: 1, Work: cut.Write}); !strings.Contains(a.Err, "save again") {
		t.Errorf("the answer is %+v", a)
	}
	ordered(t, s, cut.Order{Number: 1, Work: cut.Free, Vain: true})
	s.holding.under.Wait()
	if text, err := os.ReadFile(part); err != nil || string(text) != "before" {
		t.Errorf("the part is %.20q, %v", text, err)
	}
}

// TestAModelIsMarked as served on a server that has listed its rows, once all is whole; one that has no list any more
// keeps its chain, so that the next delta is refused.
func TestAModelIsMarked(t *testing.T) {
	for name, lists := range map[string]bool{"listed": true, "started again": false} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, strategy.Async())
			send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
			holds(t, s, 1, cut.Read, cut.Mark)
			task := cut.Task{Serve: &cut.Serve{Serving: wire.Serving{Params: []string{"emb"}, Keep: -1}}}
			var listed wire.Listed
			if lists {
				a := ordered(t, s, cut.Order{Number: 1, Work: cut.Reach, Steps: []uint64{roster.Step(1, 1)}, Task: task})
				if err := json.Unmarshal(a.Said, &listed); err != nil || listed.Left != 0 || listed.Last != "" {
					t.Fatalf("it has listed %+v, %v: %s", listed, err, a.Err)
				}
				if w, err := s.holding.kept("1"); err != nil || len(w.lists[1]) != 1 || w.lists[1][0] != 7 || len(w.lists[1|gone]) != 0 {
					t.Fatalf("its lists are %+v, %v", w, err)
				}
			}
			chain := wire.Chain{Base: "b", Last: "b", Generation: "g"}
			task.Serve.Chain = chain
			for range 2 {
				a := ordered(t, s, cut.Order{Number: 1, Work: cut.Mark, Name: "mark-1", Task: task})
				if a.Stale || a.Err != "" {
					t.Fatalf("the answer is %+v", a)
				}
			}
			want := table.Chain{}
			if lists {
				want = table.Chain(chain)
			}
			if is := s.part.Store.Chain(); is != want {
				t.Errorf("the chain is %+v, want %+v", is, want)
			}
			if left := s.part.Store.Select(table.Serving{Delta: true, Params: []string{"emb"}, Keep: -1}); (len(left[0].Rows) == 0) != lists {
				t.Errorf("a delta would have %v", left[0].Rows)
			}
			ordered(t, s, cut.Order{Number: 1, Work: cut.Free})
		})
	}
}

// TestALoadIsSaved: behind a load a checkpoint is wanted, since who comes back would need the directory.
func TestALoadIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		choice := strategy.Async()
		choice.Recovery = strategy.Recovery{Dir: t.TempDir()}
		s := newServer(t, choice)
		dir := t.TempDir()
		send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
		newAnchor(t, s, cut.Ask{ID: "a", Task: cut.Task{Save: &cut.Save{Dir: dir}}}).whole()
		if s.recovery.wish.wanted {
			t.Fatal("a checkpoint is wanted behind a save")
		}
		send(t, s, pushOf(s, wire.Header{Seq: 2}), wire.StatusOK)
		load := cut.Task{Load: &cut.Load{Dir: dir}}
		newAnchor(t, s, cut.Ask{ID: "b", Task: load}).whole()
		synctest.Wait()
		if !s.recovery.wish.wanted || !s.recovery.asks(0) || weight(t, s) != -1 {
			t.Errorf("a checkpoint is wanted: %t; the weight is %v, want -1", s.recovery.wish.wanted, weight(t, s))
		}
		a := newAnchor(t, s, cut.Ask{ID: "c", Task: cut.Task{Save: &cut.Save{Progress: new(wire.Progress)}}})
		a.until(cut.Held)
		a.whole()
		if s.recovery.last.whole.IsZero() {
			t.Error("nobody knows when the last was whole")
		}
		if s.recovery.wish.wanted || s.recovery.wish.whole != 1 {
			t.Errorf("it was saved, and this is wanted: %+v", s.recovery.wish)
		}
		s.st.Lock()
		s.recovery.want()
		s.st.Unlock()
		send(t, s, pushOf(s, wire.Header{Seq: 3}), wire.StatusOK)
		newAnchor(t, s, cut.Ask{ID: "d", Task: cut.Task{Save: &cut.Save{Dir: dir}}}).whole()
		if !s.recovery.wish.wanted {
			t.Error("a save into another directory is what was wanted")
		}
		a = newAnchor(t, s, cut.Ask{ID: "e", Task: cut.Task{Save: &cut.Save{Progress: new(wire.Progress)}}})
		a.until(cut.Held)
		a.whole()
		s.st.Lock()
		s.recovery.want()
		s.st.Unlock()
		newAnchor(t, s, cut.Ask{ID: "f", Task: cut.Task{Save: &cut.Save{Progress: new(wire.Progress)}}}).whole()
		if s.recovery.wish.wanted || s.recovery.wish.whole != 3 {
			t.Errorf("one of this very step is there, and this is wanted: %+v", s.recovery.wish)
		}
	})
}

// changedRows asks for the rows that have changed, and says which come and whether these are all.
func changedRows(t *testing.T, s *Server, seq uint64) (ids []uint64, all bool) {
	t.Helper()
	b := new(wire.Builder)
	b.Reset(wire.Header{Op: wire.OpStep, Life: 1, Seq: seq, Version: wire.NoDense})
	b.Changed(1)
	var reply transport.Reply
	s.door.handle(bodyOf(s, b), &reply)
	defer reply.Done()
	var f wire.Frame
	if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil || f.Status != wire.StatusOK {
		t.Fatal(err, f.Refusal())
	}
	for _, sec := range f.Sections {
		all = all || sec.All()
		if sec.Kind == wire.KindRows {
			var err error
			if ids, err = sec.IDs(nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return ids, all
}

// TestCopiesBeginAnew: a worker that trains a copy has all rows when it begins, when some were dropped, and when others
// were loaded; else those that others have changed.
func TestCopiesBeginAnew(t *testing.T) {
	s := newServer(t, strategy.Geo(1))
	dir := t.TempDir()
	asks := func(seq uint64, rows int, all bool) {
		t.Helper()
		if ids, is := changedRows(t, s, seq); len(ids) != rows || is != all {
			t.Errorf("rows %v come, all that there are: %t; want %d, %t", ids, is, rows, all)
		}
	}
	send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
	asks(2, 1, true)
	asks(3, 0, false)
	newAnchor(t, s, cut.Ask{ID: "a", Task: cut.Task{Save: &cut.Save{Dir: dir}, Shrink: unseen(2)}}).whole()
	asks(4, 0, false) // nothing was dropped
	b := newAnchor(t, s, cut.Ask{ID: "b", Task: cut.Task{Shrink: unseen(1)}})
	if b.whole(); len(b.told.Said) != 1 || string(b.told.Said[0]) != `{"rows":[1],"waiting":[0]}` {
		t.Errorf("the worker is told %s", b.told.Said)
	}
	asks(5, 0, true)
	asks(6, 0, false)
	load := cut.Task{Load: &cut.Load{Dir: dir}}
	newAnchor(t, s, cut.Ask{ID: "c", Task: load}).whole()
	asks(7, 1, true)
	asks(8, 0, false)
}

// TestTheSaverIsTheLowest that goes on: one that was asked to end does not save for others.
func TestTheSaverIsTheLowest(t *testing.T) {
	for name, ends := range map[string]bool{"it goes on": false, "it was asked to end, and so was one below": true} {
		t.Run(name, func(t *testing.T) {
			s := job{strategy: strategy.Async(), workers: 2}.server(t)
			send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
			s.st.Lock()
			s.recovery.savers.Leaving()[0] = 1 // and has saved
			s.st.Roster.End(0, "it was asked to", false)
			s.st.Unlock()
			var reply transport.Reply
			s.door.handle(bodyOf(s, message(t, wire.Header{Op: wire.OpSaver, Worker: 1, Life: 1}, wire.Saver{Ends: ends})), &reply)
			defer reply.Done()
			var f wire.Frame
			var said wire.Saver
			if err := errors.Join(f.Parse(bytes.Join(reply.Parts, nil)), f.JSON(&said)); err != nil || said.Yours == ends {
				t.Errorf("the answer is %+v, %v", said, err)
			}
		})
	}
}

// TestALateSaverWaits, when it is asked to end, for workers that save before it and end, be it that they save a last time. These are all
// that are not late, and lower ones that are. For one that goes on it does not wait. Its own last save is recorded once.
func TestALateSaverWaits(t *testing.T) {
	last, ends, ending := wire.Saver{Last: true}, wire.Saver{Last: true, Ends: true}, wire.Saver{Ends: true}
	for name, row := range map[string]struct {
		other    *wire.Saver // that the other worker has asked, if it has
		beats    int         // behind that, which say nothing of an end
		late     bool        // it is as well
		first    bool        // it is worker 0, and not 1
		want     wire.Saver
		stopping int // records
	}{
		"beside another that goes on":                    {nil, 0, false, true, wire.Saver{Late: true}, 0},
		"beside another that saves a last time":          {&last, 0, false, true, wire.Saver{Late: true, Wait: true}, 2},
		"beside another that was asked to end too":       {&ends, 0, false, true, wire.Saver{Late: true, Wait: true}, 2},
		"beside another whose last beat was sent before": {&ending, 1, false, true, wire.Saver{Late: true, Wait: true}, 0},
		"beside another that was asked and goes on":      {&ending, 2, false, true, wire.Saver{Late: true}, 0},
		"above a late one that goes on":                  {nil, 0, true, false, wire.Saver{Late: true}, 0},
		"above a late one that saves a last time":        {&last, 0, true, false, wire.Saver{Late: true, Wait: true}, 2},
		"above a late one that was asked to end":         {&ends, 0, true, false, wire.Saver{Late: true, Wait: true}, 2},
		"below a late one that goes on":                  {nil, 0, true, true, wire.Saver{Yours: true}, 1},
		"below a late one that was asked to end":         {&ends, 0, true, true, wire.Saver{Yours: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the clock stands
				j := job{workers: 2, strategy: strategy.Async()}
				j.strategy.Recovery = strategy.Recovery{Dir: t.TempDir(), Journal: strategy.JournalProcess, JournalDir: t.TempDir()}
				d := &drawn{Server: j.empty(t), t: t, r: rand.New(rand.NewPCG(1, 1)), workers: make([]drawnWorker, j.workers)}
				if returned, err := d.Return(t.Context()); returned || err != nil {
					t.Fatal(returned, err)
				}
				defer d.Release()
				if err := d.segments.begun(); err != nil {
					t.Fatal(err)
				}
				d.begin(t)
				d.workers[0] = drawnWorker{life: 1, lives: true}
				d.joins(1)
				d.round()
				worker, other := 1, 0
				if row.first {
					worker, other = 0, 1
				}
				again := func(w int) {
					d.workers[w] = drawnWorker{life: d.workers[w].life + 1, lives: true}
					d.st.Lock()
					defer d.st.Unlock()
					if _, err := d.st.Roster.Begin(w, d.workers[w].life, d.st.Now()); err != nil || !d.st.Roster.Late(w) {
						t.Fatal("it is not late", err)
					}
				}
				if again(worker); row.late {
					again(other)
				}
				if row.other != nil {
					d.ask(other, wire.OpSaver, row.other)
				}
				for range row.beats {
					b := new(wire.Builder)
					b.Reset(wire.Header{Op: wire.OpHeartbeat, Worker: uint32(other), Life: d.workers[other].life})
					d.answer(b)
				}
				for range 3 {
					var said wire.Saver
					f := d.ask(worker, wire.OpSaver, ends)
					err := f.JSON(&said)
					said.Last, said.Ends = false, false
					if err != nil || said != row.want {
						t.Errorf("the answer is %+v, %v, want %+v", said, err, row.want)
					}
				}
				kinds := map[string]int{}
				if kindsOf(t, d.segments.journal.Journal, kinds); kinds["stopping"] != row.stopping {
					t.Errorf("%d records of a last save, want %d", kinds["stopping"], row.stopping)
				}
			})
		})
	}
}

// TestServersFollowServer0 to the checkpoint that it has begun from, as far as they can see that.
func TestServersFollowServer0(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, strategy.Async())
		first := wire.Base{Name: "ckpt-000007", ID: "seven"}
		for _, name := range []string{"../ckpt-000007", "a/b"} {
			err := s.following.follow(t.Context(), wire.Base{Name: name, ID: "seven"})
			if !errors.Is(err, wire.ErrFailed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		loaded := ""
		s.recovery.series.Dir = t.TempDir()
		s.following.patience, s.following.load = time.Minute, func(ctx context.Context, dir string) (checkpoint.Manifest, error) {
			loaded = dir
			return checkpoint.Manifest{ID: "seven"}, nil
		}
		for _, name := range []string{"../ckpt-000007", "a/b"} {
			if err := s.following.follow(t.Context(), wire.Base{Name: name, ID: "seven"}); err == nil || loaded != "" {
				t.Errorf("%s: %v, and %q was loaded", name, err, loaded)
			}
		}
		began := time.Now()
		err := s.following.follow(t.Context(), first)
		if took := time.Since(began); err == nil || took < time.Minute || !strings.Contains(err.Error(), "manifest.json") && !strings.Contains(err.Error(), "ckpt-000007") {
			t.Errorf("a checkpoint that is not there: %v after %v", err, took)
		}
		for epoch, m := range map[int]checkpoint.Manifest{
			4: {ID: "eight", Progress: &checkpoint.Progress{Epoch: 4}}, 1: {ID: "nine"}} { // a model has none
			s.recovery.epochs.progress.Epoch = 1
			err := s.following.resumeFrom(t.Context(), "a/ckpt-000008", func(context.Context, string) (checkpoint.Manifest, error) { return m, nil })
			if err != nil || s.recovery.epochs.progress.Epoch != epoch || s.recovery.base != (wire.Base{Name: "ckpt-000008", ID: m.ID}) {
				t.Errorf("it goes on from %+v at epoch %d, %v", s.recovery.base, s.recovery.epochs.progress.Epoch, err)
			}
		}
	})
}

// TestATakeReadsAgain: a server that was started again when others have begun to take a load reads the directory anew,
// and takes what they have found there, or nothing; one that has read it takes that.
func TestATakeReadsAgain(t *testing.T) {
	s := newServer(t, strategy.Async())
	dir := t.TempDir()
	send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
	newAnchor(t, s, cut.Ask{ID: "a", Task: cut.Task{Save: &cut.Save{Dir: dir}}}).whole()
	s.holding.under.Wait()
	s.leading.under.Wait()
	send(t, s, pushOf(s, wire.Header{Seq: 2}), wire.StatusOK)
	load := cut.Task{Load: &cut.Load{Dir: dir}}
	take := func(number uint64, found []byte, says string, weighs float32) {
		t.Helper()
		task := cut.Task{Load: &cut.Load{Dir: dir, Found: string(found)}}
		a := ordered(t, s, cut.Order{Number: number, Work: cut.Take, Name: fmt.Sprint("take-", number), Task: task})
		if !strings.Contains(a.Err, says) || says == "" && a.Err != "" || weight(t, s) != weighs {
			t.Errorf("take %d: %q, and the weight is %v, want %q and %v", number, a.Err, weight(t, s), says, weighs)
		}
		ordered(t, s, cut.Order{Number: number, Work: cut.Free})
	}
	steps := []uint64{roster.Step(1, 2)}
	holds(t, s, 5, cut.Read, cut.Take)
	take(5, []byte("another"), "other servers have loaded another", -2)
	holds(t, s, 6, cut.Read, cut.Take)
	found := ordered(t, s, cut.Order{Number: 6, Work: cut.Reach, Steps: steps, Task: load}).Said
	ordered(t, s, cut.Order{Number: 6, Work: cut.Free})
	holds(t, s, 7, cut.Read, cut.Take)
	take(7, found, "", -1)
	send(t, s, pushOf(s, wire.Header{Seq: 3}), wire.StatusOK)
	holds(t, s, 8, cut.Read, cut.Take)
	ordered(t, s, cut.Order{Number: 8, Work: cut.Reach, Steps: []uint64{roster.Step(1, 3)}, Task: load})
	if err := os.Remove(filepath.Join(dir, "manifest.json")); err != nil {
		t.Fatal(err)
	}
	take(8, found, "", -1) // as it was read
	holds(t, s, 9, cut.Read, cut.Take)
	take(9, found, "manifest.json", -1)
}

// TestALeaverEndsItsCut: pushes go on when the anchor of a cut leaves; another worker leaves at once, and the cut
// goes on.
//
// Promise: [G6] a worker that leaves ends its own cut and no other's
func TestALeaverEndsItsCut(t *testing.T) {
	for name, c := range map[string]struct {
		who  uint32
		over bool
	}{"the anchor": {0, true}, "another": {1, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := job{strategy: strategy.Async(), workers: 2}.server(t)
				send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
				newAnchor(t, s, cut.Ask{ID: "a", Task: cut.Task{Save: &cut.Save{Dir: t.TempDir()}}}).until(cut.Held)
				began, b := time.Now(), new(wire.Builder)
				b.Reset(wire.Header{Op: wire.OpLeave, Worker: c.who, Life: 1})
				send(t, s, b, wire.StatusOK)
				synctest.Wait()
				if s.st.Follower.Number() == 0 != c.over || time.Since(began) > 0 {
					t.Errorf("cut %d is held %v later", s.st.Follower.Number(), time.Since(began))
				}
			})
		})
	}
}

// TestAJournalThatFailsAtTheEnd of a period sends all back: a server that came back would not have ended it.
func TestAJournalThatFailsAtTheEnd(t *testing.T) {
	choice := strategy.Async()
	choice.Recovery = strategy.Recovery{Dir: t.TempDir(), Journal: strategy.JournalProcess, JournalDir: t.TempDir()}
	s := job{strategy: choice}.empty(t)
	if returned, err := s.Return(t.Context()); returned || err != nil {
		t.Fatal(returned, err)
	}
	if err := s.segments.begun(); err != nil {
		t.Fatal(err)
	}
	s.begin(t)
	holds(t, s, 1, cut.End)
	ordered(t, s, cut.Order{Number: 1, Work: cut.Reach, Steps: none[:1]})
	s.segments.journal.Close()
	_, err := s.holding.answer(&cut.Order{Number: 1, Work: cut.End, Name: "end-1", Task: cut.Task{Shrink: unseen(1)}}, func() bool { return false })
	s.holding.under.Wait()
	s.st.Lock()
	defer s.st.Unlock()
	if !errors.Is(s.st.Failure, wire.ErrWentBack) || !errors.Is(err, wire.ErrWentBack) || !strings.Contains(err.Error(), "journal") {
		t.Errorf("the job: %v; the answer: %v", s.st.Failure, err)
	}
}

// TestAServerThatEndsDoesNoOrder: an order that comes as a server closes is for the process that takes its place.
func TestAServerThatEndsDoesNoOrder(t *testing.T) {
	choice := strategy.Async()
	s := newServer(t, choice)
	holds(t, s, 1, cut.End)
	s.st.Close()
	if _, err := s.holding.answer(&cut.Order{Number: 1, Work: cut.End, Name: "end-1", Task: taskOf(cut.End)}, func() bool { return false }); err == nil {
		t.Error("the order is answered")
	}
	s.holding.under.Wait()
	if names := s.st.Follower.Names(); len(names) != 0 || s.part.Store.Tables[0].Clock() != 0 {
		t.Errorf("it has done %v", names)
	}
}
