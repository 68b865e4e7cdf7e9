package replica

import (
	"context"
	"slices"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// merging is a session that makes one update of the gradients of k steps:
//
//	Σ nᵢgᵢ / Σ nᵢ over the k steps, or k times that for a sum
//
// for dense params and, by id, for rows. What is left over when an epoch ends goes on in the next.
type merging struct {
	session
	params  []*optimizer.Param
	c       strategy.GradientMerge
	steps   int
	samples int
	dense   [][]float32 // Σ nᵢgᵢ of those that are trained
	rows    []optimizer.Rows
	folder  mode.Folder
}

// Merging is a session that merges gradients before it hands them to inner, whose steps in between end as evaluations do.
func Merging(inner optimizer.Session, params []*optimizer.Param, c strategy.GradientMerge) optimizer.Session {
	if c.KSteps <= 1 {
		return inner
	}
	return merge(alone{inner}, params, c)
}

func merge(inner session, params []*optimizer.Param, c strategy.GradientMerge) *merging {
	m := &merging{session: inner, params: params, c: c}
	for _, p := range params {
		switch {
		case p.Embedding:
			m.rows = append(m.rows, optimizer.Rows{Param: p})
		case !p.Frozen:
			m.dense = append(m.dense, make([]float32, len(p.G)))
		}
	}
	return m
}

// alone is a session of a process that has nobody to wait for.
type alone struct{ optimizer.Session }

func (alone) park(context.Context) error { return nil }

// End implements [optimizer.Session].
func (m *merging) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return m.session.End(ctx, st)
	}
	m.add(st)
	if m.steps < m.c.KSteps {
		return m.session.End(ctx, &optimizer.Step{Eval: true})
	}
	return m.session.End(ctx, m.take())
}

// add takes a step's gradients in, weighted by its samples.
func (m *merging) add(st *optimizer.Step) {
	n := float32(st.Samples)
	m.steps++
	m.samples += st.Samples
	m.each(func(g, sum []float32) {
		for i, v := range g {
			sum[i] += n * v
		}
	})
	for e := range m.rows {
		r := &m.rows[e]
		both := []mode.Rows{counted(*r), counted(rowsOf(st.Rows, e, r.Param))}
		sum := m.folder.Fold(r.Param.Dim(), both, []float32{1, n}, mode.BySamples)
		r.IDs, r.G = append([]uint64{}, sum.IDs...), append([]float32{}, sum.G...)
		r.Show, r.Click = mode.SplitCounts(nil, nil, sum.Counts)
	}
}

// counted are rows with what is known of their shows and clicks; where a table counts them, a step without any shows each row once.
func counted(r optimizer.Rows) mode.Rows {
	if r.Param != nil && r.Param.Entry.Counts() && r.Show == nil {
		r.Show = slices.Repeat([]float32{1}, len(r.IDs))
	}
	return mode.Rows{IDs: r.IDs, G: r.G, Counts: mode.AppendCounts(nil, len(r.IDs), r.Show, r.Click)}
}

// take is the step that the gradients make together, in the params' G, and forgets them.
func (m *merging) take() *optimizer.Step {
	st := &optimizer.Step{Samples: m.samples}
	scale := 1 / float32(max(1, m.samples))
	if m.c.Sum {
		scale *= float32(m.steps)
	}
	m.each(func(g, sum []float32) {
		for i, v := range sum {
			g[i] = v * scale
		}
		clear(sum)
	})
	for e := range m.rows {
		r := &m.rows[e]
		for i := range r.G {
			r.G[i] *= scale
		}
		st.Rows = append(st.Rows, *r)
		*r = optimizer.Rows{Param: r.Param}
	}
	m.steps, m.samples = 0, 0
	return st
}

// each calls f with the gradient and the sum of every dense param that is trained.
func (m *merging) each(f func(g, sum []float32)) {
	i := 0
	for _, p := range m.params {
		if !p.Embedding && !p.Frozen {
			f(p.G, m.dense[i])
			i++
		}
	}
}
