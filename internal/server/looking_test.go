package server

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestWorkersTellWhileSomebodyLooks: workers are asked for what they know of themselves while a page is looked at, the first that lives for its
// curves too. What a life before told is none of this one's, nor is what is too long; one that tells nothing is seen by
// how it stands.
func TestWorkersTellWhileSomebodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Async(), workers: 3}.server(t)
		join := func(worker uint32, process uint64) {
			send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: worker}, wire.Hello{Process: process, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
		}
		join(1, 2)
		beat := func(worker, life uint32, tells string) wire.Show {
			var b wire.Builder
			b.Reset(wire.Header{Op: wire.OpHeartbeat, Worker: worker, Life: life})
			if tells != "" {
				b.Blob([]byte(tells))
			}
			var reply transport.Reply
			s.door.handle(bodyOf(s, &b), &reply)
			defer reply.Done()
			var f wire.Frame
			if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil || f.Status != wire.StatusOK {
				t.Fatal(f.Status, f.Refusal(), err)
			}
			var answer wire.Beat
			if _, says := f.Blob(); says {
				if err := f.JSON(&answer); err != nil {
					t.Fatal(err)
				}
			}
			return answer.Show
		}
		if show := beat(0, 1, ""); show != wire.ShowNothing {
			t.Errorf("nobody has looked, and it is asked for %d", show)
		}
		if _, workers := s.Look(); workers[0].Text != nil || workers[0].Stands != "here" || workers[2].Stands != "absent" {
			t.Errorf("at first: %+v", workers)
		}
		if first, other := beat(0, 1, ""), beat(1, 1, ""); first != wire.ShowAll || other != wire.ShowStats {
			t.Errorf("asked for %d and %d", first, other)
		}
		beat(1, 1, "mine")
		beat(1, 1, strings.Repeat("x", longestTold+1))
		time.Sleep(lookedAt - time.Second)
		beat(1, 1, "")
		if _, workers := s.Look(); string(workers[1].Text) != "mine" || time.Since(workers[1].At) != lookedAt-time.Second || workers[0].Silent < 7*time.Second || workers[1].Silent != 0 {
			t.Errorf("later: %+v", workers)
		}
		time.Sleep(lookedAt)
		if show := beat(1, 1, "more"); show != wire.ShowNothing {
			t.Errorf("nobody has looked for long, and it is asked for %d", show)
		}
		time.Sleep(s.c.Strategy.WorkerTimeout.Std()) // the life before has missed its heartbeats
		join(1, 3)
		if _, workers := s.Look(); workers[1].Text != nil {
			t.Errorf("of a life before: %+v", workers[1])
		}
	})
}
