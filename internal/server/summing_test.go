package server

import (
	"bytes"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// large is a sync job whose four dense gradients are too many for a frame, with all of its workers joined.
func large(t *testing.T, workers int) *Server {
	s := job{strategy: strategy.Strategy{Mode: strategy.ModeSync, MaxFrame: wire.FrameOverhead + 8}, workers: workers}.server(t)
	for w := 1; w < workers; w++ {
		join := message(t, wire.Header{Op: wire.OpJoin, Worker: uint32(w)}, wire.Hello{Process: uint64(w), Fingerprint: s.c.Fingerprint})
		send(t, s, join, wire.StatusOK)
	}
	return s
}

// half is the first or the second half of worker w's gradient for round 0, which is w+1 throughout.
func half(w, number int) *wire.Builder {
	h := wire.Header{Op: wire.OpPiece, Worker: uint32(w), Life: 1, Seq: 1, Samples: 1, Version: wire.NoDense}
	if number == 1 {
		h.Op = wire.OpStep
	}
	b := new(wire.Builder)
	b.Reset(h)
	b.Piece(wire.Piece{Number: number, Of: 2})
	b.Span(2*number, 2*number+2)
	b.Dense([]float32{float32(w + 1), float32(w + 1)})
	return b
}

// sends gives a frame to the handler, whose status comes when it answers.
func sends(t *testing.T, s *Server, b *wire.Builder) chan uint8 {
	status := make(chan uint8, 1)
	body := bodyOf(s, b)
	go func() {
		var reply transport.Reply
		s.door.handle(body, &reply)
		var f wire.Frame
		if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil {
			t.Error(err)
		}
		reply.Done()
		status <- f.Status
	}()
	synctest.Wait()
	return status
}

// waits fails the test if one of these has answered.
func waits(t *testing.T, all ...chan uint8) {
	t.Helper()
	for i, status := range all {
		if len(status) > 0 {
			t.Errorf("frame %d was answered with status %d while others are missing", i, <-status)
		}
	}
}

// answered fails the test unless all have answered so.
func answered(t *testing.T, want uint8, all ...chan uint8) {
	t.Helper()
	for i, status := range all {
		if len(status) == 0 {
			t.Fatalf("frame %d has no answer", i)
		}
		if got := <-status; got != want {
			t.Errorf("frame %d: status %d, want %d", i, got, want)
		}
	}
}

// TestGradientsInPiecesAreAddedUp: a piece waits for those of the others, in any order and though it comes twice, and
// the update is of all.
//
// Promise: [G1] gradients in pieces are added up as they arrive, in the memory of one gradient, and the contribution
// of a lost worker is in no update
// Also: TestALargeGradientIsHeldOnce, TestALostWorkersPartIsTakenOut
func TestGradientsInPiecesAreAddedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := large(t, 3)
		third, first, twice := sends(t, s, half(2, 0)), sends(t, s, half(0, 0)), sends(t, s, half(0, 0))
		waits(t, third, first, twice)
		second := sends(t, s, half(1, 0))
		answered(t, wire.StatusOK, first, twice, second, third, sends(t, s, half(1, 0)))
		step1, step2, again := sends(t, s, half(1, 1)), sends(t, s, half(2, 1)), sends(t, s, half(1, 1))
		waits(t, step1, step2, again)
		if w := weight(t, s); w != 0 {
			t.Errorf("weight %g before all have pushed", w)
		}
		step0 := sends(t, s, half(0, 1))
		answered(t, wire.StatusOK, step0, step1, step2, again, sends(t, s, half(2, 1)), sends(t, s, half(2, 0)))
		if w := weight(t, s); w != -2 || s.part.Store.Step() != 1 {
			t.Errorf("weight %g at step %d after one round of 1, 2 and 3, want -2 at 1", w, s.part.Store.Step())
		}
	})
}

// TestALostWorkersPartIsTakenOut: the sum that has a part of it is given up, and the others begin again, at whatever
// moment it is lost.
func TestALostWorkersPartIsTakenOut(t *testing.T) {
	drop := func(t *testing.T, s *Server) {
		send(t, s, message(t, wire.Header{Op: wire.OpDrop}, wire.Leave{Worker: 2, Life: 1, Forget: true}), wire.StatusOK)
		synctest.Wait()
	}
	ends := func(t *testing.T, s *Server) {
		a, b := sends(t, s, half(0, 0)), sends(t, s, half(1, 0))
		answered(t, wire.StatusOK, a, b)
		a, b = sends(t, s, half(0, 1)), sends(t, s, half(1, 1))
		answered(t, wire.StatusOK, a, b)
		if w := weight(t, s); w != -1.5 {
			t.Errorf("weight %g after one round of 1 and 2, want -1.5", w)
		}
	}
	for name, lose := range map[string]func(*testing.T, *Server){
		"before its first piece": func(t *testing.T, s *Server) {
			a, b := sends(t, s, half(0, 0)), sends(t, s, half(1, 0))
			waits(t, a, b)
			drop(t, s)
			answered(t, wire.StatusOK, a, b)
		},
		"while its piece waits": func(t *testing.T, s *Server) {
			a, c := sends(t, s, half(0, 0)), sends(t, s, half(2, 0))
			drop(t, s)
			waits(t, a)
			answered(t, wire.StatusStale, c)
			answered(t, wire.StatusOK, sends(t, s, half(1, 0)), a)
		},
		"with a piece in the sum": func(t *testing.T, s *Server) {
			answered(t, wire.StatusOK, sends3(t, s, 0)...)
			a := sends(t, s, half(0, 1))
			waits(t, a)
			drop(t, s)
			answered(t, wire.StatusAgain, a, sends(t, s, half(1, 1)))
		},
		"with all in the sum but a step": func(t *testing.T, s *Server) {
			answered(t, wire.StatusOK, sends3(t, s, 0)...)
			a, c := sends(t, s, half(0, 1)), sends(t, s, half(2, 1))
			drop(t, s)
			answered(t, wire.StatusAgain, a)
			answered(t, wire.StatusStale, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := large(t, 3)
				lose(t, s)
				ends(t, s)
			})
		})
	}
}

// sends3 sends that half of all workers.
func sends3(t *testing.T, s *Server, number int) (all []chan uint8) {
	for w := range 3 {
		all = append(all, sends(t, s, half(w, number)))
	}
	return all
}

// TestGradientsInOneFrameAreRefusedWhereOthersComeInPieces: two processes with two bounds would wait for each other.
func TestGradientsInOneFrameAreRefusedWhereOthersComeInPieces(t *testing.T) {
	s := large(t, 1)
	send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusRefused)
}

// TestALargeGradientIsHeldOnce: what a server has of the gradients of four workers, beside weights and Adam's state, is
// no more than one.
func TestALargeGradientIsHeldOnce(t *testing.T) {
	law.Slow(t)
	const n, workers, piece = 4 << 20, 4, 1 << 18
	big := &optimizer.Param{Name: "big", Shape: []int{n}, W: make([]float32, n), G: make([]float32, n)}
	before := held()
	s := job{strategy: strategy.Strategy{Mode: strategy.ModeSync, MaxFrame: 1 << 20}, workers: workers, rule: optimizer.Adam{LR: 1},
		more: []*optimizer.Param{big}}.server(t)
	for w := range uint32(workers - 1) {
		join := message(t, wire.Header{Op: wire.OpJoin, Worker: w + 1}, wire.Hello{Process: uint64(w) + 1, Fingerprint: s.c.Fingerprint})
		send(t, s, join, wire.StatusOK)
	}
	floats, pieces := s.part.Floats, (s.part.Floats+piece-1)/piece
	for round := range uint64(3) {
		for i := range pieces {
			from, to := i*piece, min((i+1)*piece, floats)
			var all sync.WaitGroup
			for w := range uint32(workers) {
				h := wire.Header{Op: wire.OpPiece, Worker: w, Life: 1, Seq: round + 1, Round: round, Samples: 1, Version: wire.NoDense}
				if i == pieces-1 {
					h.Op = wire.OpStep
				}
				b := new(wire.Builder)
				b.Reset(h)
				b.Piece(wire.Piece{Number: i, Of: pieces})
				b.Span(from, to)
				b.Dense(make([]float32, to-from))
				all.Go(func() { send(t, s, b, wire.StatusOK) })
			}
			all.Wait()
			if i == pieces-2 {
				if most := 4 * uint64(floats) * 9 / 2; held()-before > most {
					t.Fatalf("round %d: the server holds %d MB, at most %d are needed", round, (held()-before)>>20, most>>20)
				}
			}
		}
	}
	if s.part.Store.Step() != 3 {
		t.Errorf("%d updates of 3 rounds", s.part.Store.Step())
	}
	runtime.KeepAlive(big)
}

// held is how much memory is in use when what is garbage has gone.
func held() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools give up what they have in two
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
