package server

import (
	"sync"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/table"
)

// scratch is the memory that folding a round needs.
type scratch struct {
	samples []int
	factors []float32
	dense   []float32
	pieces  [][]float32
	members []mode.Rows
	// rows, folders and scaled, which has gradients that were clipped, are by embedding.
	rows    []mode.Rows
	folders []mode.Folder
	scaled  [][]float32
	// show and click are those of one embedding's rows.
	show, click []float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// fold makes one gradient of an update's and applies it. It returns how many rows a table's policies dropped.
func (s *Server) fold(u update) (dropped int, err error) {
	round, step := u.pushes, u.step
	c := scratches.Get().(*scratch)
	defer scratches.Put(c)
	c.samples, c.pieces = c.samples[:0], c.pieces[:0]
	for _, p := range round {
		c.samples = append(c.samples, p.samples)
		c.pieces = append(c.pieces, p.dense)
	}
	c.factors = s.weighting.Factors(c.factors[:0], c.samples)
	dense, err := s.compensate(round, c.foldDense())
	if err != nil {
		return 0, err
	}
	rows := c.foldRows(s, round)
	if dense, err = s.shorten(c, u.round, dense, rows); err != nil {
		return 0, err
	}
	if err := s.applyDense(dense, step); err != nil {
		return 0, err
	}
	for e := range rows {
		n, err := s.applyRows(c, e, rows[e], u)
		if err != nil {
			return dropped, err
		}
		dropped += n
	}
	return dropped, nil
}

// foldDense is the round's dense gradient; that of a round of one is the worker's own.
func (c *scratch) foldDense() []float32 {
	if len(c.pieces) == 1 {
		return c.pieces[0]
	}
	if n := len(c.pieces[0]); cap(c.dense) < n {
		c.dense = make([]float32, n)
	}
	c.dense = c.dense[:len(c.pieces[0])]
	mode.FoldDense(c.dense, c.pieces, c.factors)
	return c.dense
}

// foldRows are the round's rows of every embedding; those of a round of one are the worker's own.
func (c *scratch) foldRows(s *Server, round []*push) []mode.Rows {
	c.rows = c.rows[:0]
	for e, i := range s.c.Layout.Embeddings {
		if len(c.folders) == e {
			c.folders, c.scaled = append(c.folders, mode.Folder{}), append(c.scaled, nil)
		}
		if len(round) == 1 {
			c.rows = append(c.rows, round[0].rows[e])
			continue
		}
		c.members = c.members[:0]
		for _, p := range round {
			c.members = append(c.members, p.rows[e])
		}
		c.rows = append(c.rows, c.folders[e].Fold(s.c.Layout.Params[i].Dim(), c.members, c.factors, s.weighting))
	}
	return c.rows
}

func (s *Server) applyDense(g []float32, step int64) error {
	for i, b := range s.c.Layout.Parts[s.c.Index].Blocks {
		if err := s.store.Blocks[i].Values.Push(g[b.At:][:b.Size], step); err != nil {
			return err
		}
	}
	return nil
}

// applyRows applies an embedding's gradients and returns how many the table's policies dropped.
func (s *Server) applyRows(c *scratch, e int, rows mode.Rows, u update) (dropped int, err error) {
	if len(rows.IDs) == 0 {
		return 0, nil
	}
	var counts table.Counts
	counts.Show, counts.Click = mode.SplitCounts(c.show[:0], c.click[:0], rows.Counts)
	if counts.Show != nil {
		c.show, c.click = counts.Show, counts.Click
	}
	var r table.Result
	if u.by != nil {
		r, err = u.by.tables[e].Push(rows.IDs, rows.G, counts, u.step)
	} else {
		r, err = s.store.Tables[e].PushCounts(rows.IDs, rows.G, counts, u.step)
	}
	return r.Waiting + r.Full, err
}
