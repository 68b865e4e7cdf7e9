package gradient

import (
	"slices"

	"github.com/gofleet/gofleet/optimizer"
)

// Rows holds gradients of an embedding's rows: ids, strictly increasing, and dim floats for each.
type Rows struct {
	IDs []uint64
	G   []float32
	// Clicks holds two numbers for each id, its shows and clicks; nil stands for one show and no click of each.
	Clicks []float32
	// Pushes holds the number of pushes that were folded into each row, if the table counts them; nil stands for one
	// each. A copy by Set counts as one push.
	Pushes []int32
}

// Slice returns the rows [from, to), each of width dim.
func (r Rows) Slice(from, to, dim int) Rows {
	part := Rows{IDs: r.IDs[from:to], G: r.G[from*dim : to*dim]}
	if r.Clicks != nil {
		part.Clicks = r.Clicks[2*from : 2*to]
	}
	return part
}

// Set makes r a copy of o, in its own memory.
func (r *Rows) Set(o Rows) {
	r.IDs, r.G = append(r.IDs[:0], o.IDs...), append(r.G[:0], o.G...)
	if o.Clicks == nil {
		r.Clicks = nil
		return
	}
	r.Clicks = append(r.Clicks[:0], o.Clicks...)
}

// Append appends rows of higher ids. Both have Clicks, or neither has.
func (r *Rows) Append(o Rows) {
	r.IDs, r.G, r.Clicks = append(r.IDs, o.IDs...), append(r.G, o.G...), append(r.Clicks, o.Clicks...)
}

// Want sets r to a copy of ids, without clicks, and makes room for their gradients, of width dim, reusing r's memory.
func (r *Rows) Want(ids []uint64, dim int) {
	r.IDs, r.Clicks = append(r.IDs[:0], ids...), nil
	r.G = slices.Grow(r.G[:0], len(ids)*dim)[:len(ids)*dim]
}

// Into sets o's ids, gradients, shows, clicks and pushes from r, for a table in this process: shows and clicks in o's
// memory, all else in r's.
func (r Rows) Into(o *optimizer.Rows) {
	o.IDs, o.G = r.IDs, r.G
	o.Show, o.Click = r.AppendClicks(o.Show[:0], o.Click[:0])
	o.Pushes = r.Pushes
}

// AppendClicks appends shows and clicks to two slices; it returns nil for both if r has no counts.
func (r Rows) AppendClicks(show, click []float32) (_, _ []float32) {
	if r.Clicks == nil {
		return nil, nil
	}
	for i := 0; i < len(r.Clicks); i += 2 {
		show, click = append(show, r.Clicks[i]), append(click, r.Clicks[i+1])
	}
	return show, click
}

// appendPairs appends a step's shows and clicks in the form of Clicks. A row without a show counts as shown once, one
// without a click as not clicked.
func appendPairs(dst []float32, r *optimizer.Rows) []float32 {
	for i := range r.IDs {
		pair := [2]float32{1, 0}
		if r.Show != nil {
			pair[0] = r.Show[i]
		}
		if r.Click != nil {
			pair[1] = r.Click[i]
		}
		dst = append(dst, pair[:]...)
	}
	return dst
}
