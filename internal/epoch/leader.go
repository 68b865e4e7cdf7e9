package epoch

import (
	"fmt"
	"slices"
)

// Job is what a leader must know of a job, beside what its members say.
type Job struct {
	Members int
	// InStep says that members wait for each other's steps: all train the same epoch.
	InStep bool
	// AtOnce says that a member that wants to stop ends the epoch of all at the next evaluation.
	AtOnce bool
}

// Leader leads the epochs of a job. After each call the caller notes [Leader.Note] and then answers members by
// [Leader.Told].
type Leader struct {
	job     Job
	epochs  int // of the job; in one that chooses them, those that were
	chooses bool
	looked  bool // this process was told that there are no more
	leases  bool // members can train what a lost one has left
	apart   bool // they don't know how many samples another has
	ground  Ground
	made    Made // the last evaluation
	seats   []seat
	now     *division // the evaluation that is measured; nil if none is
	note    []Record
	orders  int  // that it has given
	trains  bool // one of them was to train
	leads   int  // the member that leads the hooks of the last evaluation and its epoch's end; -1 before they begin

	// closing says that members were told to end an epoch, try how many were lost since, and before that an earlier
	// leader, or run of the job, may have told them.
	closing, before bool
	try             int
	acts            int // how often members were told to see the last evaluation again
	// waits says that all wait for lost members, tired that they have waited long enough; fails counts rests that
	// could not be trained.
	waits, tired bool
	fails        int
}

// seat is a member, as its leader sees it.
type seat struct {
	at    At
	heard bool  // it has said where it is
	began bool  // since the leader's process has
	told  *Told // the answer to that; nil while it waits for one
	// gone says that its life is over, which was the life over, and left is what it left; stopped, that it has left
	// the job by itself.
	gone, stopped bool
	over          uint32
	left          Left
}

// mostFails is how many rests may fail before none is leased.
const mostFails = 3

// NewLeader returns the leader of a new job.
func NewLeader(j Job) *Leader {
	return &Leader{job: j, seats: make([]seat, j.Members), leads: -1, ground: Ground{Counted: make([]int, j.Members)}}
}

// Resume begins a run of the job with the facts of a checkpoint, maybe of other members.
func (l *Leader) Resume(facts []Record) {
	for _, r := range facts {
		l.Recall(r)
	}
	g := &l.ground
	g.Lives, g.First, g.Cards = nil, 0, nil
	if g.Last = false; g.Epochs > 0 && g.Closed == g.Epochs { // there may be more by now
		g.Stop = ""
	}
	l.made.By = nil // all are concerned
	for w := range l.seats {
		l.made.By = append(l.made.By, w)
	}
	if len(g.Counted) != l.job.Members { // shares are others now: what some lack begins anew on all
		g.Counted = slices.Repeat([]int{slices.Min(g.Counted)}, l.job.Members)
	}
}

// Recall replays a record of an earlier process.
func (l *Leader) Recall(r Record) {
	if r.Made != nil {
		l.take(*r.Made)
	}
	if r.Ground != nil {
		l.ground = *r.Ground
	}
	l.before = l.begunToEnd()
}

// begunToEnd reports whether members may have been told to end an epoch, and not all have.
func (l *Leader) begunToEnd() bool {
	return l.ground.Closed < l.ground.Ended && l.made.Number <= l.ground.Known
}

// Facts returns records that restore this leader's state, for a checkpoint or the base of a journal; none if nothing
// has happened yet.
func (l *Leader) Facts() []Record {
	m, g := l.made, l.ground
	if g.Lives == nil && m.Number == 0 {
		return nil
	}
	if m.Number <= g.Known {
		m.Shares = nil // all have acted on it
	}
	return []Record{{Made: &m}, {Ground: &g}}
}

// Moment identifies what the facts record, among those of a run of a job.
func (l *Leader) Moment() string {
	g := &l.ground
	return fmt.Sprint(l.made.Number, g.Known, g.Ended, g.Closed, g.Middles, g.Lives != nil, g.Stop, g.Epochs, g.Last)
}

// Orders returns how many orders were given so far.
func (l *Leader) Orders() int { return l.orders }

// Note returns the records since the last call of Note.
func (l *Leader) Note() []Record {
	n := l.note
	l.note = nil
	return n
}

// Told returns the answer to the last message of a worker, nil while it has to wait.
func (l *Leader) Told(worker int) *Told { return l.seats[worker].told }

// Absent returns the workers that others wait for: those that are in the job and do what they were told.
func (l *Leader) Absent() (workers []int) {
	for w := range l.seats {
		if s := &l.seats[w]; s.present() && !s.asks() {
			workers = append(workers, w)
		}
	}
	return workers
}

// Waits reports whether all wait for lost members: after a time [Leader.Tired] ends that.
func (l *Leader) Waits() bool { return l.waits }

// Looks reports whether all wait for a member that looks for the next epoch, which may take days.
func (l *Leader) Looks() bool {
	return slices.ContainsFunc(l.seats, func(s seat) bool { return s.told != nil && s.told.Do == Choose })
}

// Say handles a message. One that was handled before, or is older, changes nothing.
func (l *Leader) Say(a At) {
	s := &l.seats[a.Worker]
	if a.Life <= s.over || s.heard && (a.Life < s.at.Life || a.Life == s.at.Life && a.N <= s.at.N) {
		return
	}
	if s.heard && a.Life > s.at.Life {
		l.lose(a.Worker)
		s.told = nil
	}
	if l.place(&a); !a.Begins {
		l.epochs, l.chooses, l.leases, l.apart = a.Epochs, a.Chooses, a.Leases, a.Apart
		if l.chooses {
			l.epochs = l.ground.Epochs
		}
	}
	did := s.told
	s.at, s.told, s.heard, s.gone, s.stopped = a, nil, true, false, false
	s.began = s.began || a.Begins
	if did != nil {
		l.did(s, did)
	}
	l.decide()
}

// did takes what a member brings.
func (l *Leader) did(s *seat, t *Told) {
	switch t.Do {
	case Measure:
		l.now.bring(s.at.Worker, s.at.Brought)
	case Choose:
		l.chose(&s.at)
	case Rest:
		lost := &l.seats[t.Lost[0].Worker]
		switch {
		case !lost.gone: // it has returned
		case s.at.Failed:
			l.fails++
			l.tired = false
		default:
			lost.at.Epoch, lost.at.Ended, lost.heard = l.epochs-1, true, true
		}
	}
}

// chose takes what the next epoch is, or that there is none. Nothing is noted while that is not known.
func (l *Leader) chose(a *At) {
	g := &l.ground
	switch {
	case a.Last:
		g.Last, l.looked = true, true
	case len(a.Brought) > 0:
		g.Epochs++
		g.Chosen, l.epochs, l.fails = a.Brought, g.Epochs, 0
	default:
		return
	}
	l.noteGround()
}

// Lost reports that a life of a worker is over, and where its pushes are.
func (l *Leader) Lost(life uint32, at Left) {
	l.seats[at.Worker].left = at
	l.leave(at.Worker, life, false)
}

// Gone reports that a worker has left the job by itself.
func (l *Leader) Gone(worker int, life uint32) { l.leave(worker, life, true) }

// leave ends a life. A message of it that comes later changes nothing.
func (l *Leader) leave(worker int, life uint32, stopped bool) {
	s := &l.seats[worker]
	s.over = max(s.over, life)
	if s.gone || s.stopped || s.heard && s.at.Life > life {
		return
	}
	l.lose(worker)
	s.gone, s.stopped, s.told = !stopped, stopped, nil
	l.tired = false
	l.decide()
}

// Tired reports that lost members were waited for long enough.
func (l *Leader) Tired() {
	l.tired = l.waits
	l.decide()
}

// lose has others do without what a member was about to do.
func (l *Leader) lose(worker int) {
	if l.now.lacks(worker) {
		l.now = nil
	}
	if l.leads == worker {
		l.leads = -1
	}
	if s := &l.seats[worker]; l.closing && s.present() && (!s.heard || s.at.next() >= l.ground.Ended) {
		l.try++
	}
}

// present reports whether a member is in the job, and has something to do in it.
func (s *seat) present() bool {
	return !s.gone && !s.stopped && (s.told == nil || s.told.Do != Over)
}

// asks reports whether a member waits for an answer.
func (s *seat) asks() bool { return s.present() && s.heard && s.told == nil }

// division is an evaluation that is measured.
type division struct {
	parts   []part // by share
	end     bool
	counted []int
}

type part struct {
	worker int
	has    bool
	brings []byte
}

// of returns the part of a worker, nil if it has none.
func (d *division) of(worker int) *part {
	if d == nil {
		return nil
	}
	for i := range d.parts {
		if d.parts[i].worker == worker {
			return &d.parts[i]
		}
	}
	return nil
}

// lacks reports whether a worker has a share and has not measured it.
func (d *division) lacks(worker int) bool {
	p := d.of(worker)
	return p != nil && !p.has
}

// bring takes a share.
func (d *division) bring(worker int, share []byte) {
	if p := d.of(worker); p != nil {
		p.has, p.brings = true, share
	}
}
