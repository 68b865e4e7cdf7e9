package roster

import (
	"cmp"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// A server that is started again with its journal takes the place of the process before it: it has the same members,
// with the same lives and windows. Their silence counts from its start, since it could not receive anything before.

// Saved is a roster in the form of the journal.
type Saved struct {
	Members []SavedMember `json:"members"`
	Lives   []SavedLife   `json:"lives,omitempty"` // on server 0
}

// SavedMember is one worker.
type SavedMember struct {
	State    uint8          `json:"state"`
	Life     uint32         `json:"life,omitempty"`
	Ends     string         `json:"ends,omitempty"`
	Acked    uint64         `json:"acked,omitempty"`
	Last     uint64         `json:"last,omitempty"`
	Requests []SavedRequest `json:"requests,omitempty"`
	Fenced   bool           `json:"fenced,omitempty"`
	Returns  bool           `json:"returns,omitempty"`
	Late     bool           `json:"late,omitempty"`
	Why      string         `json:"why,omitempty"` // why it was fenced

	Through   uint64              `json:"through,omitempty"`
	Positions []progress.Position `json:"positions,omitempty"`
	Lost      bool                `json:"lost,omitempty"`
	Accepted  uint64              `json:"accepted,omitempty"`
}

// SavedRequest is a request that counts.
type SavedRequest struct {
	Seq     uint64       `json:"seq"`
	Acked   uint64       `json:"acked"`
	Outcome wire.Outcome `json:"outcome"`

	Positions []progress.Position `json:"positions,omitempty"`
}

// Save returns the state that a process needs to take this one's place.
func (r *Roster) Save() (s Saved) {
	for w := range r.members {
		m := &r.members[w]
		is := SavedMember{State: uint8(m.state), Life: m.life, Ends: m.ends, Fenced: m.fenced, Why: m.why,
			Returns: m.returns, Late: m.late,
			Acked: m.window.acked, Last: m.window.last, Through: m.window.through, Positions: m.window.at,
			Lost:     m.window.lost,
			Accepted: m.window.accepted}
		for _, q := range m.window.requests {
			if q.Done && q.Refusal == nil {
				is.Requests = append(is.Requests, q.Saved())
			}
		}
		slices.SortFunc(is.Requests, func(a, b SavedRequest) int { return cmp.Compare(a.Seq, b.Seq) })
		s.Members = append(s.Members, is)
	}
	s.Lives = r.Lives.saved()
	return s
}

// Return restores the state that Save returned.
func (r *Roster) Return(s Saved, now time.Time) {
	clear(r.Savers.asked)
	for w, is := range s.Members {
		m := &r.members[w]
		*m = member{state: state(is.State), life: is.Life, ends: is.Ends, fenced: is.Fenced, why: is.Why,
			returns: is.Returns, late: is.Late, began: now, seen: now}
		m.window = Window{acked: is.Acked, last: is.Last, through: is.Through, at: is.Positions, lost: is.Lost,
			accepted: is.Accepted}
		for _, q := range is.Requests {
			m.window.put(q)
		}
	}
	for _, l := range s.Lives {
		r.Lives.Recall(l, now)
	}
}

// Counted is a request that counts, of a worker's life.
type Counted struct {
	// Life distinguishes requests of two processes of one worker.
	Worker int    `json:"worker"`
	Life   uint32 `json:"life"`
	SavedRequest
}

// Recount makes a request count in its worker's window again. push reports whether it has a place in the order of
// pushes.
func (r *Roster) Recount(q Counted, push bool) {
	m := &r.members[q.Worker]
	if m.life != q.Life {
		return
	}
	m.window.put(q.SavedRequest)
	m.window.accepted++
	if push {
		m.window.last = max(m.window.last, q.Seq)
	}
	m.window.forget(q.Acked)
	m.window.settle()
}

// Lacks reports that this server has acknowledged more to a worker, according to its heartbeat, than it has: the
// restored state is not complete. If nothing is lacking, the worker agrees. Published first weights count as one
// request.
func (r *Roster) Lacks(h *wire.Header, published bool) bool {
	m := &r.members[h.Worker]
	here := m.window.accepted
	if published {
		here++
	}
	if h.Life > m.life || h.Life == m.life && h.Acked > here {
		return true
	}
	m.agrees = m.agrees || h.Life == m.life
	return false
}

// Agree reports whether every worker that shows life has agreed since this server came back.
func (r *Roster) Agree(now time.Time) bool {
	return !slices.ContainsFunc(r.members, func(m member) bool {
		return m.state == alive && m.ends == "" && !m.agrees && r.Hope.hears(&m, now)
	})
}

// Awake sets the last sign of life of all members to now, and none has agreed yet. If every worker is gone, other lives
// of the dead are awaited. anew reports that no worker is in the job, and not all have stopped: all are started again,
// and have Options.Timeout for it.
func (r *Roster) Awake(now time.Time) (anew bool) {
	gone := r.members.gone()
	for w := range r.members {
		m := &r.members[w]
		m.seen, m.agrees, m.awaited = now, false, gone && m.state == dead
		anew = anew || m.state != left
	}
	here := func(m member) bool { return m.lives() || m.state == absent }
	if anew = anew && !slices.ContainsFunc(r.members, here); anew {
		r.Hope.until = now.Add(r.Hope.timeout)
	}
	return anew
}

// put adds a counted request to the window.
func (w *Window) put(q SavedRequest) {
	if w.requests == nil {
		w.requests = make(map[uint64]*Request)
	}
	w.requests[q.Seq] = &Request{Done: true, Outcome: q.Outcome, seq: q.Seq, acked: q.Acked, positions: q.Positions}
}

// Saved is the request in the form of the journal.
func (r *Request) Saved() SavedRequest { return SavedRequest{r.seq, r.acked, r.Outcome, r.positions} }

// Counted is the request as one of a worker's life.
func (r *Request) Counted(worker int, life uint32) Counted { return Counted{worker, life, r.Saved()} }
