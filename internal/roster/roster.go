package roster

import (
	"cmp"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// Roster is a server's record of all workers. Its methods, and those of its parts, are called one at a time.
type Roster struct {
	o       Options
	members members

	Hope   *Hope
	Lives  *Lives // numbered by server 0
	Savers *Savers
}

// New makes the roster of a job that no worker has joined.
func New(o Options) *Roster {
	all := make(members, o.Workers)
	hope := &Hope{o: o, members: all, timeout: o.Timeout}
	return &Roster{o: o, members: all, Hope: hope,
		Lives: &Lives{hope: hope, members: all, given: map[int][]*life{}},
		Savers: &Savers{hope: hope, members: all, asked: make([]asked, o.Workers),
			leaving: make([]uint32, o.Workers)}}
}

// Workers is the number of workers of the job.
func (r *Roster) Workers() int { return len(r.members) }

// Begin makes a life the current one of a worker; began is false if it was current already.
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
	*m = member{state: alive, life: life, began: now, seen: now, agrees: true,
		late: m.late || m.state != absent && !m.fresh(), window: Window{at: m.window.at}}
	r.Savers.asked[worker] = asked{}
	return true, nil
}

// Sender checks that a request comes from the current life of a worker, and notes the sign of life.
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

// Window returns the window of a worker's current life.
func (r *Roster) Window(worker int) *Window { return &r.members[worker].window }

// Applied notes that a push of a worker is in the tables, unless another life has begun.
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

// Step numbers a push among all pushes of its worker: those of a later life come after those of an earlier one. Cuts
// are given in such numbers, since a life that begins while servers agree on a cut has pushes of its own.
func Step(life uint32, seq uint64) uint64 { return uint64(life)<<seqBits | seq }

// SeqOf returns the sequence number, within its life, of a [Step].
func SeqOf(step uint64) uint64 { return step & (1<<seqBits - 1) }

const seqBits = 40

// Last is the [Step] of the highest push of a worker that was applied.
func (r *Roster) Last(worker int) uint64 {
	m := &r.members[worker]
	return Step(m.life, m.window.Last())
}

// In is the [Step] of the highest request of a worker that counts: a push that was applied, a park or a rate.
func (r *Roster) In(worker int) uint64 {
	m := &r.members[worker]
	return Step(m.life, m.window.In())
}

// Reached reports whether every request of a worker up to that [Step] is done, or never will be, since the worker or
// that life is gone.
func (r *Roster) Reached(worker int, step uint64) bool {
	m, life, seq := &r.members[worker], uint32(step>>seqBits), SeqOf(step)
	return seq == 0 || m.state != alive || m.life > life || m.life == life && m.window.Reached(seq)
}

// Positions are the places in the data that a worker's threads have reached with pushes in the tables, of all its lives
// and of the checkpoint that the tables were loaded from.
func (r *Roster) Positions(worker int) []progress.Position { return r.members[worker].window.at }

// Forget drops the positions of a worker that begins an earlier epoch.
func (r *Roster) Forget(worker int) { r.members[worker].window.at = nil }

// Late reports whether a worker was started again, and has taken part in no collective since.
func (r *Roster) Late(worker int) bool { return r.members[worker].late }

// Met notes the workers that have taken part in a collective together.
func (r *Roster) Met(here []bool) (changed bool) {
	for w := range r.members {
		m := &r.members[w]
		changed = changed || m.late && here[w]
		m.late = m.late && !here[w]
	}
	return changed
}

// Resume sets the positions of all workers to those of the loaded checkpoint, before any has joined.
func (r *Roster) Resume(positions [][]progress.Position) {
	for w := range min(len(positions), len(r.members)) {
		r.members[w].window.at = slices.Clone(positions[w])
	}
}

// ForgetFrozen drops the workers' frozen values, which a load has replaced.
func (r *Roster) ForgetFrozen() {
	for w := range r.members {
		at := slices.Clone(r.members[w].window.at)
		for i := range at {
			at[i].Frozen = ""
		}
		r.members[w].window.at = at
	}
}

// Living returns the life of a worker, and whether it is in the job.
func (r *Roster) Living(worker int) (life uint32, lives bool) {
	m := &r.members[worker]
	return m.life, m.lives()
}

// Waits notes whether a worker waits for others.
func (r *Roster) Waits(worker int, waits bool) { r.members[worker].waits = waits }

// Computes reports whether any of some workers shows life and is not waiting for others itself.
func (r *Roster) Computes(workers []int, now time.Time) bool {
	return slices.ContainsFunc(workers, func(w int) bool {
		m := &r.members[w]
		return m.lives() && !m.waits && r.Hope.hears(m, now)
	})
}

// Seen is the time of a worker's last sign of life.
func (r *Roster) Seen(worker int) time.Time { return r.members[worker].seen }

// OthersSeenSince reports whether any other worker has shown life since t.
func (r *Roster) OthersSeenSince(worker int, t time.Time) bool {
	since := func(m member) bool { return m.seen.After(t) }
	return slices.ContainsFunc(r.members[:worker], since) || slices.ContainsFunc(r.members[worker+1:], since)
}

// Leads reports whether a worker is the lowest of those that are in the job or may join it; late workers do not count
// as lower.
func (r *Roster) Leads(worker int) bool {
	return !slices.ContainsFunc(r.members[:worker], func(m member) bool {
		return !m.Gone() && !m.fenced && m.ends == "" && !m.late
	})
}

// Parting reports that a worker has announced its end, and is not yet out of the job.
func (r *Roster) Parting(worker int) bool {
	return r.members[worker].state == alive && r.members[worker].ends != ""
}

// Ended reports whether any worker below that number has announced its end, and is not yet out of the job.
func (r *Roster) Ended(below int) bool {
	return slices.ContainsFunc(r.members[:below], func(m member) bool { return m.state == alive && m.ends != "" })
}

// HasLeft reports that this life of a worker has stopped before.
func (r *Roster) HasLeft(h *wire.Header) bool {
	return int64(h.Worker) < int64(len(r.members)) && r.members[h.Worker].state == left &&
		r.members[h.Worker].life == h.Life
}

// Left are the lives that have stopped, by worker, and 0 for other workers; nil if there are none.
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

// End notes that a worker ends before its work is done: nothing more of this life counts, and another life may begin,
// which is expected if returns is true.
func (r *Roster) End(worker int, why string, returns bool) {
	m := &r.members[worker]
	m.ends, m.returns = cmp.Or(why, "it did not say why"), returns
}

// Broken notes that a worker's end was noticed by its connection: it was killed alone, and the others do not end.
func (r *Roster) Broken(worker int) { r.members[worker].mute = true }

// Begun reports whether any worker has joined.
func (r *Roster) Begun() bool { return r.members.begun() }

// Alive reports whether any worker is in the job and has not announced its end.
func (r *Roster) Alive() bool {
	return slices.ContainsFunc(r.members, func(m member) bool { return m.state == alive && m.ends == "" })
}

// Heard reports whether any such worker has shown life within Hope's grace.
func (r *Roster) Heard(now time.Time) bool {
	return slices.ContainsFunc(r.members, func(m member) bool {
		return m.state == alive && m.ends == "" && r.Hope.hears(&m, now)
	})
}

// Leave takes out a worker that has stopped.
func (r *Roster) Leave(worker int) { r.members[worker].state = left }

// Gone reports that a worker has left, or is dead without another life awaited.
func (r *Roster) Gone(worker int) bool { return r.members[worker].missed() }
