package server

import (
	"testing"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// pieceOf is piece number of a push of ones in three pieces: two weights, two weights and row 7, row 9.
func pieceOf(s *Server, step uint64, number int) *wire.Builder {
	h := wire.Header{Op: wire.OpPiece, Life: 1, Seq: step, Samples: 1}
	if number == 2 {
		h.Op = wire.OpStep
	}
	b := new(wire.Builder)
	b.Reset(h)
	b.Piece(wire.Piece{Number: number, Of: 3})
	ones := []float32{1, 1}
	switch number {
	case 0:
		b.Span(0, 2)
		b.Dense(ones)
	case 1:
		b.Span(2, 4)
		b.Dense(ones)
		b.Rows(1, []uint64{7}, ones)
	case 2:
		b.Rows(1, []uint64{9}, ones)
	}
	return b
}

// TestPiecesAreOnePush: nothing of them counts before the last has come, and then each counts once.
func TestPiecesAreOnePush(t *testing.T) {
	s := newServer(t, strategy.Async())
	for _, number := range []int{1, 0, 1, 0} {
		send(t, s, pieceOf(s, 1, number), wire.StatusOK)
	}
	if w, step := weight(t, s), s.part.Store.Step(); w != 0 || step != 0 {
		t.Errorf("weight %g at step %d before the last piece", w, step)
	}
	for _, number := range []int{2, 2, 1, 2} { // repeated, and late
		send(t, s, pieceOf(s, 1, number), wire.StatusOK)
	}
	w := make([]float32, 4)
	if err := s.part.Store.Blocks[0].Values.Pull(w); err != nil || w[0] != -1 || w[3] != -1 {
		t.Errorf("weights %v, %v after the push", w, err)
	}
	rows := make([]float32, 4)
	if err := s.part.Store.Tables[0].Peek([]uint64{7, 9}, rows, 0); err != nil || rows[0] != -1 || rows[3] != -1 {
		t.Errorf("rows %v, %v after the push", rows, err)
	}
	if step := s.part.Store.Step(); step != 1 {
		t.Errorf("step %d after one push", step)
	}
	if n := len(s.deaths.membership.pieces.stages[0]); n != 0 {
		t.Errorf("%d pushes are still being collected", n)
	}
}

// TestWrongPiecesChangeNothing refuses pushes that can't be put together, for good.
func TestWrongPiecesChangeNothing(t *testing.T) {
	s := newServer(t, strategy.Async())
	piece := func(step uint64, p wire.Piece, fill func(*wire.Builder)) *wire.Builder {
		b := new(wire.Builder)
		b.Reset(wire.Header{Op: wire.OpPiece, Life: 1, Seq: step, Samples: 1})
		b.Piece(p)
		fill(b)
		return b
	}
	ones := []float32{1, 1}
	send(t, s, pieceOf(s, 1, 1), wire.StatusOK)
	for range 2 { // piece 0 never came, and does not count when it comes late
		send(t, s, pieceOf(s, 1, 2), wire.StatusRefused)
		send(t, s, pieceOf(s, 1, 0), wire.StatusOK)
	}
	send(t, s, piece(2, wire.Piece{Number: 1, Of: 2}, func(*wire.Builder) {}), wire.StatusRefused)
	send(t, s, piece(2, wire.Piece{Number: 2, Of: 1}, func(*wire.Builder) {}), wire.StatusRefused)
	send(t, s, piece(2, wire.Piece{Number: 0, Of: 2}, func(b *wire.Builder) { b.Span(3, 5); b.Dense(ones) }), wire.StatusRefused)
	send(t, s, piece(2, wire.Piece{Number: 0, Of: 2}, func(b *wire.Builder) { b.Span(0, 3); b.Dense(ones) }), wire.StatusRefused)
	send(t, s, pieceOf(s, 3, 0), wire.StatusOK)
	send(t, s, piece(3, wire.Piece{Number: 0, Of: 4}, func(*wire.Builder) {}), wire.StatusRefused)

	// Ids that do not rise from piece to piece.
	send(t, s, pieceOf(s, 4, 0), wire.StatusOK)
	send(t, s, piece(4, wire.Piece{Number: 1, Of: 3}, func(b *wire.Builder) { b.Rows(1, []uint64{9}, ones) }), wire.StatusOK)
	send(t, s, pieceOf(s, 4, 2), wire.StatusRefused)
	if w, step := weight(t, s), s.part.Store.Step(); w != 0 || step != 0 {
		t.Errorf("weight %g at step %d after refused pushes, want 0 at 0", w, step)
	}
}

// TestStagesAreBounded: a worker can't begin pushes without end.
func TestStagesAreBounded(t *testing.T) {
	s := newServer(t, strategy.Async())
	for step := range uint64(maxStages) {
		send(t, s, pieceOf(s, step+1, 0), wire.StatusOK)
	}
	send(t, s, pieceOf(s, maxStages+1, 0), wire.StatusRefused)
}
