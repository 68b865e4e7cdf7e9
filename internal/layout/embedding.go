package layout

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy/placement"
)

// Embedding is a param with rows, and their placement.
type Embedding struct {
	*optimizer.Param
	Index int // the param's index in the layout's Params

	plan     *placement.Plan
	variable int // the param's number in the plan
}

// Owns reports whether server s owns row id.
func (e *Embedding) Owns(s int, id uint64) bool { return e.plan.ServerOf(e.variable, id) == s }

// Blocks returns the server of each of the embedding's blocks, and the number of rows of every block but the last.
// There are no blocks if rows are spread by their ids ([kernels.Mix]).
func (e *Embedding) Blocks() (on []int, rows int) {
	for _, b := range e.plan.BlocksOf(e.variable) {
		on = append(on, b.Server)
	}
	if len(on) > 0 {
		rows = e.plan.BlocksOf(e.variable)[0].Size / e.Dim()
	}
	return on, rows
}

// CheckIDs returns an error if ids, strictly increasing, has one beyond the embedding's height.
func (e *Embedding) CheckIDs(ids []uint64) error {
	if h := uint64(e.Height()); h > 0 && len(ids) > 0 && ids[len(ids)-1] >= h {
		return fmt.Errorf("id %d of embedding %q, whose height is %d", ids[len(ids)-1], e.Name, h)
	}
	return nil
}

// Cut divides ids, strictly increasing, among the servers. It reuses shares, which has one entry for each server.
func (e *Embedding) Cut(ids []uint64, shares []Share) {
	for s := range shares {
		shares[s] = Share{At: shares[s].At[:0]}
	}
	if e.Height() == 0 {
		e.scatter(ids, shares)
		return
	}
	e.cutByRows(ids, shares)
}

// scatter divides ids that a hash spreads over the servers.
func (e *Embedding) scatter(ids []uint64, shares []Share) {
	if len(shares) == 1 {
		shares[0].Hi = len(ids)
		return
	}
	for i, id := range ids {
		s := e.plan.ServerOf(e.variable, id)
		shares[s].At = append(shares[s].At, int32(i))
	}
}

// cutByRows divides ids by the blocks of rows.
func (e *Embedding) cutByRows(ids []uint64, shares []Share) {
	dim := e.Dim()
	lo := 0
	for _, b := range e.plan.BlocksOf(e.variable) {
		hi, _ := slices.BinarySearch(ids, uint64((b.Offset+b.Size)/dim))
		shares[b.Server].add(lo, hi)
		lo = hi
	}
}

// Foreign returns the index of the first of ids, strictly increasing, that does not live on server s; -1 if all do.
func (e *Embedding) Foreign(s int, ids []uint64) int {
	switch {
	case e.plan.Servers == 1:
		return -1
	case e.Height() == 0:
		return slices.IndexFunc(ids, func(id uint64) bool { return !e.Owns(s, id) })
	}
	dim, at := e.Dim(), 0
	for _, b := range e.plan.BlocksOf(e.variable) {
		n, _ := slices.BinarySearch(ids[at:], uint64((b.Offset+b.Size)/dim))
		if n > 0 && b.Server != s {
			return at
		}
		at += n
	}
	if at < len(ids) {
		return at
	}
	return -1
}
