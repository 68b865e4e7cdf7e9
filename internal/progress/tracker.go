package progress

import (
	"math"
	"slices"
	"sync"
)

// Tracker counts what the threads of a worker train on. The zero one begins at the first sample of epoch 0. Its methods
// may be called from any goroutine.
type Tracker struct {
	mu      sync.Mutex
	unlike  func(saved, now int)
	epoch   int              // the program's
	from    []Position       // that the worker goes on from, in this epoch or later ones
	threads []*thread        // that have trained or passed something in this epoch
	seats   map[Position]int // who trains, by thread
	shared  bool             // several train as the same thread in this epoch: on which samples is unknown
	past    []Position       // at the end of the epoch before; of threads that have not trained since
	steps   steps
}

// thread is one thread's place in the epoch.
type thread struct {
	number, of int
	samples    uint64
	steps      uint64 // in the job
	// rest is how many of the samples that come are in the weights already.
	rest uint64
}

// Everything stands for all samples of an epoch, however many they are.
const Everything = math.MaxUint64

// Resume goes on from a checkpoint: with its positions, and with a program that begins with an epoch.
func (t *Tracker) Resume(from []Position, epoch int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.from, t.epoch, t.threads = slices.Clone(from), epoch, nil
	t.steps.resume(from)
	t.past = slices.DeleteFunc(slices.Clone(from), func(p Position) bool { return int(p.Epoch) >= epoch })
	t.forget()
}

// forget drops what is of epochs that are over. mu is held.
func (t *Tracker) forget() {
	t.from = slices.DeleteFunc(t.from, func(p Position) bool { return int(p.Epoch) < t.epoch })
}

// Unlike has tell called once if positions turn out to be of another number of threads than the worker's, so that none
// of them counts.
func (t *Tracker) Unlike(tell func(saved, now int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unlike = tell
}

// Begin takes note that the program is in an epoch now. In the same as before nothing changes.
func (t *Tracker) Begin(epoch int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if epoch != t.epoch {
		t.past = t.all()
		t.epoch, t.threads, t.shared = epoch, nil, t.crowded()
		t.forget()
	}
}

// Enter takes note that somebody trains as a thread, until leave is called. If several do, the thread's steps count in
// this epoch, and none of its samples: who goes on begins the epoch anew.
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

// crowded says whether several train as the same thread now. mu is held.
func (t *Tracker) crowded() bool {
	for _, n := range t.seats {
		if n > 1 {
			return true
		}
	}
	return false
}

// of is a thread of so many. mu is held.
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

// trained takes out of what the worker goes on from how many samples of a thread's share of this epoch are in the
// weights. mu is held.
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

// differs tells that positions are of another number of threads. mu is held.
func (t *Tracker) differs(saved, now int) {
	if t.unlike != nil {
		t.unlike(saved, now)
		t.unlike = nil
	}
}

// Passed says whether a thread's next batch, of so many samples, is in the weights already. Then it is behind the
// thread. A batch of which only some samples are, since batches were smaller before, is not.
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

// Trained counts a step of a thread, and is the position behind it. A loop that did not ask whether its batches were
// Passed has begun where Now said; in an epoch of which everything was trained, it trains all of it again. The step is
// the thread's steps-th in the job, 0 where steps are not counted.
func (t *Tracker) Trained(number, of, samples int, steps uint64) Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(number, of)
	if h.rest == Everything {
		h.samples, h.rest, t.from = 0, 0, nil
	}
	h.samples, h.rest, h.steps = h.samples+h.rest+uint64(samples), 0, max(h.steps, steps)
	t.steps.set(Position{Thread: uint16(number), Threads: uint16(max(of, 1)), Steps: h.steps})
	return t.position(h)
}

// position is a thread's, on a push. mu is held.
func (t *Tracker) position(h *thread) Position {
	p := Position{Thread: uint16(h.number), Threads: uint16(h.of), Epoch: uint32(t.epoch), Samples: h.samples,
		Steps: h.steps}
	if t.shared {
		p.Samples = 0
	}
	return p
}

// All are the positions of all threads: behind what they have trained last, and where the worker began, behind what was
// in the weights.
func (t *Tracker) All() []Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all()
}

// all is All. mu is held.
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

// fits says that the worker has that many threads, as far as is known. mu is held.
func (t *Tracker) fits(p Position) bool {
	return len(t.threads) == 0 || t.threads[0].of == int(p.Threads)
}

// Now is how far all threads are together: with what they have trained, whether it has been pushed or not, and with
// what was in the weights when the worker began. Where that is of a later epoch than the program's, so is the answer.
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
