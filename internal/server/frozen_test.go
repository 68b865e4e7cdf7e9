package server

import (
	"bytes"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// newKeeper is a server of a model with two frozen params, one and three values long, which one worker has joined.
func newKeeper(t *testing.T) *Server {
	t.Helper()
	return job{strategy: strategy.Async(), more: []*optimizer.Param{{Name: "mean", Shape: []int{1}, W: make([]float32, 1), Frozen: true},
		{Name: "variance", Shape: []int{3}, W: make([]float32, 3), Frozen: true}}}.server(t)
}

// kept is what a server keeps of frozen params.
func kept(t *testing.T, s *Server) (all []float32) {
	t.Helper()
	err := s.part.EachFrozen(func(b layout.Block, values *table.Dense) error {
		all = append(all, make([]float32, b.Size)...)
		return values.Pull(all[b.At:])
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// keeping is a piece of the worker's frozen values.
func keeping(t *testing.T, s *Server, id string, from int, w ...float32) *wire.Builder {
	t.Helper()
	b := message(t, wire.Header{Op: wire.OpKeep, Life: 1}, wire.Keep{ID: id})
	b.Span(from, from+len(w))
	b.Dense(w)
	return b
}

// TestFrozenValuesComeInPieces has them come twice, too early, too late and out of order: a checkpoint has all of them
// or is refused.
func TestFrozenValuesComeInPieces(t *testing.T) {
	s := newKeeper(t)
	dir := t.TempDir()
	a := newAnchor(t, s, cut.Ask{ID: "a", Task: cut.Task{Save: &cut.Save{Dir: dir}}})
	send(t, s, keeping(t, s, "a", 0, 1, 2), wire.StatusStale)
	a.until(cut.Held)
	send(t, s, keeping(t, s, "b", 0, 1, 2), wire.StatusStale)
	send(t, s, keeping(t, s, "a", 2, 3, 4), wire.StatusRefused)
	send(t, s, keeping(t, s, "a", 0, 1, 2), wire.StatusOK)
	send(t, s, keeping(t, s, "a", 0, 1, 2), wire.StatusOK)
	send(t, s, keeping(t, s, "a", 2, 3, 4, 5), wire.StatusRefused)
	send(t, s, message(t, wire.Header{Op: wire.OpCut, Life: 1}, a.Ask), wire.StatusRefused)
	a = newAnchor(t, s, cut.Ask{ID: "c", Task: cut.Task{Save: &cut.Save{Dir: dir}}})
	a.until(cut.Held)
	send(t, s, keeping(t, s, "c", 0, 1, 2), wire.StatusOK)
	send(t, s, keeping(t, s, "c", 2, 3, 4), wire.StatusOK)
	send(t, s, keeping(t, s, "c", 0, 1, 2), wire.StatusOK)
	send(t, s, keeping(t, s, "c", 2, 9, 9), wire.StatusOK) // it was there
	if got := kept(t, s); !slices.Equal(got, make([]float32, 4)) || len(s.loading.frozen.known) != 0 {
		t.Errorf("before the save the server keeps %v", got)
	}
	a.whole()
	send(t, s, keeping(t, s, "c", 0, 9, 9), wire.StatusStale)
	if got := kept(t, s); !slices.Equal(got, []float32{1, 2, 3, 4}) {
		t.Errorf("the server keeps %v, want 1 to 4", got)
	}

	next := newKeeper(t)
	if err := next.Restore(t.Context(), dir, checkpoint.Selection{}); err != nil {
		t.Fatal(err)
	}
	if got := kept(t, next); !slices.Equal(got, []float32{1, 2, 3, 4}) || !next.loading.frozen.known[2] || !next.loading.frozen.known[3] {
		t.Errorf("loaded %v, known %v", got, next.loading.frozen.known)
	}
}

// TestFrozenValuesThatNobodyKnows: a checkpoint without them, or of which only some params are loaded, leaves them to
// the workers.
func TestFrozenValuesThatNobodyKnows(t *testing.T) {
	old := newServer(t, strategy.Async())
	s := newKeeper(t)
	dir := t.TempDir()
	image := checkpoint.ImageOf(old.part.Store)
	part, err := checkpoint.WriteImage(t.Context(), dir, checkpoint.PartName("a", 0, 1), image)
	image.Close()
	if err != nil {
		t.Fatal(err)
	}
	m := checkpoint.Manifest{ID: "a", Rule: s.c.Rule.Name(), Params: checkpoint.Params(s.c.Layout.Params), Parts: []checkpoint.Part{part}}
	if err := checkpoint.Commit(dir, m); err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{nil, {"w"}} {
		if err := s.Restore(t.Context(), dir, checkpoint.Selection{Params: names}); err != nil || s.loading.frozen.known[2] || s.loading.frozen.known[3] {
			t.Errorf("params %q: known %v, error %v", names, s.loading.frozen.known, err)
		}
	}
	for known, floats := range map[bool]int{false: 0, true: 2} {
		s.loading.frozen.known[3] = known
		b := message(t, wire.Header{Op: wire.OpBring, Life: 1}, wire.Keep{})
		b.Span(1, 3)
		got := 0
		var reply transport.Reply
		s.door.handle(bodyOf(s, b), &reply)
		var f wire.Frame
		if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil || f.Refusal() != nil {
			t.Fatal(err, f.Refusal())
		}
		for _, sec := range f.Sections {
			if sec.Kind == wire.KindDense {
				w, err := sec.Dense()
				if got = len(w); err != nil {
					t.Error(err)
				}
			}
		}
		if got != floats {
			t.Errorf("known %v: %d values, want %d", known, got, floats)
		}
		reply.Done()
	}
}
