package nn

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrOpPanicked says that an operation panicked, your own [Op] or one of this package. The text of such an error ends
// with the stack: it is for logs, and not for who sent the rows.
var ErrOpPanicked = errors.New("nn: an op panicked")

// opPanic is the error of a step in which an op panicked, whichever core that was on.
type opPanic struct {
	op    string
	value any
	stack []byte
}

func (p *opPanic) Error() string {
	return fmt.Sprintf("nn: %s panicked: %v\n\n%s", p.op, p.value, p.stack)
}

// Is says that it is [ErrOpPanicked].
func (p *opPanic) Is(target error) bool { return target == ErrOpPanicked }

// Unwrap is the error that the op panicked with, nil for another value.
func (p *opPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// do is a part of the step of a cell.
func (w *cores) do(c *cell, part int) {
	defer w.note(c)
	if part == onward {
		c.forward()
	} else {
		c.node.op.backward(c)
	}
}

// units are some of a part of a cell.
func (w *cores) units(from, to int) {
	if w.cell != nil {
		defer w.note(w.cell)
	}
	w.of.units(w.cell, from, to, w.part)
}

// note keeps what an op panicked with for the step to end with. The other cores need not go on.
func (w *cores) note(c *cell) {
	if v := recover(); v != nil {
		w.failed.CompareAndSwap(nil, &opPanic{c.node.label(), v, debug.Stack()})
		w.next.Store(int64(w.total))
	}
}

// err is what the step ends with, nil while no op has panicked.
func (w *cores) err() error {
	if p := w.failed.Swap(nil); p != nil {
		return p
	}
	return nil
}
