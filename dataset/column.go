package dataset

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Column describes one feed: its name, its type, and the shape of one sample.
//
// A fixed column has the same number of values in every row; a batch of N rows is a tensor of shape [N, Shape...]. A
// varying column (Varying true, Shape empty) has any number of values per row. A batch holds them concatenated under
// Name, with shape [total], and N+1 offsets (int64) under Name + ".offsets": row r is values[offsets[r]:offsets[r+1]].
// Where no row of a batch has a value, that tensor is empty.
type Column struct {
	Name string
	// Type is tensor.Float32, tensor.Int64, or tensor.Uint64 for ids.
	Type tensor.Dtype
	// Shape is the shape of one sample without the batch; empty means {1}.
	Shape   []int
	Varying bool
}

// Floats is a fixed float32 column. Without a shape a sample is one value: a batch is [N,1].
func Floats(name string, shape ...int) Column {
	return Column{Name: name, Type: tensor.Float32, Shape: shape}
}

// Ints is a fixed int64 column, such as ids or class labels. Without a shape a sample is one value: a batch is [N,1].
func Ints(name string, shape ...int) Column {
	return Column{Name: name, Type: tensor.Int64, Shape: shape}
}

// IDs is a fixed uint64 column, for ids from 0 to 2⁶⁴−1 that embeddings look up, such as PaddlePaddle's slots of type
// uint64. Ints end at 2⁶³−1. Without a shape a sample is one value: a batch is [N,1].
func IDs(name string, shape ...int) Column {
	return Column{Name: name, Type: tensor.Uint64, Shape: shape}
}

// Varying returns c with any number of values per row.
func Varying(c Column) Column {
	c.Shape, c.Varying = nil, true
	return c
}

// Width returns the number of values of one sample of a fixed column, 0 for a varying one.
func (c Column) Width() int {
	if c.Varying {
		return 0
	}
	n := 1
	for _, d := range c.Shape {
		n *= d
	}
	return n
}

// kind is the type of a column's values.
type kind uint8

const (
	floatKind kind = iota
	intKind
	idKind
)

func (c Column) kind() kind {
	switch c.Type {
	case tensor.Int64:
		return intKind
	case tensor.Uint64:
		return idKind
	}
	return floatKind
}

func (k kind) dtype() tensor.Dtype {
	return [...]tensor.Dtype{floatKind: tensor.Float32, intKind: tensor.Int64, idKind: tensor.Uint64}[k]
}

// batchShape returns the shape of n rows: [n, Shape...], or [n,1] if Shape is empty.
func (c Column) batchShape(n int) []int {
	if len(c.Shape) == 0 {
		return []int{n, 1}
	}
	return append([]int{n}, c.Shape...)
}

func (c Column) check() error {
	if c.Name == "" {
		return fmt.Errorf("%w: it has no name", ErrColumn)
	}
	if c.Type != tensor.Float32 && c.Type != tensor.Int64 && c.Type != tensor.Uint64 {
		return fmt.Errorf("%w %q: its type is %v, want float32, int64 or uint64", ErrColumn, c.Name, c.Type)
	}
	if c.Varying && len(c.Shape) > 0 {
		return fmt.Errorf("%w %q: it is varying, so it can't have a shape %v", ErrColumn, c.Name, c.Shape)
	}
	for _, d := range c.Shape {
		if d <= 0 {
			return fmt.Errorf("%w %q: shape %v has a dimension below 1", ErrColumn, c.Name, c.Shape)
		}
	}
	return nil
}

// checkColumns checks each column, and that feeds have different names.
func checkColumns(columns []Column) error {
	if len(columns) == 0 {
		return fmt.Errorf("%w: no columns given; want at least one", ErrColumn)
	}
	seen := map[string]bool{}
	for _, c := range columns {
		if err := c.check(); err != nil {
			return err
		}
		for _, name := range c.feeds() {
			if seen[name] {
				return fmt.Errorf("%w %q: two columns have that name", ErrColumn, name)
			}
			seen[name] = true
		}
	}
	return nil
}

// feeds returns the names of the column's tensors in a batch.
func (c Column) feeds() []string {
	if c.Varying {
		return []string{c.Name, c.Name + ".offsets"}
	}
	return []string{c.Name}
}
