package progress

import (
	"math"
	"slices"
	"sync"
)

// Tracker counts the samples on which the threads of a worker train. The zero value begins at the first sample of epoch
// 0. Its methods may be called from any goroutine.
type Tracker struct {
	mu      sync.Mutex
	unlike  func(saved, now int)
	epoch   int              // the program's
	from    []Position       // where the worker continues, in this epoch or later ones
	threads []*thread        // that have trained or passed samples in this epoch
	seats   map[Position]int // number of trainers, by thread
	shared  bool             // several trained as the same thread in this epoch: their samples are unknown
	past    []Position       // at the end of the epoch before; of threads that have not trained since
	steps   steps
	frozen  func() Packed // of the worker; nil before it has any
}

// thread is one thread's place in the epoch.
type thread struct {
	number, of int
	samples    uint64
	steps      uint64 // in the job
	// rest is how many of the next samples are already in the weights.
	rest uint64
}

// Everything stands for all samples of an epoch, however many they are.
const Everything = math.MaxUint64

// Resume continues from a checkpoint: from its positions, with the program at the beginning of an epoch.
func (t *Tracker) Resume(from []Position, epoch int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.from, t.epoch, t.threads = slices.Clone(from), epoch, nil
	t.steps.resume(from)
	t.past = slices.DeleteFunc(slices.Clone(from), func(p Position) bool { return int(p.Epoch) >= epoch })
	t.forget()
}

// Frozen returns what positions that the worker continues from have of frozen params.
func (t *Tracker) Frozen() (all []Packed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range slices.Concat(t.from, t.past) {
		all = append(all, p.Frozen)
	}
	return all
}

// Keep sets the function that gives positions their frozen values.
func (t *Tracker) Keep(frozen func() Packed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen = frozen
}

// Kept returns the frozen values as of now.
func (t *Tracker) Kept() Packed {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept()
}

// kept is Kept with mu held.
func (t *Tracker) kept() Packed {
	if t.frozen == nil {
		return ""
	}
	return t.frozen()
}

// forget drops positions of epochs that are over. mu is held.
func (t *Tracker) forget() {
	t.from = slices.DeleteFunc(t.from, func(p Position) bool { return int(p.Epoch) < t.epoch })
}

// Unlike sets a function that is called once if the positions are of another number of threads than the worker has, in
// which case none of them counts.
func (t *Tracker) Unlike(tell func(saved, now int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unlike = tell
}

// Begin records that the program is in an epoch now. Beginning the same epoch again changes nothing.
func (t *Tracker) Begin(epoch int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if epoch != t.epoch {
		t.past = t.all()
		t.epoch, t.threads, t.shared = epoch, nil, t.crowded()
		t.forget()
	}
}

// Epoch returns the program's epoch.
func (t *Tracker) Epoch() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.epoch
}

// Enter records a trainer of a thread, until leave is called. If several train as the same thread, the thread's steps
// count in this epoch, but none of its samples: a job that continues begins the epoch anew.
func (t *Tracker) Enter(number, of int) (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seats == nil {
		t.seats = map[Position]int{}
	}
	seat := seat(number, of)
	t.seats[seat]++
	t.shared = t.shared || t.crowded()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.seats[seat]--
	}
}

// crowded reports whether several train as the same thread now. mu is held.
func (t *Tracker) crowded() bool {
	for _, n := range t.seats {
		if n > 1 {
			return true
		}
	}
	return false
}

// of returns the thread of a number, out of so many. mu is held.
func (t *Tracker) of(number, of int) *thread {
	of = max(of, 1)
	if len(t.threads) > 0 && t.threads[0].of != of {
		t.threads = nil
	}
	i := slices.IndexFunc(t.threads, func(h *thread) bool { return h.number == number })
	if i < 0 {
		i = len(t.threads)
		t.threads = append(t.threads, &thread{number: number, of: of, steps: t.steps.of[seat(number, of)],
			rest: t.trained(number, of)})
	}
	return t.threads[i]
}

// trained removes from from a thread's position in this epoch, and returns the number of samples of its share that are
// in the weights. mu is held.
func (t *Tracker) trained(number, of int) uint64 {
	i := slices.IndexFunc(t.from, func(p Position) bool { return int(p.Thread) == number || int(p.Threads) != of })
	if i < 0 {
		return 0
	}
	switch p := t.from[i]; {
	case int(p.Threads) != of:
		if p.Samples > 0 {
			t.differs(int(p.Threads), of)
		}
		return 0
	case int(p.Epoch) > t.epoch:
		return Everything
	default:
		t.from = slices.Delete(t.from, i, i+1)
		return p.Samples
	}
}

// differs reports that positions are of another number of threads. mu is held.
func (t *Tracker) differs(saved, now int) {
	if t.unlike != nil {
		t.unlike(saved, now)
		t.unlike = nil
	}
}

// Passed reports whether a thread's next batch, of samples samples, is already in the weights, and if so moves the
// thread behind it. A batch of which only some samples are in the weights, since batches were smaller before, is not
// passed.
func (t *Tracker) Passed(number, of, samples int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(number, of)
	switch {
	case h.rest == Everything:
	case h.rest >= uint64(samples):
		h.rest -= uint64(samples)
	default:
		h.rest = 0
		return false
	}
	h.samples += uint64(samples)
	return true
}

// Trained counts a step of a thread, and returns the position behind it. A loop that does not call Passed must have
// begun where Now said; in an epoch whose samples were all trained, it trains all of them again. steps is the thread's
// number of steps in the job, 0 if steps are not counted.
func (t *Tracker) Trained(number, of, samples int, steps uint64) Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(number, of)
	if h.rest == Everything {
		h.samples, h.rest, t.from = 0, 0, nil
	}
	h.samples, h.rest, h.steps = h.samples+h.rest+uint64(samples), 0, max(h.steps, steps)
	t.steps.set(Position{Thread: uint16(number), Threads: uint16(max(of, 1)), Steps: h.steps})
	p := t.position(h)
	p.Frozen = t.kept()
	return p
}

// position is a thread's position, as a push has it. mu is held.
func (t *Tracker) position(h *thread) Position {
	p := Position{Thread: uint16(h.number), Threads: uint16(h.of), Epoch: uint32(t.epoch), Samples: h.samples,
		Steps: h.steps}
	if t.shared {
		p.Samples = 0
	}
	return p
}

// All returns the positions of all threads: after the last samples that they have trained, and at first after the
// samples that were in the weights at the start.
func (t *Tracker) All() []Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all()
}

// all is All with mu held.
func (t *Tracker) all() (all []Position) {
	if t.shared {
		for _, h := range t.threads {
			all = Moved(all, t.position(h))
		}
		return all
	}
	for _, p := range t.past {
		if t.fits(p) {
			all = Moved(all, p)
		}
	}
	for _, h := range t.threads {
		if h.rest != Everything {
			p := t.position(h)
			p.Samples += h.rest
			all = Moved(all, p)
		}
	}
	for _, p := range t.from {
		if t.fits(p) {
			all = Moved(all, p)
		}
	}
	return all
}

// fits reports whether the worker has so many threads, as far as is known. mu is held.
func (t *Tracker) fits(p Position) bool {
	return len(t.threads) == 0 || t.threads[0].of == int(p.Threads)
}

// Now returns how far all threads are together, including samples that are not pushed yet and those that were in the
// weights at the start. If the worker starts in a later epoch than the program's, Now returns that epoch.
func (t *Tracker) Now() (epoch int, samples uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	epoch = t.epoch
	if e, n := Sum(t.from); e >= epoch && len(t.from) > 0 && t.fits(t.from[0]) {
		epoch, samples = e, n
	}
	if epoch == t.epoch {
		for _, h := range t.threads {
			samples += h.samples + h.rest
		}
	}
	return epoch, samples
}
