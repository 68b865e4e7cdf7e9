package state

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// Part is the part of the model on one server, by the layout that all processes have computed: its tables, and which
// params and rows of a frame they hold. It needs no lock: the layout does not change, and the tables have locks of
// their own, so that updates and reads run side by side.
type Part struct {
	Index   int // the server's index
	Layout  *layout.Layout
	blocks  []layout.Block // the dense ones
	Floats  int            // number of dense values in blocks
	Store   *table.Store
	Updates *update.Tables
	Limit   int // of the largest reply, in bytes
}

// NewPart makes the tables of a server: its dense blocks in the layout's order, on server 0 the frozen blocks behind
// them, and every embedding. rule returns the rule of a param. limit is the largest answer, and memory bounds the
// embeddings together, in bytes; 0 does not.
func NewPart(l *layout.Layout, index int, rule func(*optimizer.Param) optimizer.Rule, o table.Options,
	limit int, memory int64) (*Part, error) {
	own := l.Parts[index]
	p := &Part{Index: index, Layout: l, blocks: own.Blocks, Floats: own.Floats, Store: new(table.Store), Limit: limit}
	for _, b := range p.blocks {
		of := l.Params[b.Param]
		block := table.Block{Param: of, Name: b.Name, Offset: b.Offset, Values: table.NewDense(b.Size, rule(of))}
		if err := p.Store.AddBlock(block); err != nil {
			return nil, err
		}
	}
	for _, b := range p.Frozen() {
		if err := p.Store.AddBlock(frozenBlock(l, b)); err != nil {
			return nil, err
		}
	}
	var params []*optimizer.Param
	for _, e := range l.Embeddings {
		params = append(params, e.Param)
	}
	if memory > 0 {
		params = table.Bounded(params, rule, memory)
	}
	for _, param := range params {
		t, err := table.NewSparse(param, rule(param), o)
		if err != nil {
			return nil, err
		}
		t.ByPush() // reads may be prefetches
		if err := p.Store.AddTable(t); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// frozenBlock is the block of a frozen param. No rule updates it, so that it has no state. Its name differs from the
// names of blocks that are parts of a param.
func frozenBlock(l *layout.Layout, b layout.Block) table.Block {
	return table.Block{Param: l.Params[b.Param], Name: "frozen " + b.Name, Values: table.NewDense(b.Size, nil)}
}

// Frozen returns the blocks of frozen dense params; only server 0 has them.
func (p *Part) Frozen() []layout.Block {
	if p.Index != 0 {
		return nil
	}
	return p.Layout.Frozen.Blocks
}

// FrozenFloats is the number of values in the frozen blocks.
func (p *Part) FrozenFloats() int {
	if p.Index != 0 {
		return 0
	}
	return p.Layout.Frozen.Floats
}

// EachFrozen calls do with every frozen block.
func (p *Part) EachFrozen(do func(b layout.Block, values *table.Dense) error) error {
	for i, b := range p.Frozen() {
		if err := do(b, p.Store.Blocks[len(p.blocks)+i].Values); err != nil {
			return err
		}
	}
	return nil
}

// EachBlock calls do with the blocks that hold the dense values [from, to) of this server: at is where they begin in
// the block, and [lo, hi) their place in the span.
func (p *Part) EachBlock(from, to int, do func(d *table.Dense, at, lo, hi int) error) error {
	for i, b := range p.blocks {
		lo, hi := max(from, b.At), min(to, b.At+b.Size)
		if lo >= hi {
			continue
		}
		if err := do(p.Store.Blocks[i].Values, lo-b.At, lo-from, hi-from); err != nil {
			return err
		}
	}
	return nil
}

// BlockAt names the dense block that holds value i of this server.
func (p *Part) BlockAt(i int) string {
	for _, b := range p.blocks {
		if i < b.At+b.Size {
			return fmt.Sprintf("%q at element %d", p.Layout.Params[b.Param].Name, b.Offset+i-b.At)
		}
	}
	return "nothing"
}

// Embedding is the position, among the layout's embeddings, of the param that a section names. Frames number all
// params, as the compared fingerprints do; tables, gradients and answers number the embeddings alone.
func (p *Part) Embedding(param uint32) (int, error) {
	for e := range p.Layout.Embeddings {
		if p.Layout.Embeddings[e].Index == int(param) {
			return e, nil
		}
	}
	return 0, wire.Refuse(wire.StatusRefused, "param %d is not an embedding", param)
}

// Dim is the width of an embedding's rows.
func (p *Part) Dim(e int) int { return p.Layout.Embeddings[e].Dim() }

// Owns reports whether row id of embedding e is on this server.
func (p *Part) Owns(e int, id uint64) bool { return p.Layout.Embeddings[e].Owns(p.Index, id) }

// CheckIDs refuses ids that the embedding does not have, or that are on other servers.
func (p *Part) CheckIDs(e *layout.Embedding, ids []uint64) error {
	if err := e.CheckIDs(ids); err != nil {
		return err
	}
	if i := e.Foreign(p.Index, ids); i >= 0 {
		return wire.Refuse(wire.StatusRefused, "row %d of embedding %q does not live on server %d", ids[i], e.Name,
			p.Index)
	}
	return nil
}

// Weights returns the dense section of a frame, nil if it has none, and the span [from, to) of n values that it covers.
// Values in a narrow format are widened into room.
func (p *Part) Weights(f *wire.Frame, n int, room *[]float32) (dense []float32, from, to int, err error) {
	if from, to, err = f.Span(n); err != nil {
		return nil, 0, 0, err
	}
	for _, sec := range f.Sections {
		if sec.Kind != wire.KindDense {
			continue
		}
		w, err := sec.DenseIn(room)
		if err != nil {
			return nil, 0, 0, err
		}
		if len(w) != to-from || dense != nil {
			return nil, 0, 0, wire.Refuse(wire.StatusRefused, "worker %d sent %d dense values to server %d for its %d "+
				"to %d",
				f.Worker, len(w), p.Index, from, to)
		}
		dense = w
	}
	return dense, from, to, nil
}
