package nn

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrOpPanicked is wrapped by the error of an operation that panicked, your own [Op] or one of this package. The text
// of such an error ends with the stack: it is for logs, and not for clients.
var ErrOpPanicked = errors.New("nn: an op panicked")

// opPanic is the error of a step in which an op panicked, on any core.
type opPanic struct {
	op    string
	value any
	stack []byte
}

func (p *opPanic) Error() string {
	return fmt.Sprintf("nn: %s panicked: %v\n\n%s", p.op, p.value, p.stack)
}

// Is reports whether target is [ErrOpPanicked].
func (p *opPanic) Is(target error) bool { return target == ErrOpPanicked }

// Unwrap returns the error with which the op panicked, nil for another value.
func (p *opPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// do computes a cell's value.
func (w *cores) do(c *cell) {
	defer w.note(c)
	c.forward()
}

// undo passes a cell's gradient on.
func (w *cores) undo(c *cell) {
	defer w.note(c)
	c.node.op.backward(c)
}

// units runs some units of a part of a cell.
func (w *cores) units(from, to int) {
	if w.cell != nil {
		defer w.note(w.cell)
	}
	w.of.units(w.cell, from, to, w.part)
}

// note records an op's panic as the error of the step. The other cores need not continue.
func (w *cores) note(c *cell) {
	if v := recover(); v != nil {
		w.failed.CompareAndSwap(nil, &opPanic{c.node.label(), v, debug.Stack()})
		w.next.Store(int64(w.total))
	}
}

// err returns and clears the error of the step, nil if no op has panicked.
func (w *cores) err() error {
	if p := w.failed.Swap(nil); p != nil {
		return p
	}
	return nil
}
