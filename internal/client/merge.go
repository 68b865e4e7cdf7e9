package client

import (
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// collected is a copy of a step's gradients, or several merged.
type collected struct {
	samples int
	dense   [][]float32
	rows    []rows
	from    []uint64 // versions of the weights that the first was computed on, by server; nil if unknown
}

func newCollected(c *Client, params []*optimizer.Param) *collected {
	g := &collected{dense: make([][]float32, len(params)), rows: make([]rows, len(c.c.Layout.Embeddings))}
	for i, p := range params {
		g.dense[i] = make([]float32, len(p.G))
	}
	return g
}

// set copies a step's gradients.
func (g *collected) set(samples int, dense [][]float32, push []rows) {
	g.samples = samples
	for i, d := range dense {
		copy(g.dense[i], d)
	}
	for e := range push {
		g.rows[e].set(push[e])
	}
}

// merger adds gradients to gradients, as the strategy's Merge says: their sum, or their mean weighted by samples.
type merger struct {
	c      *Client
	sums   []bool // by param
	folder gradient.Folder
}

func newMerger(c *Client) merger {
	m := merger{c: c, sums: make([]bool, len(c.c.Layout.Params))}
	for i, p := range c.c.Layout.Params {
		m.sums[i] = c.c.Strategy.Sums(optimizer.Additive(optimizer.RuleFor(c.c.Rule, p)))
	}
	return m
}

// folded is r as a member of a fold.
func (r rows) folded() gradient.Rows { return gradient.Rows{IDs: r.ids, G: r.data, Clicks: r.counts} }

// add adds a step's gradients to g.
func (m *merger) add(g *collected, samples int, dense [][]float32, push []rows) {
	total := float64(g.samples + samples)
	mean := []float32{float32(float64(g.samples) / total), float32(float64(samples) / total)}
	sum := []float32{1, 1}
	g.samples += samples
	for i, d := range dense {
		if m.sums[i] {
			kernels.Axpy(1, d, g.dense[i])
			continue
		}
		kernels.Scale(mean[0], g.dense[i])
		kernels.Axpy(mean[1], d, g.dense[i])
	}
	for e := range m.c.c.Layout.Embeddings {
		emb := &m.c.c.Layout.Embeddings[e]
		factors := mean
		if m.sums[emb.Index] {
			factors = sum
		}
		both := []gradient.Rows{g.rows[e].folded(), push[e].folded()}
		all := m.folder.Fold(emb.Dim(), both, factors, strategy.WeightSamples)
		g.rows[e].set(rows{ids: all.IDs, data: all.G, counts: all.Clicks})
	}
}
