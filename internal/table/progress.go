package table

import (
	"slices"
	"sync"
	"sync/atomic"
)

// progress numbers the updates of a store, and records up to which all are finished and the factor on the learning rate
// of each. Updates may run concurrently, and end in any order.
//
//	1 2 3 4 5 6      begun
//	x x   x          finished
//	    ^            open: 3, 5, 6; finished is 2
//
// A row that is swept may be brought up to 2 and no further: update 3 may still have a gradient for it. Reads call
// before without a lock, so that finished is an atomic; only set may lower it.
type progress struct {
	mu   sync.Mutex
	last int64
	open []int64 // begun and not finished, ascending

	finished atomic.Int64 // this update and all before it

	factors atomic.Pointer[[]Factor] // on learning rates, by the update from which each counts; nil for none
}

// next returns the number of the next update.
func (p *progress) next() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	p.open = append(p.open, p.last)
	return p.last
}

// newestStep is the last update that was begun.
func (p *progress) newestStep() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// finish notes that an update has been applied.
func (p *progress) finish(step int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i, ok := slices.BinarySearch(p.open, step); ok {
		p.open = slices.Delete(p.open, i, i+1)
	}
	if len(p.open) > 0 {
		p.finished.Store(p.open[0] - 1)
	} else {
		p.finished.Store(p.last)
	}
}

// applied is the number of finished updates, in whatever order.
func (p *progress) applied() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last - int64(len(p.open))
}

// set makes step the last update; it and all before it are finished. The factor that was set last counts from the next
// one on, whatever others counted for updates that are made again.
func (p *progress) set(step int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.open = step, nil
	p.finished.Store(step)
	all := p.known()
	if n := len(all); n > 0 && all[n-1].From > step {
		kept := slices.DeleteFunc(slices.Clone(all), func(f Factor) bool { return f.From > step })
		kept = append(kept, Factor{step + 1, all[n-1].By})
		p.factors.Store(&kept)
	}
}

// before is the last finished update while the given one is applied. Reads and pushes bring rows up to it, and no
// further, since updates under way may still have gradients for these rows. A nil progress is of updates that follow
// each other.
func (p *progress) before(step int64) int64 {
	if p == nil {
		return step - 1
	}
	return min(step-1, p.finished.Load())
}
