package exchange

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/wire"
)

// TestExchange makes a step on one and on three servers, in one frame each and in pieces: the servers get each gradient and each id
// once, and what they answer stands where it belongs.
func TestExchange(t *testing.T) {
	for _, n := range []int{1, 3} {
		for _, maxFrame := range []int{1 << 20, frameOverhead + 48} {
			t.Run(fmt.Sprintf("%d servers, frames of %d", n, maxFrame), func(t *testing.T) {
				got := newReceived(n)
				s := servers(t, n, wire.Float32, got.answer)
				s.MaxFrame = maxFrame
				got.s = s
				x := New(s)
				x.Dense = [][]float32{make([]float32, 24), nil}
				ids, w := []uint64{1, 2, 3, 5, 8, 13, 21, 34, 55}, make([]float32, 18)
				g := make([]float32, 24)
				for i := range g {
					g[i] = float32(i)
				}
				rows := gradient.Rows{IDs: ids, G: make([]float32, 18), Clicks: make([]float32, 18)}
				for i, id := range ids {
					rows.G[2*i], rows.G[2*i+1] = float32(id), -float32(id)
					rows.Clicks[2*i] = float32(id)
				}
				err := x.Run(t.Context(), Request{Op: wire.OpStep, Push: gradient.Step{Samples: 1, Dense: [][]float32{g, nil}, Rows: []gradient.Rows{rows}}, Pull: []Rows{{IDs: ids, W: w}}, All: true})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(x.Dense[0], g) {
					t.Errorf("dense weights %v, want those that the servers keep, %v", x.Dense[0], g)
				}
				for i, id := range ids {
					if w[2*i] != float32(id)+0.5 || w[2*i+1] != float32(id)+0.5 {
						t.Errorf("row %d is %v", id, w[2*i:2*i+2])
					}
				}
				slices.Sort(got.ids)
				if !slices.Equal(got.ids, ids) || got.clicks != 142 {
					t.Errorf("pushed were rows %v with %v shows, want %v with 142", got.ids, got.clicks, ids)
				}
			})
		}
	}
}

// TestNothingIsAskedFor: an evaluation asks the servers of its rows alone, where it needs no dense weights.
func TestNothingIsAskedFor(t *testing.T) {
	const n = 3
	var asked atomic.Int64
	got := newReceived(n)
	s := servers(t, n, wire.Float32, func(server int, f *wire.Frame, b *wire.Builder) error {
		asked.Add(1)
		return got.answer(server, f, b)
	})
	got.s = s
	if err := New(s).Run(t.Context(), Request{Op: wire.OpPeek, Pull: []Rows{{IDs: []uint64{5}, W: make([]float32, 2)}}}); err != nil || asked.Load() != 1 {
		t.Errorf("%d of %d servers were asked for one row, error %v", asked.Load(), n, err)
	}
}

// received is what servers got. They answer with the dense gradients as weights, and rows that hold their id and a half.
type received struct {
	s      *Servers
	lock   chan struct{}
	dense  [][]float32 // by server
	ids    []uint64
	clicks float32
}

func newReceived(n int) *received {
	return &received{lock: make(chan struct{}, 1), dense: make([][]float32, n)}
}

func (r *received) answer(server int, f *wire.Frame, b *wire.Builder) error {
	r.lock <- struct{}{}
	defer func() { <-r.lock }()
	h := *b.Header()
	h.Version = 7
	b.Reset(h)
	from, to, err := f.Span(r.s.Layout.Parts[server].Floats)
	if err != nil {
		return err
	}
	for _, sec := range f.Sections {
		switch sec.Kind {
		case wire.KindDense:
			var g []float32
			g, err = sec.Dense()
			r.dense[server] = append(r.dense[server], g...)
		case wire.KindRows:
			var ids []uint64
			ids, err = sec.IDs(nil)
			r.ids = append(r.ids, ids...)
		case wire.KindClicks:
			var clicks []float32
			clicks, err = sec.Clicks()
			for _, c := range clicks {
				r.clicks += c
			}
		case wire.KindIDs:
			err = r.rows(sec, b)
		}
		if err != nil {
			return err
		}
	}
	if f.Version != wire.NoDense && f.Version != h.Version {
		b.Dense(r.dense[server][from:to])
	}
	return nil
}

func (r *received) rows(sec wire.Section, b *wire.Builder) error {
	ids, err := sec.IDs(nil)
	if err != nil {
		return err
	}
	w := make([]float32, 2*len(ids))
	for i, id := range ids {
		w[2*i], w[2*i+1] = float32(id)+0.5, float32(id)+0.5
	}
	b.Bare(sec.Param, w)
	return nil
}
