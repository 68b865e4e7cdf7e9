package server

import (
	"testing"

	"github.com/gofleet/gofleet/internal/journal"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/strategy"
)

// TestLargeJournals: a checkpoint is asked for once in each segment that has become larger than allowed, and than two
// checkpoints; again where server 0, which was asked, has died and come back.
func TestLargeJournals(t *testing.T) {
	j, err := journal.Open(journal.Options{Dir: t.TempDir(), Name: "j"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	s := newServer(t, strategy.Async())
	c := &growth{journal: &state.Journal{Journal: j}, segments: new(segments), servers: s.servers}
	step := func(bytes int, want bool) {
		t.Helper()
		if err := j.Append(state.KindEvent, make([]byte, bytes)); err != nil {
			t.Fatal(err)
		}
		if got := c.due(10_000); got != want {
			t.Errorf("a segment of %d bytes, and checkpoints of %d: due %t", j.Size(), c.segments.size.Load(), got)
		}
	}
	if c.due(10_000) {
		t.Error("a journal that has not begun is too large")
	}
	for _, part := range []int64{0, 20_000} {
		if err := j.Next(nil); err != nil {
			t.Fatal(err)
		}
		c.segments.size.Store(part)
		step(5_000, false)
		step(10_000, part == 0)
		step(10_000, false)
		step(20_000, part > 0)
		step(10_000, false)
	}
	if err := s.st.Lives.Of(0).Heard(1); err != nil {
		t.Fatal(err)
	}
	step(1, true)
	step(1, false)
}
