package roster

import (
	"cmp"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// Roster is what a server knows of all workers. Its methods, and those of its parts, are called one at a time.
type Roster struct {
	o       Options
	members members

	Hope   *Hope
	Lives  *Lives // given by server 0
	Savers *Savers
}

// New is the roster of a job that no worker has joined.
func New(o Options) *Roster {
	all := make(members, o.Workers)
	hope := &Hope{o: o, members: all, timeout: o.Timeout}
	return &Roster{o: o, members: all, Hope: hope,
		Lives: &Lives{hope: hope, members: all, given: map[int][]*life{}},
		Savers: &Savers{hope: hope, members: all, asked: make([]asked, o.Workers),
			leaving: make([]uint32, o.Workers)}}
}

// Workers is the number of workers that the job has.
func (r *Roster) Workers() int { return len(r.members) }

// Begin makes a life the current one of a worker; began is false if it was already.
func (r *Roster) Begin(worker int, life uint32, now time.Time) (began bool, err error) {
	m := &r.members[worker]
	switch {
	case life == m.life && m.state == alive: // a repeated hello
		m.seen = now
		return false, nil
	case life <= m.life:
		return false, wire.Refuse(wire.StatusStale, "worker %d was restarted: life %d is over, life %d is current",
			worker, life, m.life)
	case r.o.Lockstep && m.state != absent && !m.fresh():
		return false, wire.Refuse(wire.StatusBack, "worker %d is part of this %s job and %s, and in step no other "+
			"process goes on for it: start the job again from its last checkpoint", worker, r.o.Mode, m.since(now))
	}
	*m = member{state: alive, life: life, began: now, seen: now, agrees: true, short: m.short || m.state == dead,
		late: m.late || m.state != absent && !m.fresh(), window: Window{at: m.window.at}}
	r.Savers.asked[worker] = asked{}
	return true, nil
}

// Sender checks that a request comes from the current life of a worker, and notes that it lives.
func (r *Roster) Sender(h *wire.Header, now time.Time) error {
	if int64(h.Worker) >= int64(len(r.members)) {
		return wire.Refuse(wire.StatusRefused, "worker %d: the job has %d workers", h.Worker, len(r.members))
	}
	m := &r.members[h.Worker]
	switch {
	case m.state == absent || h.Life > m.life:
		return wire.Refuse(wire.StatusNotReady, "worker %d has not said hello to server %d", h.Worker, r.o.Server)
	case h.Life < m.life:
		return wire.Refuse(wire.StatusStale, "worker %d was restarted: this is life %d, life %d is current", h.Worker,
			h.Life, m.life)
	case m.ends != "":
		return wire.Refuse(wire.StatusStale, "worker %d has ended: %s", h.Worker, m.ends)
	case m.state == dead || m.fenced:
		return wire.Refuse(wire.StatusStale, "worker %d counts as dead (%s) and is out of the job", h.Worker, m.why)
	}
	m.seen = now
	return nil
}

// Stays checks, after a wait, that a sender is still in the job, with the same life.
func (r *Roster) Stays(h *wire.Header) error {
	if m := &r.members[h.Worker]; m.state != alive || m.fenced || m.life != h.Life {
		return wire.Refuse(wire.StatusStale, "worker %d has stopped, was declared dead or was replaced (life %d, "+
			"current %d): start it again where the mode allows it", h.Worker, h.Life, m.life)
	}
	return nil
}

// Window is that of a worker's current life.
func (r *Roster) Window(worker int) *Window { return &r.members[worker].window }

// Applied notes that a push of a worker is in the tables, if that is its life still.
func (r *Roster) Applied(worker int, life uint32, seq uint64) {
	m := &r.members[worker]
	if m.life != life {
		return
	}
	m.window.last = max(m.window.last, seq)
	if request := m.window.requests[seq]; request != nil {
		m.window.Accept(request)
	}
	m.window.settle()
}

// Step numbers a push among all pushes of its worker: a later life's come after it. A cut is said in
// such numbers, since a life that begins while servers agree on one has pushes of its own.
func Step(life uint32, seq uint64) uint64 { return uint64(life)<<seqBits | seq }

// SeqOf is the push's number in its life.
func SeqOf(step uint64) uint64 { return step & (1<<seqBits - 1) }

const seqBits = 40

// Last is the [Step] of the highest push of a worker that was applied.
func (r *Roster) Last(worker int) uint64 {
	m := &r.members[worker]
	return Step(m.life, m.window.Last())
}

// Reached says whether every push up to that [Step] of a worker is in the tables, or never will be since the worker is
// gone, or that life of it.
func (r *Roster) Reached(worker int, step uint64) bool {
	m, life, seq := &r.members[worker], uint32(step>>seqBits), SeqOf(step)
	return seq == 0 || m.state != alive || m.life > life || m.life == life && m.window.Reached(seq)
}

// Positions are how far a worker's threads are in their data with what is in the tables, of all its lives and of what
// the tables were loaded from.
func (r *Roster) Positions(worker int) []progress.Position { return r.members[worker].window.at }

// Short says whether the others may be in later epochs than a worker's position, since it was lost and has not caught
// up with them.
func (r *Roster) Short(worker int) bool {
	m := &r.members[worker]
	return m.state == dead || m.state == alive && m.short
}

// Late says whether a worker was started again, and has met no others since.
func (r *Roster) Late(worker int) bool { return r.members[worker].late }

// Met takes note of workers that have taken part in a collective together: one that is in as late an epoch as any has
// caught up.
func (r *Roster) Met(here []bool) {
	last := 0
	for w := range r.members {
		epoch, _ := progress.Sum(r.Positions(w))
		last = max(last, epoch)
	}
	for w := range r.members {
		r.members[w].late = r.members[w].late && !here[w]
		if epoch, _ := progress.Sum(r.Positions(w)); here[w] && epoch == last {
			r.members[w].short = false
		}
	}
}

// Resume takes the positions of all workers from what the tables were loaded from, before any has joined.
func (r *Roster) Resume(positions [][]progress.Position) {
	for w := range min(len(positions), len(r.members)) {
		r.members[w].window.at = slices.Clone(positions[w])
	}
}

// Living is the life of a worker that is in the job.
func (r *Roster) Living(worker int) (life uint32, lives bool) {
	m := &r.members[worker]
	return m.life, m.lives()
}

// Waits takes note whether a worker waits for others.
func (r *Roster) Waits(worker int, waits bool) { r.members[worker].waits = waits }

// Computes says whether any of some workers shows life, and does not wait for others itself.
func (r *Roster) Computes(workers []int, now time.Time) bool {
	return slices.ContainsFunc(workers, func(w int) bool {
		m := &r.members[w]
		return m.lives() && !m.waits && r.Hope.hears(m, now)
	})
}

// Seen is when a worker showed life last.
func (r *Roster) Seen(worker int) time.Time { return r.members[worker].seen }

// OthersSeenSince says whether any worker but this one has shown life since a time.
func (r *Roster) OthersSeenSince(worker int, t time.Time) bool {
	since := func(m member) bool { return m.seen.After(t) }
	return slices.ContainsFunc(r.members[:worker], since) || slices.ContainsFunc(r.members[worker+1:], since)
}

// Leads says whether a worker is the lowest that is in the job, or may come to it, among all or beside those that are
// late.
func (r *Roster) Leads(worker int) bool {
	return !slices.ContainsFunc(r.members[:worker], func(m member) bool {
		return !m.Gone() && !m.fenced && m.ends == "" && !m.late
	})
}

// Parting says that a worker has said that it ends, and is not out of the job yet.
func (r *Roster) Parting(worker int) bool {
	return r.members[worker].state == alive && r.members[worker].ends != ""
}

// Ended says whether any worker below one has said that it ends before its work is done, and is not out of the job yet.
func (r *Roster) Ended(below int) bool {
	return slices.ContainsFunc(r.members[:below], func(m member) bool { return m.state == alive && m.ends != "" })
}

// HasLeft says that this life of a worker has stopped before.
func (r *Roster) HasLeft(h *wire.Header) bool {
	return int64(h.Worker) < int64(len(r.members)) && r.members[h.Worker].state == left &&
		r.members[h.Worker].life == h.Life
}

// Left are the lives that have stopped, by worker, and 0 for others; nil if there are none.
func (r *Roster) Left() (lives []uint32) {
	for w := range r.members {
		if m := &r.members[w]; m.state == left {
			if lives == nil {
				lives = make([]uint32, len(r.members))
			}
			lives[w] = m.life
		}
	}
	return lives
}

// End takes note that a worker ends before its work is done: nothing of this life counts any more, and another may
// begin, which is expected to where it returns.
func (r *Roster) End(worker int, why string, returns bool) {
	m := &r.members[worker]
	m.ends, m.returns = cmp.Or(why, "it did not say why"), returns
}

// Broken takes note that a worker that ends was killed alone: others end for no reason of its.
func (r *Roster) Broken(worker int) { r.members[worker].mute = true }

// Begun says whether any worker has joined.
func (r *Roster) Begun() bool { return r.members.begun() }

// Alive says whether any worker is in the job, and has not said that it ends.
func (r *Roster) Alive() bool {
	return slices.ContainsFunc(r.members, func(m member) bool { return m.state == alive && m.ends == "" })
}

// Heard says whether any such worker has shown life lately.
func (r *Roster) Heard(now time.Time) bool {
	return slices.ContainsFunc(r.members, func(m member) bool {
		return m.state == alive && m.ends == "" && r.Hope.hears(&m, now)
	})
}

// Leave takes a worker out that has stopped.
func (r *Roster) Leave(worker int) { r.members[worker].state = left }

// Gone says that a worker has left, or is dead and no other life of it is awaited.
func (r *Roster) Gone(worker int) bool { return r.members[worker].missed() }
