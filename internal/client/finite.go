package client

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// cleaner applies the strategy's policy to gradients that are not finite, which would spoil the weights for everybody, and then
// clips them by their lengths if the rule asks for that. A step without need of either passes through as it is.
type cleaner struct {
	c      *Client
	clips  clipper
	policy strategy.NotFinite
	dense  [][]float32
	rows   []rows
	spare  [][]float32 // by param
	kept   []rows      // by embedding
	counts [][]float32 // by embedding
}

func newCleaner(c *Client) cleaner {
	n := len(c.c.Layout.Embeddings)
	return cleaner{c: c, clips: newClipper(c), policy: c.c.Strategy.NotFinite, dense: make([][]float32, len(c.c.Layout.Params)), rows: make([]rows, n),
		spare: make([][]float32, len(c.c.Layout.Params)), kept: make([]rows, n), counts: make([][]float32, n)}
}

// clean is what a step pushes, valid until the next call and as long as the step's arrays, which clipping changes.
func (k *cleaner) clean(params []*optimizer.Param, st *optimizer.Step) (dense [][]float32, push []rows, err error) {
	for i, p := range params {
		if p.Embedding || p.Frozen {
			continue
		}
		if k.dense[i], err = k.variable(i, p); err != nil {
			return nil, nil, err
		}
	}
	for e := range st.Rows {
		if k.rows[e], err = k.embedding(e, &st.Rows[e]); err != nil {
			return nil, nil, err
		}
	}
	k.clips.clip(k.dense, k.rows)
	return k.dense, k.rows, nil
}

func (k *cleaner) variable(i int, p *optimizer.Param) ([]float32, error) {
	at := kernels.FirstNotFinite(p.G)
	if at < 0 {
		return p.G, nil
	}
	if k.policy == strategy.NotFiniteRefuse {
		return nil, fmt.Errorf("worker %d: the gradient of %q is %v at element %d: lower the learning rate or look at the batch "+
			"(strategy.NotFinite can skip or clip it)", k.c.c.Worker, p.Name, p.G[at], at)
	}
	k.c.counts.notFinite.Add(1)
	k.spare[i] = append(k.spare[i][:0], p.G...)
	if k.policy == strategy.NotFiniteSkip {
		clear(k.spare[i])
	} else {
		kernels.MakeFinite(k.spare[i])
	}
	return k.spare[i], nil
}

// embedding is what a step pushes of one; nothing of a frozen one.
func (k *cleaner) embedding(e int, r *optimizer.Rows) (rows, error) {
	if k.c.c.Layout.Embeddings[e].Frozen {
		return rows{}, nil
	}
	counts := k.pairs(e, r)
	at := kernels.FirstNotFinite(r.G)
	if at < 0 {
		return rows{ids: r.IDs, data: r.G, counts: counts}, nil
	}
	dim := r.Param.Dim()
	if k.policy == strategy.NotFiniteRefuse {
		return rows{}, fmt.Errorf("worker %d: the gradient of row %d of %q is %v: lower the learning rate or look at the batch "+
			"(strategy.NotFinite can skip or clip it)", k.c.c.Worker, r.IDs[at/dim], r.Param.Name, r.G[at])
	}
	kept := &k.kept[e]
	kept.ids, kept.data = append(kept.ids[:0], r.IDs[:at/dim]...), append(kept.data[:0], r.G[:at/dim*dim]...)
	if kept.counts = nil; counts != nil {
		kept.counts = counts[:at/dim*2] // what is left out makes room for what follows
	}
	for i := at / dim; i < len(r.IDs); i++ {
		g := r.G[i*dim : (i+1)*dim]
		bad := kernels.FirstNotFinite(g) >= 0
		if bad {
			k.c.counts.notFinite.Add(1)
		}
		if bad && k.policy == strategy.NotFiniteSkip {
			continue
		}
		kept.ids, kept.data = append(kept.ids, r.IDs[i]), append(kept.data, g...)
		if counts != nil {
			kept.counts = append(kept.counts, counts[2*i:2*i+2]...)
		}
		if bad {
			kernels.MakeFinite(kept.data[len(kept.data)-dim:])
		}
	}
	return *kept, nil
}

// pairs are the shows and clicks of a step's rows, nil for a table that doesn't read them.
func (k *cleaner) pairs(e int, r *optimizer.Rows) []float32 {
	if !r.Param.Entry.Counts() {
		return nil
	}
	pairs := gradient.AppendClicks(k.counts[e][:0], len(r.IDs), r.Show, r.Click)
	if pairs != nil {
		k.counts[e] = pairs
	}
	return pairs
}
