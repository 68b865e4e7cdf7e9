package server

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestAnOrderMayTakeLong: a server that is not there yet for long, and is away after that for less than servers may be, is
// asked until it has done the order.
func TestAnOrderMayTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Async(), endpoints: []string{"server:1", "server:2"}}.server(t)
		var there atomic.Bool
		answer := func(req []byte, reply *transport.Reply) {
			var f wire.Frame
			var o cut.Order
			if err := errors.Join(f.Parse(req), f.JSON(&o)); err != nil {
				t.Error(err)
			}
			a := cut.Answer{Number: o.Number}
			if there.Load() {
				a.Work, a.Steps = o.Work, none[:1]
			} else {
				time.Sleep(s.leading.peers.Timeout / 20)
			}
			var b wire.Builder
			b.Reset(wire.Header{Op: wire.OpOrder})
			if err := b.JSON(&a); err != nil {
				t.Error(err)
			}
			reply.Parts = b.Parts()
		}
		serve := func() (end func()) {
			l, err := s.c.Transport.Listen("server:2")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() { done <- l.Serve(answer) }()
			return func() {
				if err := errors.Join(l.Close(t.Context()), <-done); err != nil {
					t.Error(err)
				}
			}
		}
		ask := newAnchor(t, s, cut.Ask{ID: "a", Task: taskOf(cut.Read)}).Ask
		say := func() cut.Told {
			s.st.Lock()
			defer s.st.Unlock()
			defer s.leading.do()
			return s.st.Leader.Ask(&ask)
		}
		away, end := s.leading.peers.Away, serve()
		say()
		time.Sleep(2 * away)
		end()
		time.Sleep(away * 3 / 4)
		there.Store(true)
		end = serve()
		time.Sleep(away)
		if told := say(); told.Err != nil || told.Stage != cut.Reached {
			t.Errorf("the cut is at stage %d, %v", told.Stage, told.Err)
		}
		ask.GivesUp = true
		say()
		synctest.Wait()
		end()
	})
}

// TestAttemptsEndWithTheNext: nothing of an attempt at an order is left when there is another, or none.
func TestAttemptsEndWithTheNext(t *testing.T) {
	s := newServer(t, strategy.Async())
	s.leading.orders[0] = &cut.Order{Number: 1, Work: cut.Hold}
	_, first := s.leading.next(0)
	_, second := s.leading.next(0)
	if first.Err() == nil || second.Err() != nil {
		t.Errorf("the attempt before ends with %v, the next with %v", first.Err(), second.Err())
	}
	s.leading.orders[0] = nil
	if o, _ := s.leading.next(0); o != nil || second.Err() == nil {
		t.Errorf("order %v is sent still, and the attempt before ends with %v", o, second.Err())
	}
}

// stuckDisk makes no file before it goes on.
type stuckDisk struct {
	files.FS
	asked, goOn chan struct{}
}

func (d stuckDisk) CreateTemp(dir, pattern string) (files.Temp, error) {
	close(d.asked)
	<-d.goOn
	return d.FS.CreateTemp(dir, pattern)
}

// TestLatePartIsRemoved: a part that is written when its save has been given up is removed.
func TestLatePartIsRemoved(t *testing.T) {
	s := newServer(t, strategy.Async())
	disk := stuckDisk{files.OS{}, make(chan struct{}), make(chan struct{})}
	defer checkpoint.UseDisk(disk)()
	dir := t.TempDir()
	holds(t, s, 1, cut.Write, cut.Commit)
	ordered(t, s, cut.Order{Number: 1, Work: cut.Reach, Steps: none[:1], Task: cut.Task{Save: &cut.Save{Dir: dir}}})
	s.st.Lock()
	_, begin := s.st.Follower.Order(&cut.Order{Number: 1, Work: cut.Write})
	s.holding.begin(1, begin)
	s.st.Unlock()
	<-disk.asked
	free := cut.Order{Number: 1, Work: cut.Free, Vain: true}
	if a, err := s.holding.answer(&free, func() bool { return true }); err != nil || a.Work != "" {
		t.Errorf("a part is being written, and the answer is %+v, %v", a, err)
	}
	close(disk.goOn)
	ordered(t, s, free)
	s.holding.under.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v are left, error %v", left, err)
	}
}

// TestABaseThatIsGone: a checkpoint has all rows when a part of the one before is there no more.
func TestABaseThatIsGone(t *testing.T) {
	for name, lost := range map[string]bool{"there": false, "gone": true} {
		t.Run(name, func(t *testing.T) {
			choice := strategy.Async()
			choice.Recovery = strategy.Recovery{Dir: t.TempDir(), Deltas: 3}
			s := newServer(t, choice)
			saves := func(seq uint64) (string, checkpoint.Manifest) {
				send(t, s, pushOf(s, wire.Header{Seq: seq}), wire.StatusOK)
				a := newAnchor(t, s, cut.Ask{ID: time.Duration(seq).String(), Task: cut.Task{Save: &cut.Save{Progress: new(wire.Progress)}}})
				a.until(cut.Held)
				a.whole()
				s.holding.under.Wait()
				dir, m, err := checkpoint.Latest(choice.Recovery.Dir)
				if err != nil || s.st.Roster.Last(0) != roster.Step(1, seq) {
					t.Fatal(dir, err)
				}
				return dir, m
			}
			dir, m := saves(1)
			if parts, err := filepath.Glob(filepath.Join(dir, "*")); lost && err == nil {
				for _, p := range parts {
					if filepath.Base(p) != "manifest.json" {
						err = os.Remove(p)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, next := saves(2); m.Base != nil || (next.Base == nil) != lost {
				t.Errorf("the next is based on %v", next.Base)
			}
		})
	}
}

// TestAFollowerWithoutItsTables: one that refuses an order since it was started again without a journal sends all back
// at once, and is asked no more.
func TestAFollowerWithoutItsTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Async(), endpoints: []string{"server:1", "server:2"}}.server(t)
		l, err := s.c.Transport.Listen("server:2")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			done <- l.Serve(func(_ []byte, reply *transport.Reply) {
				var b wire.Builder
				b.Reset(wire.Header{Op: wire.OpOrder, Status: wire.StatusBack})
				reply.Parts = b.Parts()
			})
		}()
		newAnchor(t, s, cut.Ask{ID: "a", Task: taskOf(cut.Read)}).asks()
		synctest.Wait()
		s.st.Lock()
		failure := s.st.Failure
		s.st.Unlock()
		if !errors.Is(failure, wire.ErrWentBack) {
			t.Errorf("the job goes on: %v", failure)
		}
		if err := errors.Join(l.Close(t.Context()), <-done); err != nil {
			t.Error(err)
		}
	})
}
