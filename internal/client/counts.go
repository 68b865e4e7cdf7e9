package client

import (
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/wire"
)

// counts is what became of a worker's pushes.
type counts struct {
	steps, rows, doubled, dropped, notFinite atomic.Int64
}

// note takes what a server's answer says of a push.
func (n *counts) note(f *wire.Frame, r *request) {
	if r.samples == 0 {
		return
	}
	n.rows.Add(int64(f.Samples))
	n.dropped.Add(int64(f.Acked))
	n.doubled.Add(int64(f.Round))
}

// Counts is what became of a worker's pushes so far.
type Counts struct {
	// Steps were pushed and acknowledged by every server that had a part of them.
	Steps int64
	// Rows of embeddings were applied, counted at the servers.
	Rows int64
	// Doubled requests had been applied before: the first answer was lost, and they changed nothing.
	Doubled int64
	// Dropped rows were pushed and not applied: an entry policy did not admit them, or the table's budget was spent.
	Dropped int64
	// NotFinite rows and variables held NaN or infinities and were skipped or clipped on the worker.
	NotFinite int64
}

// Counts is what became of this worker's pushes so far.
func (c *Client) Counts() Counts {
	n := &c.counts
	return Counts{Steps: n.steps.Load(), Rows: n.rows.Load(), Doubled: n.doubled.Load(), Dropped: n.dropped.Load(), NotFinite: n.notFinite.Load()}
}
