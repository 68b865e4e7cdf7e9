package nn

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// The least elements of a cell that several cores share, and of a portion; and the places of a row, and the rows of a
// product, that a core takes at least: with fewer the calls cost more than another core saves. Tests change them.
var (
	leastDivided = 1 << 16
	leastPortion = 1 << 14
	leastRows    = 256
	unitsAtATime = 128
)

// The parts of a step; other byUnit types add further parts.
const (
	onward = iota
	backward
	toShared // gradients for inputs that several examples share
)

// cores compute one cell or chain at a time, unit by unit: each takes the next free one.
type cores struct {
	n         int // number of cores of this executor
	cell      *cell
	of        byUnit // the units
	part      int
	total, at int // number of units, and how many are taken at a time

	next    atomic.Int64
	helpers sync.WaitGroup
	help    func()                  // the function of helping goroutines; stored so that starting one allocates nothing
	failed  atomic.Pointer[opPanic] // the step's first panic, nil for none
}

// ready divides the cores that the process may use among the worker's training threads.
func (w *cores) ready(threads int) {
	w.n = max(1, runtime.GOMAXPROCS(0)/max(1, threads))
	if w.help == nil {
		w.help = func() { defer w.helpers.Done(); w.work() }
	}
}

// run makes all cores work on units, and returns when none does any more.
func (w *cores) run(c *cell, of byUnit, part, total, at int) {
	w.cell, w.of, w.part, w.total, w.at = c, of, part, total, at
	w.next.Store(0)
	for range min(w.n, (total+at-1)/at) - 1 {
		w.helpers.Add(1)
		go w.help()
	}
	w.work()
	w.helpers.Wait()
}

func (w *cores) work() {
	for from := w.claim(); from < w.total; from = w.claim() {
		w.units(from, min(from+w.at, w.total))
	}
}

func (w *cores) claim() int { return int(w.next.Add(int64(w.at))) - w.at }

// deal computes a part of a step in total units, with several cores if that pays; each core takes least units or more
// at a time.
func (c *cell) deal(part, total, least int) {
	o, w := c.node.op.(byUnit), c.cores
	if w == nil || w.n < 2 || len(c.value) < leastDivided || total <= least {
		o.units(c, 0, total, part)
		return
	}
	w.run(c, o, part, total, (total/(4*w.n)+least)/least*least)
}

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
