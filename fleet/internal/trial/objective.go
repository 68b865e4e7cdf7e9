package trial

import (
	"context"
	"io"

	"github.com/gofleet/gofleet/optimizer"
)

// Objective is a list of params and, when they are minimised, their trainer. The other objectives embed it and add
// their steps; a test with steps of its own uses it directly.
type Objective struct {
	List    []*optimizer.Param
	Trainer optimizer.Trainer
}

// Params implements [optimizer.Objective].
func (o *Objective) Params() []*optimizer.Param { return o.List }

// Bind implements [optimizer.Objective].
func (o *Objective) Bind(t optimizer.Trainer) { o.Trainer = t }

// WriteGraph makes an objective a model that can be saved, without a graph.
func (o *Objective) WriteGraph(w io.Writer) error { _, err := io.WriteString(w, "{}\n"); return err }

// OpenSession opens a session that trains and evaluates the params.
func (o *Objective) OpenSession() (optimizer.Session, error) { return o.Trainer.Open(o.List) }

// InSession opens a session, and closes it when do has returned without an error.
func (o *Objective) InSession(ctx context.Context, do func(optimizer.Session) error) error {
	s, err := o.OpenSession()
	if err != nil {
		return err
	}
	if err := do(s); err != nil {
		return err
	}
	return s.Close(ctx)
}

// Step makes a step in a session: Begin, the gradients, unless nil, and End.
func Step(ctx context.Context, s optimizer.Session, st *optimizer.Step, gradients func()) error {
	if err := s.Begin(ctx, st); err != nil {
		return err
	}
	if gradients != nil {
		gradients()
	}
	return s.End(ctx, st)
}

// Look evaluates: it reads the weights of a session's params, and the given rows.
func Look(ctx context.Context, s optimizer.Session, rows ...optimizer.Rows) error {
	return Step(ctx, s, &optimizer.Step{Eval: true, Rows: rows}, nil)
}

// Dense returns a variable with its initial values, and memory for its gradient.
func Dense(name string, init optimizer.Initializer, shape ...int) *optimizer.Param {
	p := &optimizer.Param{Name: name, Shape: shape, Init: init, Seed: 3}
	p.W, p.G = make([]float32, p.Size()), make([]float32, p.Size())
	p.InitDense(p.W)
	return p
}

// Embedding returns a table; with height 0 every id is valid.
func Embedding(name string, init optimizer.Initializer, height, dim int) *optimizer.Param {
	return &optimizer.Param{Name: name, Shape: []int{height, dim}, Embedding: true, Init: init, Seed: 3}
}

// RowsOf returns rows of a table with memory for their values and gradients.
func RowsOf(p *optimizer.Param, ids []uint64) optimizer.Rows {
	n := len(ids) * p.Dim()
	return optimizer.Rows{Param: p, IDs: ids, W: make([]float32, n), G: make([]float32, n)}
}
