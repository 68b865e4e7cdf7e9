package optimizer

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Param is one trainable variable: a dense array, or (Embedding true) a table of rows.
//
// A dense param has Shape of any rank and W and G of as many elements, row-major. An embedding has Shape {height, dim}:
// a height of 0 means that every uint64 is an id, otherwise ids are below height. An embedding's W and G are nil: its
// rows travel in [Rows].
//
// Training begins with the contents of W in every kind of job; with servers and in a collective job, with worker 0's.
// If all of W is zero, as after make, it begins with the initial values. An embedding begins with its Rows.
//
// From then on W changes only inside [Session.Begin] and [Session.End]; G is read only inside [Session.End].
type Param struct {
	Name      string
	Shape     []int
	Embedding bool

	W, G []float32

	// Rows are the rows that an embedding begins with, such as a loaded model's. They are in the tables before the
	// first step, regardless of Entry, and stay if they are never trained. Nil means none.
	Rows RowSource
	// Init gives the values before the first update; rows get them when they are created. Nil means zeros.
	Init Initializer
	// Seed seeds the initial values, which are a pure function of (Seed, Name, row, column).
	Seed uint64
	// Entry decides which ids of an embedding get a row; the zero value lets all in.
	Entry Entry
	// MaxBytes bounds an embedding's rows in each process that keeps a share of them; 0 means no bound. It counts rows,
	// at the bytes a row that a plan prints; where the Entry counts, an eighth is for ids that wait. So what was saved
	// fits again into as many processes. They take at most a tenth and 16 KiB more for it. At the bound, new ids get no
	// row, as described at [Entry], and existing rows continue to train. The log warns at 80 %, and reports how many
	// ids were refused.
	MaxBytes int64
	// Evict drops rows near that bound instead; the zero value drops none.
	Evict Evict
	// Frozen marks a param that no rule may change, such as batch norm statistics. A frozen param has no G. An
	// objective that computes new values of a frozen dense param passes them to the trainer's method SetDense(name
	// string, w []float32) error, if there is one; sessions then provide them from the next step on.
	Frozen bool
}

// Size is the number of elements of a dense param, and of an embedding with a height; 0 for an embedding without one.
func (p *Param) Size() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// Dim is the width of a row: the product of all dimensions but the first, 1 for a vector.
func (p *Param) Dim() int {
	n := 1
	for _, d := range p.Shape[min(1, len(p.Shape)):] {
		n *= d
	}
	return n
}

// Height is the number of rows of an embedding, 0 if any uint64 is an id.
func (p *Param) Height() int { return p.Shape[0] }

// InitDense sets w, all elements of a dense param, to the initial values.
func (p *Param) InitDense(w []float32) { fill(p.Init, w, kernels.Stream(p.Seed, p.Name)) }

// First sets w, all elements of a dense param, to the weights that training begins with. It may be W itself.
func (p *Param) First(w []float32) {
	if slices.ContainsFunc(p.W, func(v float32) bool { return v != 0 }) {
		copy(w, p.W)
		return
	}
	p.InitDense(w)
}

// InitRow sets w, one row of an embedding, to the initial values of that id.
func (p *Param) InitRow(w []float32, id uint64) {
	if r, ok := p.Init.(interface{ FillRow(w []float32, id uint64) }); ok {
		r.FillRow(w, id)
		return
	}
	fill(p.Init, w, kernels.Mix(kernels.Stream(p.Seed, p.Name)^kernels.Mix(id+1)))
}

func fill(init Initializer, w []float32, key uint64) {
	if init == nil {
		clear(w)
		return
	}
	init.Fill(w, key)
}

// Check returns what is wrong with the param's description, or nil.
func (p *Param) Check() error {
	if p.Name == "" {
		return errors.New("optimizer: a param has no name")
	}
	if len(p.Shape) == 0 {
		return fmt.Errorf("optimizer: param %q has no shape (a scalar has shape [1])", p.Name)
	}
	for i, d := range p.Shape {
		if d < 0 || d == 0 && !(p.Embedding && i == 0) {
			return fmt.Errorf("optimizer: param %q: dimension %d of shape %v is not positive", p.Name, i, p.Shape)
		}
	}
	if err := inspect(reflect.ValueOf(&p.Init).Elem(), false); err != nil {
		return within(fmt.Sprintf("Init of param %q", p.Name), err)
	}
	if p.Embedding {
		if len(p.Shape) != 2 {
			return fmt.Errorf("optimizer: embedding %q needs shape [height dim], has %v", p.Name, p.Shape)
		}
		return p.checkRows()
	}
	if p.Entry != (Entry{}) || p.MaxBytes != 0 || p.Evict != (Evict{}) || p.Rows != nil {
		return fmt.Errorf("optimizer: param %q is dense: Entry, MaxBytes, Evict and Rows are for embeddings", p.Name)
	}
	if len(p.W) != p.Size() {
		return fmt.Errorf("optimizer: param %q of shape %v needs %d weights, has %d", p.Name, p.Shape, p.Size(),
			len(p.W))
	}
	if !p.Frozen && len(p.G) != p.Size() {
		return fmt.Errorf("optimizer: param %q of shape %v needs room for %d gradients, has %d", p.Name, p.Shape,
			p.Size(), len(p.G))
	}
	return nil
}

func (p *Param) checkRows() error {
	if err := p.Entry.Check(); err != nil {
		return fmt.Errorf("optimizer: embedding %q: %w", p.Name, err)
	}
	if p.Frozen && p.Entry != (Entry{}) {
		return fmt.Errorf("optimizer: embedding %q is frozen: nothing is pushed that its Entry could count", p.Name)
	}
	if p.MaxBytes < 0 {
		return fmt.Errorf("optimizer: embedding %q: MaxBytes is %d: it must not be negative", p.Name, p.MaxBytes)
	}
	if err := p.Evict.check(p); err != nil {
		return fmt.Errorf("optimizer: embedding %q: %w", p.Name, err)
	}
	return nil
}
