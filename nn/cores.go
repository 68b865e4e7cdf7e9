package nn

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// byUnit is work that is dealt out in units, such as places of the last dimension of a cell, each computed by itself.
type byUnit interface {
	units(c *cell, from, to, part int)
}

// The least elements of a cell that several cores work on, and of a portion; how many places of a row one core takes,
// and rows of a product: fewer cost more in calls than another core saves. Tests change them.
var (
	leastDivided = 1 << 16
	leastPortion = 1 << 14
	leastRows    = 256
	unitsAtATime = 128
)

// The parts of a step; what deals out more has others behind them.
const (
	onward = iota
	backward
	toShared // what several examples have in common gets its gradient
)

// cores work on one cell or chain at a time, unit by unit: each takes the next that none has taken.
type cores struct {
	n         int // how many there are for this executor
	cell      *cell
	of        byUnit // whose units are dealt out
	part      int
	total, at int // units, and how many are taken at a time

	next    atomic.Int64
	helpers sync.WaitGroup
	help    func()                  // what a helping goroutine does; kept here so that starting one allocates nothing
	failed  atomic.Pointer[opPanic] // the step's first panic, nil for none
}

// ready shares the cores that the process may use among the worker's training threads.
func (w *cores) ready(threads int) {
	w.n = max(1, runtime.GOMAXPROCS(0)/max(1, threads))
	if w.help == nil {
		w.help = func() { defer w.helpers.Done(); w.work() }
	}
}

// run has all cores work on units, and returns when none does any more.
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

// deal computes a part of a step in so many units, by several cores where that pays, which take no fewer than least at
// a time.
func (c *cell) deal(part, total, least int) {
	o, w := c.node.op.(byUnit), c.cores
	if w == nil || w.n < 2 || len(c.value) < leastDivided || total <= least {
		o.units(c, 0, total, part)
		return
	}
	w.run(c, o, part, total, (total/(4*w.n)+least)/least*least)
}
