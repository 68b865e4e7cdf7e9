package table

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/optimizer"
)

// tally sweeps: the first weight of a row sums its gradients, the second counts its steps, with a gradient or without.
type tally struct{}

func (tally) Name() string     { return "tally" }
func (tally) StateLen(int) int { return 0 }
func (tally) Sweeps() bool     { return true }
func (tally) Update(w, g, _ []float32, _ *optimizer.State) {
	w[0] += g[0]
	w[1]++
}

// TestSweepsBesideUpdates has updates run beside each other and beside reads, in an order that is drawn: when all have ended, every row
// has had each gradient of its own once, and as many steps as there were updates.
func TestSweepsBesideUpdates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const rows = 5
		var s Store
		p := embedding(0, 2)
		p.Init = nil
		emb, err := NewSparse(p, tally{}, Options{Shards: 2})
		check(t, err)
		check(t, s.AddTable(emb))
		s.SetStep(rapid.Int64Range(0, 3).Draw(t, "loaded"))
		var sums [rows]float32
		var begun []int64 // and neither pushed nor finished
		var pushed []int64
		some := func() (ids []uint64) {
			for id := range uint64(rows) {
				if rapid.Bool().Draw(t, fmt.Sprint("row ", id)) {
					ids = append(ids, id)
				}
			}
			return ids
		}
		take := func(from *[]int64) int64 {
			i := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
			step := (*from)[i]
			*from = append((*from)[:i:i], (*from)[i+1:]...)
			return step
		}
		push := func() {
			step, ids := take(&begun), some()
			g := make([]float32, 2*len(ids))
			for i, id := range ids {
				g[2*i] = float32(step)
				sums[id] += float32(step)
			}
			_, err := emb.Push(ids, g, step)
			check(t, err)
			pushed = append(pushed, step)
		}
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			switch call := rapid.IntRange(0, 4).Draw(t, "call"); {
			case call == 0:
				begun = append(begun, s.Advance())
			case call == 1 && len(begun) > 0:
				push()
			case call == 2 && len(pushed) > 0:
				s.Finish(take(&pushed))
			case call == 3:
				ids := some()
				check(t, emb.Pull(ids, make([]float32, 2*len(ids)), s.Step()))
			case call == 4:
				for range emb.Rows(s.Step()) {
				}
			}
		}
		for len(begun) > 0 {
			push()
		}
		for len(pushed) > 0 {
			s.Finish(take(&pushed))
		}
		for r := range emb.Rows(s.Step()) {
			if want := float32(s.Step()); r.W[0] != sums[r.ID] || r.W[1] != want || r.Step != s.Step() {
				t.Errorf("row %d: gradients of %v in %v steps, step %d: want %v in %v", r.ID, r.W[0], r.W[1], r.Step, sums[r.ID], want)
			}
		}
	})
}
