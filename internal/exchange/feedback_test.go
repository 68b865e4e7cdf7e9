package exchange

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/wire"
)

// TestFailedPushOwesNothing has a push fail for good: what was owed goes with it, since nobody knows what arrived.
func TestFailedPushOwesNothing(t *testing.T) {
	var broken error
	s := servers(t, 2, wire.Int8, func(int, *wire.Frame, *wire.Builder) error { return broken })
	x := New(s)
	push := func() error {
		g := make([]float32, 24)
		for i := range g {
			g[i] = [2]float32{1, 0.003}[i%2] // the odd ones are less than half of a 127th
		}
		return x.Run(t.Context(), Request{Op: wire.OpStep, Push: gradient.Step{Samples: 1, Dense: [][]float32{g, nil},
			Rows: []gradient.Rows{{IDs: []uint64{1, 2}, G: []float32{1, 0.003, 1, 0.003}}}}, All: true})
	}
	if err := push(); err != nil {
		t.Fatal(err)
	}
	if owed := x.feedback.dense[0][1]; owed != 0.003 {
		t.Errorf("%v is owed after one push, want 0.003", owed)
	}
	broken = wire.ErrVersion
	if err := push(); !errors.Is(err, wire.ErrVersion) {
		t.Errorf("got %v, want the refusal", err)
	}
	if x.feedback != nil {
		t.Error("something is owed after a push that failed")
	}
}

// TestSumsBeyondFloat32 owes so much that the next gradient's sum is infinite: it is dropped and the step goes on.
func TestSumsBeyondFloat32(t *testing.T) {
	k := newFeedback(servers(t, 1, wire.Float16, nil).Layout)
	huge := float32(3e38)
	push := func() Request {
		r := Request{Push: gradient.Step{Dense: [][]float32{fill(make([]float32, 24), huge), nil}, Rows: []gradient.Rows{{IDs: []uint64{5}, G: []float32{huge, -huge}}}}}
		k.add(&r)
		k.owed[0].keep(r.Push.Rows[0].G) // all of it, as if nothing had been sent
		return r
	}
	push()
	r := push()
	all(t, "dense", r.Push.Dense[0], huge)
	if got := r.Push.Rows[0].G; got[0] != huge || got[1] != -huge {
		t.Errorf("rows are %v", got)
	}
}

// TestPiecesThatBeginAgain: servers that ask for the pieces of a push again, having lost the first ones, get the gradient, and not what
// rounding had left of it.
func TestPiecesThatBeginAgain(t *testing.T) {
	const value = 1 + 1.0/(1<<12) // is 1 in float16
	for _, n := range []int{1, 3} {
		asked, mu := make([]bool, n), sync.Mutex{}
		dense, rows := make([][]float32, n), make([][]float32, n)
		s := servers(t, n, wire.Float16, func(server int, f *wire.Frame, _ *wire.Builder) error {
			mu.Lock()
			defer mu.Unlock()
			p, err := f.Piece()
			if err != nil {
				return err
			}
			if p.Number == 0 {
				dense[server], rows[server] = nil, nil
			}
			if p.Number == p.Of-1 && p.Of > 1 && !asked[server] {
				asked[server] = true
				return wire.ErrAgain
			}
			for _, sec := range f.Sections {
				switch sec.Kind {
				case wire.KindDense:
					g, e := sec.DenseIn(new([]float32))
					dense[server], err = append(dense[server], g...), errors.Join(err, e)
				case wire.KindRows:
					g, e := sec.RowsIn(new([]float32))
					rows[server], err = append(rows[server], g...), errors.Join(err, e)
				}
			}
			return err
		})
		s.MaxFrame = frameOverhead + 24
		x := New(s)
		for range 2 { // with nothing owed, and with something
			clear(asked)
			ids := []uint64{1, 2, 3, 5, 8, 13, 21, 34, 55}
			err := x.Run(t.Context(), Request{Op: wire.OpStep, Push: gradient.Step{Samples: 1, Dense: [][]float32{fill(make([]float32, 24), value), nil},
				Rows: []gradient.Rows{{IDs: ids, G: fill(make([]float32, 18), value)}}}, All: true})
			if err != nil || !slices.Contains(asked, true) {
				t.Fatalf("%v, asked %v", err, asked)
			}
			if all := slices.Concat(dense...); len(all) != 24 || slices.Min(all) < 1 {
				t.Errorf("%d servers have the dense gradient %v", n, all)
			}
			if all := slices.Concat(rows...); len(all) != 18 || slices.Min(all) < 1 {
				t.Errorf("%d servers have rows %v", n, all)
			}
		}
		all(t, "owed", x.feedback.dense[0], value-1)
	}
}
