package roster

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/mode"
)

// Death is what server 0 learns from all servers while it declares a worker dead. A server that can't be reached says
// nothing.
type Death struct {
	Worker int
	Life   uint32
	Silent time.Duration
	Why    string // it is dead
	// Returns says that the next life is expected.
	Returns bool

	fenced  int        // servers that have answered
	round   mode.Round // that is open on them, if it is one
	differ  bool       // it is not
	lacking bool       // one has no gradient of the worker for it
	counts  map[int]mode.Round
}

// Fenced takes note that a server refuses what the life still sends: which round is open there, and whether it has the
// worker's gradient.
func (d *Death) Fenced(round mode.Round, pushed bool) {
	d.differ = d.differ || d.fenced > 0 && round != d.round
	d.fenced, d.round, d.lacking = d.fenced+1, round, d.lacking || !pushed
}

// Forget says whether the gradient for the open round must count nowhere, since some server lacks it. Where a server
// has gone on already, it is in that server's weights, and servers that hold it count it too.
func (d *Death) Forget() bool { return !d.differ && d.lacking }

// Dropped takes note that a server has taken the worker out, and of the first round that has no gradient of it there.
func (d *Death) Dropped(server int, counts mode.Round) {
	if d.counts == nil {
		d.counts = map[int]mode.Round{}
	}
	d.counts[server] = counts
}

// Torn says which servers have the worker's gradient in the last round in which any of them has it, and which have not:
// these had not been given it when it died, and others had closed the round.
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

// Fence takes note that server 0 is about to declare a life dead, and why. With it earlier lives are over, and it can't
// begin where it has not yet.
func (r *Roster) Fence(worker int, life uint32, why string) {
	if m := &r.members[worker]; !m.Gone() && life >= m.life {
		m.fenced, m.why, m.life = true, why, life
	}
}

// Deciding says that server 0 asks all servers, in step, how far a life has come that it is about to declare dead. What
// they say must hold until it orders what becomes of that life's gradient: no round closes meanwhile.
func (r *Roster) Deciding() bool {
	return r.o.Lockstep && slices.ContainsFunc(r.members, func(m member) bool { return m.fenced && !m.Gone() })
}

// Drop takes a life out that server 0 has declared dead, and whose next one may be expected; false if there is nothing
// to take out.
func (r *Roster) Drop(worker int, life uint32, returns bool) bool {
	m := &r.members[worker]
	if m.life > life || m.Gone() {
		return false
	}
	m.state, m.life, m.returns = dead, life, returns
	return true
}

// Dying says whether a life is still the last of its worker, and not out of the job yet.
func (r *Roster) Dying(worker int, life uint32) bool {
	m := &r.members[worker]
	return m.life == life && !m.Gone()
}

// Silent begins, on server 0, the deaths of workers that have said nothing for longer than the options allow. One that
// has said that it ends is dead where the others wait for it, after the moment in which they may say so too. Where they
// don't wait, it keeps that time to be started again.
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
