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
	g := s.st.Generation()
	for _, c := range []struct {
		header wire.Header
		want   error
	}{
		{wire.Header{Op: wire.OpPiece, Job: g.Life(7, 1), Worker: 7, Life: 1}, nil},
		{wire.Header{Op: wire.OpJoin, Job: g.Fingerprint}, nil},
		{wire.Header{Op: wire.OpStep, Job: g.Life(7, 1), Worker: 6, Life: 1}, wire.ErrWentBack},
		{wire.Header{Op: wire.OpJoin}, wire.ErrWentBack},
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
