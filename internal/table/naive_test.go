package table

import (
	"maps"
	"slices"

	"github.com/gofleet/gofleet/optimizer"
)

// naive is the dumb twin of Sparse: a map, every step written out.
type naive struct {
	param *optimizer.Param
	rule  optimizer.Rule
	rows  map[uint64]*Row
	clock uint32
}

func newNaive(p *optimizer.Param, rule optimizer.Rule) *naive {
	return &naive{param: p, rule: rule, rows: map[uint64]*Row{}}
}

func (n *naive) sweeps() bool {
	s, ok := n.rule.(optimizer.Sweeper)
	return ok && s.Sweeps()
}

func (n *naive) initial(id uint64) []float32 {
	w := make([]float32, n.param.Dim())
	n.param.InitRow(w, id)
	return w
}

func (n *naive) touch(id uint64, upTo int64) *Row {
	r := n.rows[id]
	if r == nil {
		r = &Row{ID: id, W: n.initial(id), State: make([]float32, n.rule.StateLen(n.param.Dim()))}
		optimizer.InitState(n.rule, r.State)
		n.rows[id] = r
	}
	r.Seen = n.clock
	n.sweep(r, upTo)
	return r
}

func (n *naive) sweep(r *Row, upTo int64) {
	if !n.sweeps() {
		return
	}
	for ; r.Step < upTo; r.Step++ {
		n.rule.Update(r.W, make([]float32, len(r.W)), r.State, &optimizer.State{Step: r.Step + 1, Row: true})
	}
}

func (n *naive) pull(ids []uint64, step int64) (w []float32) {
	for _, id := range ids {
		w = append(w, n.touch(id, step).W...)
	}
	return w
}

func (n *naive) peek(ids []uint64, step int64) (w []float32) {
	for _, id := range ids {
		switch r := n.rows[id]; {
		case r != nil:
			n.sweep(r, step)
			w = append(w, r.W...)
		case n.param.Height() > 0:
			w = append(w, n.initial(id)...)
		default:
			w = append(w, make([]float32, n.param.Dim())...)
		}
	}
	return w
}

func (n *naive) push(ids []uint64, g []float32, step int64) {
	dim := n.param.Dim()
	for i, id := range ids {
		r := n.touch(id, step-1)
		n.rule.Update(r.W, g[i*dim:][:dim], r.State, &optimizer.State{Step: step, Row: true})
		r.Step = max(r.Step, step)
		r.Updates++
	}
}

func (n *naive) set(ids []uint64, w []float32, step int64) {
	dim := n.param.Dim()
	for i, id := range ids {
		r := n.touch(id, 0)
		copy(r.W, w[i*dim:][:dim])
		optimizer.InitState(n.rule, r.State)
		r.Step = step
	}
}

func (n *naive) all(step int64) []Row {
	var out []Row
	for _, id := range slices.Sorted(maps.Keys(n.rows)) {
		n.sweep(n.rows[id], step)
		out = append(out, *n.rows[id])
	}
	return out
}
