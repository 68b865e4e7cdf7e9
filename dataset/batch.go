package dataset

import (
	"gorgonia.org/tensor"
)

// Batch is the input of one training step: a tensor for every feed. A float32, int64 or uint64 column is [N, Shape...];
// a varying one is [total], with its offsets beside it.
type Batch = map[string]*tensor.Dense

// held is the number of yielded batches that keep their values: the last one and the two before it.
const held = 3

// slot is the reused memory of one batch.
type slot struct {
	table *Table
	bound []bound // by column
	batch Batch   // the yielded map; a user may change it
}

// bound is a fixed column's tensor and the first value of its memory.
type bound struct {
	tensor *tensor.Dense
	first  any
}

func newSlot(columns []Column, size int) *slot {
	s := &slot{table: newTable(columns), bound: make([]bound, len(columns)), batch: Batch{}}
	s.table.reserve(min(size, maxReserve))
	return s
}

// maxReserve bounds the rows for which room is made before their number is known.
const maxReserve = 1 << 14

// engine is the engine of a batch's tensors: gorgonia's own, with the origin of rows for error messages.
type engine struct {
	tensor.StdEng
	table *Table
}

// Place returns the origin of an example of the batch; see [Table.Place].
func (e engine) Place(row int) string { return e.table.Place(row) }

// bind makes the batch from the table, which must have a row. Tensors whose memory and shape are unchanged are kept.
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

// bindMapped makes the batch and applies the maps to it.
func (s *slot) bindMapped(maps []func(Batch) error) (Batch, error) {
	batch := s.bind()
	for _, change := range maps {
		if err := change(batch); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

// bind points the tensor to the table's rows of v, unless it already points there.
func (b *bound) bind(v *values, t *Table) {
	n := t.Len()
	if b.tensor != nil && b.first == v.first() && b.tensor.Shape()[0] == n {
		return
	}
	b.first, b.tensor = v.first(), v.tensor(engine{table: t}, v.batchShape(n)...)
}
