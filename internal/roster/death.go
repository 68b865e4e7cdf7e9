package roster

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/mode"
)

// Death collects the servers' answers on server 0 while it declares a worker dead. A server that can't be reached is
// not counted.
type Death struct {
	Worker int
	Life   uint32
	Silent time.Duration
	Why    string // why it is dead
	// Returns reports that the next life is expected.
	Returns bool

	fenced  int        // number of servers that have answered
	round   mode.Round // the open round, if it is the same on all
	differ  bool       // the servers have different rounds open
	lacking bool       // a server lacks the worker's gradient for the open round
	counts  map[int]mode.Round
}

// Fenced notes the answer of a server that fenced the life off: the round that is open there, and whether it has the
// worker's gradient.
func (d *Death) Fenced(round mode.Round, pushed bool) {
	d.differ = d.differ || d.fenced > 0 && round != d.round
	d.fenced, d.round, d.lacking = d.fenced+1, round, d.lacking || !pushed
}

// Forget reports whether the gradient for the open round must count nowhere, since some server lacks it. If a server
// has closed the round already, the gradient is in its weights, and servers that hold it count it too.
func (d *Death) Forget() bool { return !d.differ && d.lacking }

// Dropped notes that a server has taken the worker out, and the first round without a gradient of it there.
func (d *Death) Dropped(server int, counts mode.Round) {
	if d.counts == nil {
		d.counts = map[int]mode.Round{}
	}
	d.counts[server] = counts
}

// Torn returns the last round in which any server counts the worker's gradient, the servers that count it, and those
// that do not: the gradient had not reached them when the worker died, and others had closed the round.
func (d *Death) Torn(servers int) (round mode.Round, with, without []int) {
	for _, c := range d.counts {
		round = max(round, c)
	}
	for s := range servers {
		switch c, ok := d.counts[s]; {
		case ok && c == round:
			with = append(with, s)
		case ok:
			without = append(without, s)
		}
	}
	return round - 1, with, without
}

// Fence notes that server 0 is about to declare a life dead, and why. Earlier lives are then over, and this life can't
// begin any more.
func (r *Roster) Fence(worker int, life uint32, why string) {
	if m := &r.members[worker]; !m.Gone() && life >= m.life {
		m.fenced, m.why, m.life = true, why, life
	}
}

// Deciding reports that server 0 is asking all servers, in lockstep, how far a life has come that it is about to
// declare dead. The answers must hold until it orders what becomes of that life's gradient: no round closes meanwhile.
func (r *Roster) Deciding() bool {
	return r.o.Lockstep && slices.ContainsFunc(r.members, func(m member) bool { return m.fenced && !m.Gone() })
}

// Drop takes out a life that server 0 has declared dead; returns reports that the next life is expected. It returns
// false if there is nothing to take out.
func (r *Roster) Drop(worker int, life uint32, returns bool) bool {
	m := &r.members[worker]
	if m.life > life || m.Gone() {
		return false
	}
	m.state, m.life, m.returns = dead, life, returns
	return true
}

// Dying reports whether a life is still the last of its worker, and not yet out of the job.
func (r *Roster) Dying(worker int, life uint32) bool {
	m := &r.members[worker]
	return m.life == life && !m.Gone()
}

// Silent begins, on server 0, the deaths of workers that were silent for longer than the options allow. In lockstep a
// worker that has announced its end is dead after Options.Alone, in which the others may announce theirs. In other
// modes it has the whole timeout to be started again.
func (r *Roster) Silent(now time.Time) (all []*Death) {
	alone := r.o.Alone
	switch {
	case r.Hope.hurried:
		alone = r.Hope.grace() // all may have been asked to end: they save, and servers end with them
	case !r.Alive():
		alone = 0 // no worker can go on
	}
	for w := range r.members {
		m := &r.members[w]
		silent := now.Sub(m.seen)
		parted := m.ends != "" && r.o.Lockstep && (m.mute || silent >= alone)
		if m.state == alive && (parted || silent > r.Hope.timeout) {
			why := cmp.Or(m.ends, fmt.Sprintf("silent for %v", silent.Round(time.Millisecond)))
			all = append(all, &Death{Worker: w, Life: m.life, Silent: silent, Why: why, Returns: m.returns})
		}
	}
	return all
}
