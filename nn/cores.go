package nn

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// byUnit is work in units that can be computed separately, such as places of the last dimension of a cell.
type byUnit interface {
	units(c *cell, from, to, part int)
}

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
