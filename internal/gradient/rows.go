package gradient

import (
	"slices"

	"github.com/gofleet/gofleet/optimizer"
)

// Rows are gradients of an embedding's rows: ids, strictly increasing, and dim floats for each.
type Rows struct {
	IDs []uint64
	G   []float32
	// Clicks are two numbers for each id, how often it was shown and clicked; nil is one show of each and no click.
	Clicks []float32
	// Pushes counts the pushes that each row was folded of, where the table counts them; nil is one each. A copy by Set
	// is one push.
	Pushes []int32
}

// Slice is the rows [from, to) of them, each of width dim.
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

// Append adds rows of higher ids. Either both know shows and clicks or neither does.
func (r *Rows) Append(o Rows) {
	r.IDs, r.G, r.Clicks = append(r.IDs, o.IDs...), append(r.G, o.G...), append(r.Clicks, o.Clicks...)
}

// Want makes r a copy of ids, without clicks, and room for their gradients, of width dim, in its own memory.
func (r *Rows) Want(ids []uint64, dim int) {
	r.IDs, r.Clicks = append(r.IDs[:0], ids...), nil
	r.G = slices.Grow(r.G[:0], len(ids)*dim)[:len(ids)*dim]
}

// Into makes o's ids, gradients, shows, clicks and pushes these, for a table in this process: shows and clicks in o's
// memory, all else in r's.
func (r Rows) Into(o *optimizer.Rows) {
	o.IDs, o.G = r.IDs, r.G
	o.Show, o.Click = r.AppendClicks(o.Show[:0], o.Click[:0])
	o.Pushes = r.Pushes
}

// AppendClicks appends shows and clicks to slices of their own; both are nil where nothing is said of them.
func (r Rows) AppendClicks(show, click []float32) (_, _ []float32) {
	if r.Clicks == nil {
		return nil, nil
	}
	for i := 0; i < len(r.Clicks); i += 2 {
		show, click = append(show, r.Clicks[i]), append(click, r.Clicks[i+1])
	}
	return show, click
}

// appendPairs appends the shows and clicks of a step's rows as Clicks has them: no shows are one show each, no clicks
// are none.
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
