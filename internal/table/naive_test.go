package table

import (
	"maps"
	"slices"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

// naive is the dumb twin of Sparse: a map, every step written out.
type naive struct {
	param   *optimizer.Param
	rule    optimizer.Rule
	rows    map[uint64]*Row
	waiting map[uint64]*Row // of which only Seen, Updates, Show and Click count
	clock   uint32

	// full says whether there is no room for a row of that id; nil when there is no bound.
	full func(id uint64) bool
}

func newNaive(p *optimizer.Param, rule optimizer.Rule) *naive {
	return &naive{param: p, rule: rule, rows: map[uint64]*Row{}, waiting: map[uint64]*Row{}}
}

func (n *naive) sweeps() bool {
	s, ok := n.rule.(interface{ Sweeps() bool })
	return ok && s.Sweeps()
}

func (n *naive) initial(id uint64) []float32 {
	w := make([]float32, n.param.Dim())
	n.param.InitRow(w, id)
	return w
}

func (n *naive) missing(id uint64) []float32 {
	if n.param.Height() > 0 {
		return n.initial(id)
	}
	return make([]float32, n.param.Dim())
}

// given is the row of an id, made if need be.
func (n *naive) given(id uint64) *Row {
	if n.rows[id] == nil {
		r := &Row{ID: id, W: n.initial(id), State: make([]float32, n.rule.StateLen(n.param.Dim()))}
		rules.InitState(n.rule, r.State)
		n.rows[id] = r
		delete(n.waiting, id)
	}
	n.rows[id].Seen = n.clock
	return n.rows[id]
}

// read is the row that a training read of an id finds, if any.
func (n *naive) read(id uint64) *Row {
	e := n.param.Entry
	known := n.rows[id] != nil
	switch {
	case !known && (e.CountFilter > 1 || e.ShowClick.Threshold > 0):
		return nil
	case !known && e.Probability > 0 && !n.param.Drawn(id):
		return nil
	case !known && n.full != nil && n.full(id):
		return nil
	}
	return n.given(id)
}

// pushed is the row that a push of an id changes, if any.
func (n *naive) pushed(id uint64, show, click float32, pushes int32, res *Result) *Row {
	score := func(show, click float32) float32 { return float32(n.param.Entry.ShowClick.Score(show, click)) }
	if r := n.rows[id]; r != nil {
		r.Show, r.Click, r.Delta = r.Show+show, r.Click+click, r.Delta+score(show, click)
		return n.given(id)
	}
	w := n.waiting[id]
	if w == nil {
		w = &Row{}
	}
	before := score(w.Show, w.Click)
	w.Updates += uint32(pushes)
	w.Seen = n.clock
	w.Show, w.Click = w.Show+show, w.Click+click
	e := n.param.Entry
	wait := false
	switch {
	case e.CountFilter > 1:
		wait = int(w.Updates) < e.CountFilter
		n.waiting[id] = w
	case e.ShowClick.Threshold > 0:
		wait = e.ShowClick.Score(w.Show, w.Click) < e.ShowClick.Threshold
		n.waiting[id] = w
	case e.Probability > 0:
		wait = !n.param.Drawn(id)
	}
	if wait {
		res.Waiting++
		return nil
	}
	if n.full != nil && n.full(id) {
		res.Full++
		return nil
	}
	res.Born++
	r := n.given(id)
	r.Show, r.Click, r.Delta = w.Show, w.Click, before+score(show, click)
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
		if r := n.read(id); r != nil {
			n.sweep(r, step)
			w = append(w, r.W...)
		} else {
			w = append(w, n.missing(id)...)
		}
	}
	return w
}

func (n *naive) peek(ids []uint64, step int64) (w []float32) {
	for _, id := range ids {
		if r := n.rows[id]; r != nil {
			n.sweep(r, step)
			w = append(w, r.W...)
		} else {
			w = append(w, n.missing(id)...)
		}
	}
	return w
}

func (n *naive) push(ids []uint64, g []float32, c Clicks, step int64) (res Result) {
	dim := n.param.Dim()
	for i, id := range ids {
		show, click := float32(1), float32(0)
		if c.Show != nil {
			show = c.Show[i]
		}
		if c.Click != nil {
			click = c.Click[i]
		}
		pushes := int32(1)
		if c.Pushes != nil {
			pushes = c.Pushes[i]
		}
		r := n.pushed(id, show, click, pushes, &res)
		if r == nil {
			continue
		}
		n.sweep(r, step-1)
		n.rule.Update(r.W, g[i*dim:][:dim], r.State, &optimizer.State{Step: step, Row: true})
		r.Step = max(r.Step, step)
		r.Updates++
		res.Applied++
	}
	return res
}

func (n *naive) set(ids []uint64, w []float32, step int64) {
	dim := n.param.Dim()
	for i, id := range ids {
		if n.rows[id] == nil && n.full != nil && n.full(id) {
			continue
		}
		r := n.given(id)
		copy(r.W, w[i*dim:][:dim])
		rules.InitState(n.rule, r.State)
		r.Step = step
	}
}

func (n *naive) shrink(o Shrink) (done Shrunk) {
	for _, all := range []map[uint64]*Row{n.rows, n.waiting} {
		for id, r := range all {
			if o.Decay > 0 {
				r.Show, r.Click = float32(o.Decay*float64(r.Show)), float32(o.Decay*float64(r.Click))
			}
			low := n.rows[id] == r && n.param.Entry.ShowClick.Score(r.Show, r.Click) < o.MinScore
			if low || o.Unseen > 0 && n.clock-r.Seen >= o.Unseen {
				delete(all, id)
				if r.W != nil {
					done.Rows++
				} else {
					done.Waiting++
				}
			}
		}
	}
	return done
}

// all returns every row in ascending order of ids. Shows and clicks count in tables that let ids in by them.
func (n *naive) all(step int64) []Row {
	var out []Row
	for _, id := range slices.Sorted(maps.Keys(n.rows)) {
		n.sweep(n.rows[id], step)
		r := *n.rows[id]
		if n.param.Entry.ShowClick.Threshold == 0 {
			r.Show, r.Click, r.Delta = 0, 0, 0
		}
		out = append(out, r)
	}
	return out
}
