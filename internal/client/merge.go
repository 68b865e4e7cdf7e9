package client

import (
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// gradient is a copy of a step's gradients, or several merged.
type gradient struct {
	samples int
	dense   [][]float32
	rows    []rows
	from    []uint64 // versions of the weights that the first was computed on, by server; nil if unknown
}

func newGradient(c *Client, params []*optimizer.Param) *gradient {
	g := &gradient{dense: make([][]float32, len(params)), rows: make([]rows, len(c.c.Layout.Embeddings))}
	for i, p := range params {
		g.dense[i] = make([]float32, len(p.G))
	}
	return g
}

// set copies a step's gradients.
func (g *gradient) set(samples int, dense [][]float32, push []rows) {
	g.samples = samples
	for i, d := range dense {
		copy(g.dense[i], d)
	}
	for e := range push {
		g.rows[e].set(push[e])
	}
}

// merger adds gradients to gradients, as the strategy's Merge says.
type merger struct {
	c      *Client
	sum    bool
	folder mode.Folder
}

func newMerger(c *Client) merger { return merger{c: c, sum: c.c.Strategy.Merge == strategy.MergeSum} }

// folded is r as a member of a fold.
func (r rows) folded() mode.Rows { return mode.Rows{IDs: r.ids, G: r.data, Counts: r.counts} }

// add adds a step's gradients to g: their sum, or their mean weighted by samples.
func (m *merger) add(g *gradient, samples int, dense [][]float32, push []rows) {
	total := float64(g.samples + samples)
	before, more := float32(float64(g.samples)/total), float32(float64(samples)/total)
	if m.sum {
		before, more = 1, 1
	}
	g.samples += samples
	for i, d := range dense {
		if !m.sum {
			kernels.Scale(before, g.dense[i])
		}
		kernels.Axpy(more, d, g.dense[i])
	}
	factors := []float32{before, more}
	for e, i := range m.c.c.Layout.Embeddings {
		both := []mode.Rows{g.rows[e].folded(), push[e].folded()}
		all := m.folder.Fold(m.c.c.Layout.Params[i].Dim(), both, factors, mode.BySamples)
		g.rows[e].set(rows{ids: all.IDs, data: all.G, counts: all.Counts})
	}
}
