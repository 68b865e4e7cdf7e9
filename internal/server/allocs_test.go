package server

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestAllocations: a steady pull or push costs the server a few small allocations, the same however many rows it has.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("allocations can't be counted under the race detector")
	}
	const most = 3 // the transport makes one more
	for _, mode := range []strategy.Mode{strategy.ModeAsync, strategy.ModeSync} {
		for _, what := range []string{"pull", "push", "push and pull"} {
			t.Run(fmt.Sprintf("%s/%s", mode, what), func(t *testing.T) {
				few, many := allocated(t, mode, what, 1), allocated(t, mode, what, 100)
				if few > most || many > few {
					t.Errorf("%v allocations with 1 row, %v with 100; at most %d, and as many", few, many, most)
				}
			})
		}
	}
}

// allocated is how often the handler allocates for a request of that many rows.
func allocated(t *testing.T, m strategy.Mode, what string, n int) float64 {
	return testing.AllocsPerRun(200, asking(t, m, what, n))
}

// BenchmarkRequest is what a request takes at its handler, with a profile that labels what it does and without.
func BenchmarkRequest(b *testing.B) {
	for _, rows := range []int{1, 100} {
		for _, profiling := range []bool{false, true} {
			b.Run(fmt.Sprintf("rows=%d/profile=%t", rows, profiling), func(b *testing.B) {
				if profiling {
					defer count.TakeProfile()()
				}
				ask := asking(b, strategy.ModeAsync, "push and pull", rows)
				b.ReportAllocs()
				for b.Loop() {
					ask()
				}
			})
		}
	}
}

// asking makes a request of that many rows with each call.
func asking(t testing.TB, m strategy.Mode, what string, n int) func() {
	s := newServer(t, strategy.Strategy{Mode: m})
	ids, g, dense := make([]uint64, n), make([]float32, 2*n), make([]float32, 4)
	for i := range ids {
		ids[i] = uint64(i)
	}
	var b wire.Builder
	h := wire.Header{Op: wire.OpStep, Job: s.st.Generation().Life(0, 1), Life: 1, Version: wire.NoDense}
	body := new(bytes.Buffer)
	return func() {
		if h.Seq++; m == strategy.ModeSync && what != "pull" {
			h.Round = h.Seq - 1
		}
		h.Acked, h.Samples = h.Seq, 0
		if what != "pull" {
			h.Samples = 1
		}
		b.Reset(h)
		if what != "pull" {
			b.Dense(dense)
			b.Rows(1, ids, g)
		}
		if what != "push" {
			b.IDs(1, ids)
		}
		body.Reset()
		for _, p := range b.Parts() {
			body.Write(p)
		}
		var reply transport.Reply
		s.door.handle(body.Bytes(), &reply)
		if reply.Parts[0][6] != 0 || reply.Parts[0][7] != 0 { // the status
			t.Fatalf("refused: %q", bytes.Join(reply.Parts, nil))
		}
		reply.Done()
	}
}
