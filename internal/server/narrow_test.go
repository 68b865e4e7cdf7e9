package server

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

var narrow = []wire.Encoding{wire.Float16, wire.BFloat16, wire.Int8}

// narrowPushOf is a step with a gradient of dense for the weights, and of row for row 7.
func narrowPushOf(s *Server, e wire.Encoding, h wire.Header, dense [4]float32, row [2]float32) *wire.Builder {
	h.Op, h.Samples, h.Life = wire.OpStep, 1, 1
	b := new(wire.Builder)
	b.Reset(h)
	b.DenseAs(e, dense[:])
	b.RowsAs(e, 1, []uint64{7}, row[:])
	return b
}

// TestNarrowPushes applies pushes of every encoding one after another, each of them sent twice, beside one of float32:
// memory that a push was widened into is not that of another.
func TestNarrowPushes(t *testing.T) {
	s := newServer(t, strategy.Async())
	step := uint64(0)
	for _, e := range narrow {
		for range 2 {
			step++
			twice := narrowPushOf(s, e, wire.Header{Seq: step}, [4]float32{1, -2, 0, 2}, [2]float32{0.5, -0.5})
			send(t, s, twice, wire.StatusOK)
			send(t, s, twice, wire.StatusOK)
		}
	}
	step++
	send(t, s, pushOf(s, wire.Header{Seq: step}), wire.StatusOK)
	w, row := make([]float32, 4), make([]float32, 2)
	if err := s.part.Store.Blocks[0].Values.Pull(w); err != nil {
		t.Fatal(err)
	}
	if err := s.part.Store.Tables[0].Peek([]uint64{7}, row, 0); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{-7, 11, -1, -13, -4, 2} {
		got := append(w[:4:4], row...)[i]
		if math.Abs(float64(got-want)) > 2*2./127 { // int8 came twice; 1 is no whole number of its places
			t.Errorf("value %d is %v after %d pushes, want %v", i, got, step, want)
		}
	}
}

// TestNarrowPieces sends one push of int8 in two pieces.
func TestNarrowPieces(t *testing.T) {
	s := newServer(t, strategy.Async())
	piece := func(number int, op wire.Op) *wire.Builder {
		b := new(wire.Builder)
		b.Reset(wire.Header{Op: op, Life: 1, Seq: 1, Samples: 1})
		b.Piece(wire.Piece{Number: number, Of: 2})
		b.Span(2*number, 2*number+2)
		b.DenseAs(wire.Int8, []float32{127, 1})
		b.RowsAs(wire.Int8, 1, []uint64{uint64(7 + number)}, []float32{127, float32(number)})
		return b
	}
	send(t, s, piece(0, wire.OpPiece), wire.StatusOK)
	send(t, s, piece(1, wire.OpStep), wire.StatusOK)
	w, rows := make([]float32, 4), make([]float32, 4)
	if err := s.part.Store.Blocks[0].Values.Pull(w); err != nil {
		t.Fatal(err)
	}
	if err := s.part.Store.Tables[0].Peek([]uint64{7, 8}, rows, 0); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{-127, -1, -127, -1, -127, 0, -127, -1} {
		if got := append(w[:4:4], rows...)[i]; math.Abs(float64(got-want)) > 1e-4 {
			t.Errorf("value %d is %v, want %v", i, got, want)
		}
	}
}

// TestNarrowPushesAreChecked spoils the bytes of narrow pushes: nothing of what is not finite or of another size is
// applied.
func TestNarrowPushesAreChecked(t *testing.T) {
	const denseAt, rowsAt = 64 + 16, 64 + 16 + 8 + 16 + 16 // of payloads of up to 8 bytes
	nan, inf := math.Float32bits(float32(math.NaN())), math.Float32bits(float32(math.Inf(-1)))
	for _, c := range []struct {
		name  string
		e     wire.Encoding
		spoil func(body []byte)
		says  string
	}{
		{"infinity as float16", wire.Float16, func(b []byte) { binary.LittleEndian.PutUint16(b[denseAt+2:], 0x7c00) }, `the gradient of "w" at element 1 is +Inf`},
		{"NaN as bfloat16", wire.BFloat16, func(b []byte) { binary.LittleEndian.PutUint16(b[rowsAt+2:], 0x7fc0) }, `the gradient of row 7 of "emb" is NaN`},
		{"a scale that is NaN", wire.Int8, func(b []byte) { binary.LittleEndian.PutUint32(b[denseAt:], nan) }, `the gradient of "w" at element 0 is NaN`},
		{"a row's scale that is infinite", wire.Int8, func(b []byte) { binary.LittleEndian.PutUint32(b[rowsAt:], inf) }, `the gradient of row 7 of "emb" is -Inf`},
		{"an encoding to come", wire.Float16, func(b []byte) { b[65] = 8 }, "flags 0x8"},
		{"too few", wire.Float16, func(b []byte) { b[72] = 6 }, "3 dense"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, strategy.Async())
			body := bodyOf(s, narrowPushOf(s, c.e, wire.Header{Seq: 1}, [4]float32{1, 1, 1, 1}, [2]float32{1, 1}))
			c.spoil(body)
			wire.Seal(body)
			var reply transport.Reply
			s.door.handle(body, &reply)
			defer reply.Done()
			var f wire.Frame
			if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil {
				t.Fatal(err)
			}
			if err := f.Refusal(); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
			if w, step := weight(t, s), s.part.Store.Step(); w != 0 || step != 0 {
				t.Errorf("weight %g at step %d", w, step)
			}
		})
	}
}

// TestNarrowPushAllocatesNoMore: in steady state a push that is widened allocates as often as one of float32.
func TestNarrowPushAllocatesNoMore(t *testing.T) {
	allocs := func(push func(s *Server, step uint64) *wire.Builder) float64 {
		s := newServer(t, strategy.Async())
		step := uint64(0)
		return testing.AllocsPerRun(200, func() {
			step++
			send(t, s, push(s, step), wire.StatusOK)
		})
	}
	plain := allocs(func(s *Server, step uint64) *wire.Builder { return pushOf(s, wire.Header{Seq: step, Acked: step}) })
	for _, e := range narrow {
		got := allocs(func(s *Server, step uint64) *wire.Builder {
			return narrowPushOf(s, e, wire.Header{Seq: step, Acked: step}, [4]float32{1, 1, 1, 1}, [2]float32{1, 1})
		})
		if got > plain+1 { // a builder of its own grows its scratch once more
			t.Errorf("%v: %v allocations a push, float32 %v", e, got, plain)
		}
	}
}
