package server

import (
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// epochs are how far the job and each worker are, as their programs report it to server 0. Positions come with pushes;
// epochs is the rest: which epoch a worker has begun, and what the program of the furthest knows of the job. A worker
// that is started again, alone or with all others, begins where the weights are.
type epochs struct {
	st *state.Job
	// alike makes all workers go on in the same epoch, since they wait for each other's steps.
	alike bool
	// progress is the job's: of the furthest epoch that a worker has begun, and at first of the checkpoint from which
	// the job goes on.
	progress wire.Progress
	begun    []progress.Begun // by worker
	// barrier has, by worker, the positions at the last collective, if that was a barrier; nil for a worker that took
	// no part. A process that takes this one's place begins without.
	barrier []*[]progress.Position
	// loaded are, by worker, whether other weights were loaded since it reported: it may begin an earlier epoch.
	loaded   []bool
	reported state.Event[reportRecord]
}

// reportRecord is a worker's report, which may count for others too.
type reportRecord struct {
	Worker int `json:"worker"`
	wire.Begin
	Also  []int `json:"also,omitempty"`
	Early bool  `json:"early,omitempty"`
}

// register makes reports survive a kill.
func (c *epochs) register(m *state.Memory) {
	state.AddValue(m, "progress", &c.progress)
	state.AddList(m, "begun", c.begun)
	state.AddList(m, "loaded", c.loaded)
	c.reported = state.AddEvent(m, "begun", c.note)
}

// handle takes the report of a worker that has begun an epoch, or knows more of the job. It refuses an epoch before the
// one in which the worker is: the samples between would count twice, or not at all. The caller holds the lock.
func (c *epochs) handle(f *wire.Frame, msg *wire.Begin, _ *state.Reply) error {
	w := int(f.Worker)
	if msg.Epoch < msg.Was && !c.loaded[w] {
		return wire.Refuse(wire.StatusRefused, "worker %d is in epoch %d and reports epoch %d: begin at the epoch "+
			"that Fleet.FirstEpoch returns; only after LoadModel may a worker begin an earlier epoch", w, msg.Was,
			msg.Epoch)
	}
	r := reportRecord{Worker: w, Begin: *msg}
	r.Also, r.Early = c.beside(w, msg.Epoch)
	c.reported.Note(r)
	c.note(r)
	return nil
}

// beside relates a report to workers that have ended the same epoch by the same barrier, after which they have pushed
// nothing. A program begins an epoch after a barrier, and the lowest worker does what is to be done between two. So
// its report counts for the others too, while they push nothing more, and theirs are early before it. A checkpoint
// may be taken in between.
func (c *epochs) beside(worker, epoch int) (also []int, early bool) {
	for w := range c.begun {
		own := c.epochOf(w)
		if w == worker || own != c.epochOf(worker) || own >= epoch || !c.idle(w) || !c.idle(worker) {
			continue
		}
		if c.st.Roster.Savers.Saves(worker) {
			also = append(also, w)
		}
		early = early || c.st.Roster.Savers.Saves(w)
	}
	return also, early
}

// idle reports whether a worker has pushed nothing since the last collective, a barrier in which it took part.
func (c *epochs) idle(worker int) bool {
	return c.barrier != nil && c.barrier[worker] != nil &&
		slices.Equal(*c.barrier[worker], c.st.Roster.Positions(worker))
}

// noteMeeting notes a collective that these workers have made. The caller holds the lock.
func (c *epochs) noteMeeting(call string, have []bool) {
	if c.barrier = nil; call != wire.Barrier {
		return
	}
	c.barrier = make([]*[]progress.Position, len(have))
	for w := range have {
		if at := slices.Clone(c.st.Roster.Positions(w)); have[w] {
			c.barrier[w] = &at
		}
	}
}

// epochOf is the epoch that a worker is in, or has begun.
func (c *epochs) epochOf(worker int) int { return c.begun[worker].First(c.st.Roster.Positions(worker)) }

// known identifies what a checkpoint records of the epochs that workers have begun. The caller holds the lock.
func (c *epochs) known() (all []byte) {
	for w, b := range c.begun {
		all = fmt.Appendf(all, "%d %t ", c.epochOf(w), b.Early)
	}
	return all
}

// note takes a report into account. The caller holds the lock.
func (c *epochs) note(r reportRecord) {
	anew := c.loaded[r.Worker]
	if anew && r.Epoch < r.Was {
		c.st.Roster.Forget(r.Worker)
	}
	c.begun[r.Worker], c.loaded[r.Worker] = progress.Begun{Epoch: r.Epoch, At: r.At, Early: r.Early}, false
	for _, w := range r.Also {
		c.begun[w] = progress.Begun{Epoch: r.Epoch, At: slices.Clone(c.st.Roster.Positions(w))}
	}
	if anew || r.Epoch >= c.progress.Epoch {
		c.progress = r.Progress
	}
}

// first is the epoch in which a worker goes on that is started again now: its own or, if all go on in the same, the
// earliest. The caller holds the lock.
func (c *epochs) first(worker int) int {
	if c.alike {
		return min(c.epochOf(worker), c.earliest())
	}
	return c.epochOf(worker)
}

// earliest is the first epoch in which a worker that has not stopped has samples left. The caller holds the lock.
func (c *epochs) earliest() int {
	first, left := math.MaxInt, c.st.Roster.Left()
	for w := range c.begun {
		if left == nil || left[w] == 0 {
			first = min(first, c.epochOf(w))
		}
	}
	return first
}

// welcome adds to the answer of a worker that joins where it goes on. The caller holds the lock.
func (c *epochs) welcome(worker int, w *wire.Welcome) {
	w.Progress, w.Begun = c.progress, c.begun[worker]
	if c.alike {
		w.Begun = progress.Begun{Epoch: c.first(worker)}
	}
}

// further returns the progress of the worker that saves, or the job's if that is of a later epoch. The caller holds the
// lock.
func (c *epochs) further(p wire.Progress) wire.Progress {
	if c.progress.Epoch > p.Epoch {
		p.Epoch, p.User = c.progress.Epoch, c.progress.User
	}
	return p
}

// goOn makes all workers begin the earliest epoch of which a loaded checkpoint lacks samples of any, so that their
// loops make the same collectives. Whoever has trained later ones passes over what it has. The caller holds the lock.
func (c *epochs) goOn(m *checkpoint.Manifest) {
	c.progress = wire.Progress(*m.Progress)
	for w := range c.begun {
		own, first := m.First(w, len(c.begun), false), m.First(w, len(c.begun), true)
		c.begun[w] = progress.Begun{Epoch: own}
		if own > first {
			c.begun[w] = progress.Begun{Epoch: first + 1, Early: true}
		}
	}
}

// together makes all workers begin the earliest epoch, as goOn does: this process came back to a job that no worker is
// in, and all are started again. The caller holds the lock.
func (c *epochs) together() {
	first := c.earliest()
	for w := range c.begun {
		if c.epochOf(w) > first && !c.loaded[w] {
			r := reportRecord{Worker: w, Begin: wire.Begin{Progress: c.progress}, Early: true}
			r.Epoch = first + 1
			c.reported.Note(r)
			c.note(r)
		}
	}
}

// anew lets all workers begin an earlier epoch, since weights were loaded. The caller holds the lock.
func (c *epochs) anew() {
	for w := range c.loaded {
		c.loaded[w] = true
	}
}
