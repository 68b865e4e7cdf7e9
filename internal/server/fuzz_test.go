package server

import (
	"bytes"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// FuzzHandle gives a server any bytes for a frame: it answers with a frame, and where that is a refusal nothing has
// changed.
//
// Promise: [G7] no frame panics a whole server, or makes it allocate more than its bound
// Also: TestStagesAreBounded, TestBrokenFramesEndNothing
func FuzzHandle(f *testing.F) {
	quick := strategy.Strategy{WaitTimeout: strategy.Duration(time.Millisecond)} // nobody else will come
	s := newServer(f, quick)                                                     // all have one key
	for _, b := range frames(f, s) {
		f.Add(bodyOf(s, b), false)
		f.Add(bodyOf(s, b), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, sync bool) {
		body = bytes.Clone(body)
		wire.Seal(body) // so that what lies behind the checksum is fuzzed too
		if len(body) > 5 && (wire.Op(body[5]) == wire.OpCut || wire.Op(body[5]) == wire.OpOrder) {
			t.Skip("it would write where the frame says")
		}
		s := quick
		if sync {
			s.Mode = strategy.ModeSync
		}
		server := newServer(t, s)
		var reply transport.Reply
		server.door.handle(body, &reply)
		defer reply.Done()
		var answer wire.Frame
		if err := answer.Parse(bytes.Join(reply.Parts, nil)); err != nil {
			t.Fatalf("the answer can't be read: %v", err)
		}
		if answer.Status == wire.StatusOK {
			return
		}
		if w, step := weight(t, server), server.part.Store.Step(); w != 0 || step != 0 {
			t.Errorf("refused (%v), and the weight is %v at step %d", answer.Refusal(), w, step)
		}
	})
}

// frames are good ones of every op that does not write files, and such that are wrong in one place.
func frames(t testing.TB, s *Server) (all []*wire.Builder) {
	header := func(op wire.Op) wire.Header { return wire.Header{Op: op, Life: 1, Seq: 1} }
	bare := func(op wire.Op) *wire.Builder {
		b := new(wire.Builder)
		b.Reset(header(op))
		return b
	}
	for _, op := range []wire.Op{wire.OpPark, wire.OpLeave, wire.OpHeartbeat, wire.OpStep, wire.OpBring} {
		all = append(all, bare(op))
	}
	for op, msg := range map[wire.Op]any{
		wire.OpHello: wire.Hello{Process: 1, Fingerprint: s.c.Fingerprint}, wire.OpJoin: wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint},
		wire.OpGather: wire.Gather{Call: "barrier", N: 1, Data: []byte("x")}, wire.OpScan: wire.Scan{Param: 1, Rows: 10},
		wire.OpKeep: wire.Keep{ID: "a"}, wire.OpFence: wire.Leave{Worker: 0, Life: 1}, wire.OpDrop: wire.Leave{Worker: 0, Life: 1, Forget: true}, wire.OpReport: wire.Report{Server: 0, Process: 1},
	} {
		b := bare(op)
		if err := b.JSON(msg); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	peek := bare(wire.OpPeek)
	peek.IDs(1, []uint64{7, 99})
	publish := bare(wire.OpPublish)
	publish.Piece(wire.Piece{Number: 0, Of: 2})
	publish.Span(0, 2)
	publish.Dense([]float32{1, 1})
	piece := pushOf(s, wire.Header{Seq: 2})
	piece.Header().Op = wire.OpPiece
	piece.Piece(wire.Piece{Number: 0, Of: 3})
	last := pushOf(s, wire.Header{Seq: 2})
	last.Piece(wire.Piece{Number: 1, Of: 2})
	beyond := pushOf(s, wire.Header{Seq: 2})
	beyond.IDs(1, []uint64{100})
	for _, e := range narrow {
		all = append(all, narrowPushOf(s, e, wire.Header{Seq: 1}, [4]float32{1, 2, 3, 4}, [2]float32{1, -1}))
	}
	return append(all, peek, publish, piece, last, beyond, pushOf(s, wire.Header{Seq: 1}))
}

// FuzzRead gives the door of readers any bytes: it answers with a frame, reads no more rows than a request may have, and changes nothing.
func FuzzRead(f *testing.F) {
	s := newServer(f, strategy.Strategy{})
	for _, b := range frames(f, s) {
		f.Add(bodyOf(s, b))
	}
	for _, b := range reads(f) {
		f.Add(bytes.Join(b.Parts(), nil))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		body = bytes.Clone(body)
		wire.Seal(body)
		s := newServer(t, strategy.Strategy{})
		send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
		var reply transport.Reply
		s.outside.handle(body, &reply)
		defer reply.Done()
		var answer wire.Frame
		if err := answer.Parse(bytes.Join(reply.Parts, nil)); err != nil {
			t.Fatalf("the answer can't be read: %v", err)
		}
		if asked, err := answer.Op, answer.Refusal(); asked != wire.OpRead || err == nil && answer.Job != s.st.Generation().Number {
			t.Errorf("it answers %v of job %d, %v", asked, answer.Job, err)
		}
		if n := s.meter.read.Load(); n > mostReadRows {
			t.Errorf("%d rows are read", n)
		}
		if w, step := weight(t, s), s.part.Store.Step(); w != -1 || step != 1 || len(s.part.Store.Tables[0].IDs()) != 1 {
			t.Errorf("a reader changes something: the weight is %v at step %d, there are rows %v", w, step, s.part.Store.Tables[0].IDs())
		}
	})
}

// reads are what readers send, and such that is wrong in one place.
func reads(t testing.TB) (all []*wire.Builder) {
	frame := func(msg any, ids ...uint64) {
		b := new(wire.Builder)
		b.Reset(wire.Header{Op: wire.OpRead, Worker: 1<<32 - 1})
		if err := b.JSON(msg); err != nil {
			t.Fatal(err)
		}
		if ids != nil {
			b.IDs(1, ids)
		}
		all = append(all, b)
	}
	many := make([]uint64, mostReadRows+1)
	for i := range many {
		many[i] = uint64(i)
	}
	for _, what := range []string{wire.ReadAbout, wire.ReadRows, wire.ReadPage, "all"} {
		frame(wire.Read{What: what, Param: 1, Rows: 10})
		frame(wire.Read{What: what, Param: 1, Rows: -1, From: 1 << 63}, 7, 99)
		frame(wire.Read{What: what, Rows: 1 << 40}, many...)
		frame(wire.Read{What: what, Param: 1, Rows: 1 << 40, From: 1<<64 - 1}, 100)
	}
	frame("a text")
	return all
}
