package server

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestScreen: of a large request the header decides whether there is room for it: frames of this job alone.
func TestScreen(t *testing.T) {
	s := newServer(t, strategy.Sync())
	for _, c := range []struct {
		header wire.Header
		want   error
	}{
		{wire.Header{Op: wire.OpPiece, Job: s.door.job, Worker: 7}, nil},
		{wire.Header{Op: wire.OpStep, Job: s.door.job + 1}, wire.ErrMismatch},
		{wire.Header{Op: wire.OpJoin}, wire.ErrMismatch},
	} {
		var b wire.Builder
		b.Reset(c.header)
		if err := s.door.screen(bytes.Join(b.Parts(), nil)); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.header, err, c.want)
		}
	}
	if err := s.door.screen(make([]byte, 8000)); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("zeros: %v, want ErrFrame", err)
	}
}
