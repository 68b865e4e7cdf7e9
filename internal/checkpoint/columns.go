package checkpoint

import (
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
)

// columns is a list of arrays of a part, each with a number for every row of a table, or for every id that waits. Only
// some of the numbers are in memory at a time.
type columns []interface {
	declare(n int) safetensors.Tensor
	write(w *safetensors.Writer) error
	read(f *safetensors.File, at, n int) error
}

// columns returns the columns of a table's rows other than ids, weights and state, in the order of their arrays.
func (t tableInfo) columns(c *table.Columns) columns {
	all := columns{arrayOf(t.Param+".step", &c.Steps), arrayOf(t.Param+".seen", &c.Seen),
		arrayOf(t.Param+".updates", &c.Updates)}
	if t.Rated {
		all = append(all, arrayOf(t.Param+".show", &c.Show), arrayOf(t.Param+".click", &c.Click))
	}
	if t.Scored {
		all = append(all, arrayOf(t.Param+".delta", &c.Delta))
	}
	if t.Served {
		all = append(all, arrayOf(t.Param+".served", &c.Served))
	}
	return all
}

// columns returns the columns of the ids that wait, other than the ids.
func (c *waiters) columns(t tableInfo) columns {
	return columns{arrayOf(t.Param+".waiting.pushes", &c.pushes), arrayOf(t.Param+".waiting.seen", &c.seen),
		arrayOf(t.Param+".waiting.show", &c.show), arrayOf(t.Param+".waiting.click", &c.click)}
}

// declare returns the arrays of n rows.
func (all columns) declare(n int) (ts []safetensors.Tensor) {
	for _, c := range all {
		ts = append(ts, c.declare(n))
	}
	return ts
}

// write writes the numbers in memory. The arrays follow in the file, so this is called before the writer reaches them.
func (all columns) write(w *safetensors.Writer) error {
	for _, c := range all {
		if err := c.write(w); err != nil {
			return err
		}
	}
	return nil
}

// read reads the numbers of n rows from row at on, into the memory of earlier reads if it suffices.
func (all columns) read(f *safetensors.File, at, n int) error {
	for _, c := range all {
		if err := c.read(f, at, n); err != nil {
			return err
		}
	}
	return nil
}

// array is a column whose numbers in memory are a slice.
type array[T safetensors.Element] struct {
	name    string
	numbers *[]T
}

func arrayOf[T safetensors.Element](name string, numbers *[]T) array[T] {
	return array[T]{name, numbers}
}

func (a array[T]) declare(n int) safetensors.Tensor {
	return safetensors.Tensor{Name: a.name, DType: safetensors.TypeOf[T](), Shape: []int{n}}
}

func (a array[T]) write(w *safetensors.Writer) error { return safetensors.Later(w, a.name, *a.numbers) }

func (a array[T]) read(f *safetensors.File, at, n int) error {
	*a.numbers = room(*a.numbers, n)
	return safetensors.ReadAt(f, a.name, *a.numbers, at)
}
