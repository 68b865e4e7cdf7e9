package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestStoppedServerServesOnForAHeartbeat: a server that was asked to end goes on for a heartbeat, in which workers come to the end of a
// step, and for three where one has ended. One with a journal goes on for three in any case, and behind them while a cut is led or a
// worker is about to end. Neither does so in a job that has failed or has no workers left.
func TestStoppedServerServesOnForAHeartbeat(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(*testing.T, *Server)
		awaits  int // heartbeats, of which it needs the last one no more
		leavers int // the same of a server with a journal, -1 for no end
	}{
		"workers go on":   {func(*testing.T, *Server) {}, 1, 3},
		"one has ended":   {func(_ *testing.T, s *Server) { s.st.Roster.End(1, "it was asked to", false) }, 3, 3},
		"one is about to": {func(_ *testing.T, s *Server) { s.st.Roster.Savers.Asked(1, true) }, 1, -1},
		"a cut is led": {func(t *testing.T, s *Server) {
			newAnchor(t, s, cut.Ask{ID: "a", Task: taskOf(cut.Read)}).until(cut.Reached)
		}, 1, -1},
		"the job has failed": {func(_ *testing.T, s *Server) { s.servers.fail(wire.ErrFailed) }, 0, 0},
		"none is left": {func(_ *testing.T, s *Server) {
			s.st.Roster.End(0, "it was asked to", false)
			s.st.Roster.End(1, "it was asked to", false)
		}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the clock stands
				s := job{strategy: strategy.Async(), workers: 2}.server(t)
				send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
				c.before(t, s)
				for beats := range 5 {
					at := time.Duration(beats) * s.servers.pace
					if is := s.stopping.awaits(at); is != (beats < c.awaits) {
						t.Errorf("%d heartbeats later it awaits ends: %t", beats, is)
					}
					if is := s.stopping.leavers(at); is != (beats < c.leavers || c.leavers < 0) {
						t.Errorf("%d heartbeats later it awaits saves: %t", beats, is)
					}
				}
			})
		})
	}
}

// TestAServerEndsBehindACheckpoint: one that was asked to end is there until a checkpoint is whole that was begun since,
// as long as there is something to save and a worker that shows life; a minute at most, which its log then says.
func TestAServerEndsBehindACheckpoint(t *testing.T) {
	for name, c := range map[string]struct {
		dir, beats, saves bool
		least, most       time.Duration
		says              string
	}{
		"it is saved":        {true, true, true, 10 * time.Second, 15 * time.Second, ""},
		"it is not":          {true, true, false, stopGrace, stopGrace, "before a checkpoint is whole"},
		"no worker is there": {true, false, false, 0, 15 * time.Second, ""},
		"nothing is saved":   {false, true, false, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				choice := strategy.Async()
				if c.dir {
					choice.Recovery.Dir = t.TempDir()
				}
				s := newServer(t, choice)
				var said bytes.Buffer
				s.servers.log = slog.New(slog.NewTextHandler(&said, nil))
				saves := func() { // as the worker does that is asked to
					a := newAnchor(t, s, cut.Ask{ID: time.Now().String(), Task: cut.Task{Save: &cut.Save{Progress: new(wire.Progress)}}})
					a.until(cut.Held)
					a.whole()
					s.holding.under.Wait()
				}
				send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
				if c.dir {
					saves() // before: its end is not what is waited for
				}
				began, over := time.Now(), make(chan struct{})
				var took time.Duration
				go func() {
					defer close(over)
					s.stopping.save(t.Context())
					took = time.Since(began)
				}()
				for tick := time.Second; ; tick += time.Second {
					select {
					case <-over:
					case <-time.After(time.Second):
						if c.beats {
							b := new(wire.Builder)
							b.Reset(wire.Header{Op: wire.OpHeartbeat, Life: 1})
							send(t, s, b, wire.StatusOK)
						}
						if c.saves && tick == 10*time.Second {
							if s.st.Lock(); !s.recovery.asks(0) {
								t.Error("no worker is asked to save")
							}
							s.st.Unlock()
							send(t, s, pushOf(s, wire.Header{Seq: 2}), wire.StatusOK)
							saves()
						}
						continue
					}
					break
				}
				if took < c.least || took > c.most {
					t.Errorf("it ends %v later", took)
				}
				if !strings.Contains(said.String(), c.says) || c.says == "" && said.Len() > 0 {
					t.Errorf("it says %q", said.String())
				}
				if s.st.Parting != c.saves {
					t.Errorf("a checkpoint of its end is whole: %t", s.st.Parting)
				}
			})
		})
	}
}
