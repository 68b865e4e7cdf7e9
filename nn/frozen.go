package nn

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/kernels"
	"gorgonia.org/tensor"
)

// Frozen computes outputs of a graph with the weights that the graph has now, for any number of goroutines at once.
// Package nn/serve computes scores with it.
//
//	f, err := nn.Inference(pred).Freeze()
//	c := f.NewCall() // for one goroutine at a time
//	err = c.Read(feeds)
//	out, err := c.Compute(ctx)
type Frozen struct {
	outputs, feeds []*Node
	packed         packedWeights
	// asLoaded is set if no trainer was bound to the graph: later training does not change the outputs.
	asLoaded bool
}

// Freeze prepares to compute outputs that depend on each example alone, so that a row has the same values whatever rows
// are beside it; others are an error. If no trainer is bound to the graph, training it later changes copies of its
// parameters.
func (m InferenceModel) Freeze() (*Frozen, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	for _, n := range m.outputs {
		if err := ofExample(n); err != nil {
			return nil, fmt.Errorf("nn: Freeze: %w", err)
		}
	}
	g := m.outputs[0].graph
	nodes := behind(g, m.outputs)
	return &Frozen{m.outputs, feedsOf(nodes), packedWeightsOf(nodes), g.lend()}, nil
}

// Feeds are the feeds that the outputs need.
func (f *Frozen) Feeds() []*Node { return slices.Clone(f.feeds) }

// ofExample returns an error for an output that does not depend on each example alone.
func ofExample(n *Node) error {
	_, counts := n.op.(metric)
	switch {
	case counts || len(n.shape) == 0 || n.shape[0] != batch:
		return fmt.Errorf("output %s is of all examples together", n.placed())
	case isInt(n):
		return fmt.Errorf("output %s holds int64: take its Cast to float32", n.placed())
	}
	if n := mixing(n); n != nil {
		return fmt.Errorf("%s is computed from all examples of a batch, so that a row's values would depend on the "+
			"rows beside it", n.placed())
	}
	return nil
}

// mixing returns a node on which an output depends and which combines all examples; nil if there is none.
func mixing(output *Node) *Node {
	fed := map[*Node]bool{}
	for _, n := range behind(output.graph, []*Node{output}) {
		fed[n] = isFeed(n) || slices.ContainsFunc(n.in, func(in *Node) bool { return fed[in] })
		if _, mixes := n.op.(mixer); mixes {
			return n
		}
		if fed[n] && !isFeed(n) && (len(n.shape) == 0 || n.shape[0] != batch) {
			return n
		}
	}
	return nil
}

func packedWeightsOf(nodes []*Node) packedWeights {
	packed := packedWeights{}
	for _, n := range nodes {
		if _, ok := n.op.(linear); !ok {
			continue
		}
		w := n.in[1]
		if v, ok := w.op.(variable); ok {
			packed[w.name] = sync.OnceValue(func() *kernels.Packed {
				return kernels.Pack(w.shape[0], w.shape[1], v.param.W)
			})
		}
	}
	return packed
}

// Call is the memory in which outputs of a [Frozen] graph are computed, for one call after the other.
type Call struct {
	of    *Frozen
	exe   engine
	plan  *plan
	feed  *feedBatch
	joint feedBatch // of the calls that were computed together with it
}

// NewCall returns the memory of a call.
func (f *Frozen) NewCall() *Call {
	c := &Call{of: f}
	c.exe.computes(f.outputs[0].graph)
	c.exe.packed, c.exe.asLoaded, c.feed = f.packed, f.asLoaded, c.exe.batches[0]
	return c
}

// Read checks a batch of feeds, in the form for [Executor.Eval]. They are used in place until Release.
func (c *Call) Read(feeds map[string]*tensor.Dense) (err error) {
	if c.plan, err = c.exe.ready(c.of.outputs, false); err != nil {
		return err
	}
	return c.feed.take(c.plan, feeds)
}

// Rows is the number of examples that were read.
func (c *Call) Rows() int { return c.feed.rows }

// Joins reports whether what both calls have read can be one batch: a feed's ids must be int64 in both, or uint64 in
// both.
func (c *Call) Joins(o *Call) bool { return c.feed.rows > 0 && slices.Equal(c.feed.wide, o.feed.wide) }

// Compute returns the outputs for what c has read, followed by what the others have read, as one batch. They are valid
// until the next call of c.
func (c *Call) Compute(ctx context.Context, others ...*Call) ([]*tensor.Dense, error) {
	b := c.feed
	if len(others) > 0 {
		parts := []*feedBatch{c.feed}
		for _, o := range others {
			parts = append(parts, o.feed)
		}
		b = &c.joint
		b.join(parts)
	}
	b.collect(&c.exe, c.plan)
	return c.exe.compute(ctx, c.plan, b)
}

// Size is the approximate number of bytes of memory, including rows of embeddings.
func (c *Call) Size() int {
	floats, ids := 0, 0
	for _, c := range c.exe.cells {
		if c != nil && c.param == nil {
			floats += cap(c.values) + c.kept()
		}
	}
	for _, p := range c.exe.plans {
		for _, s := range p.chains {
			s.each(func(p *portion) {
				for _, c := range p.cells {
					floats += c.kept()
				}
			})
		}
	}
	for _, t := range c.exe.held.tables {
		floats += cap(t.w)
	}
	for _, b := range []*feedBatch{c.feed, &c.joint} {
		for i := range b.floats {
			floats += cap(b.floats[i])
			ids += cap(b.ids[i]) + cap(b.offsets[i])
		}
		for _, s := range b.tables {
			ids += 6 * cap(s.step.ids) // including the memory for making them unique
		}
	}
	return 4*floats + 8*ids
}

// Release drops the feeds that were read.
func (c *Call) Release() {
	clear(c.feed.floats)
	clear(c.feed.ids)
	clear(c.feed.offsets)
	clear(c.feed.places)
	if c.plan == nil {
		return
	}
	for _, c := range c.plan.feeds {
		c.value, c.ids, c.offsets = nil, nil, nil
	}
	for _, s := range c.plan.chains {
		s.each((*portion).letGo)
	}
}
