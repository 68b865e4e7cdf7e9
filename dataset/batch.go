package dataset

import (
	"gorgonia.org/tensor"
)

// Batch is the input of one training step: a tensor for every feed. A float32, int64 or uint64 column is [N, Shape...];
// a varying one is [total], with its offsets beside it.
type Batch = map[string]*tensor.Dense

// held is how many yielded batches keep their values: the last one, the two before it.
const held = 3

// slot is the memory of one batch, used again and again.
type slot struct {
	table *Table
	bound []bound // by column
	batch Batch   // what is yielded; a user may change the map
}

// bound is a fixed column's tensor and the first value it lies over.
type bound struct {
	tensor *tensor.Dense
	first  any
}

func newSlot(columns []Column, size int) *slot {
	s := &slot{table: newTable(columns), bound: make([]bound, len(columns)), batch: Batch{}}
	s.table.reserve(min(size, maxReserve))
	return s
}

// maxReserve bounds the rows for which room is made before it is known that there are so many.
const maxReserve = 1 << 14

// engine is that of a batch's tensors: gorgonia's own, which knows where rows come from, for messages about them.
type engine struct {
	tensor.StdEng
	table *Table
}

// Place is where an example of the batch comes from; see [Table.Place].
func (e engine) Place(row int) string { return e.table.Place(row) }

// bind makes the batch of what the table holds: at least one row. Tensors whose memory and shape are as before are
// kept.
func (s *slot) bind() Batch {
	clear(s.batch)
	for c := range s.table.columns {
		v := &s.table.columns[c]
		if v.Varying {
			e := engine{table: s.table}
			s.batch[v.Name] = v.tensor(e, v.len())
			s.batch[v.Name+".offsets"] = tensor.New(tensor.WithEngine(e), tensor.WithShape(len(v.offsets)),
				tensor.WithBacking(v.offsets))
			continue
		}
		s.bound[c].bind(v, s.table)
		s.batch[v.Name] = s.bound[c].tensor
	}
	return s.batch
}

// bindMapped makes the batch and has it changed by the maps.
func (s *slot) bindMapped(maps []func(Batch) error) (Batch, error) {
	batch := s.bind()
	for _, change := range maps {
		if err := change(batch); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

// bind lays the tensor over the table's rows of v, unless it lies there already.
func (b *bound) bind(v *values, t *Table) {
	n := t.Len()
	if b.tensor != nil && b.first == v.first() && b.tensor.Shape()[0] == n {
		return
	}
	b.first, b.tensor = v.first(), v.tensor(engine{table: t}, v.batchShape(n)...)
}
