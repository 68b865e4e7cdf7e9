package server

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// led leads the epochs of the job, on server 0: a worker says where it is, and waits until it is told what to do. The
// leader learns from the roster which workers are gone, before it decides anything.
type led struct {
	st     *state.Job
	job    epoch.Job
	leader *epoch.Leader
	noted  state.Event[epoch.Record]
	knows  state.Event[int]
	talks  []talk // by worker
	given  int    // orders when all that wait were woken last
	// patience is how long all wait for lost workers before others train what these have left; since is when they
	// began to, zero while they don't.
	patience time.Duration
	since    time.Time
	// returned says that this process came back from a journal, by which workers may be dead that were started again
	// with it: none counts as lost before grace, which is notice after its first request.
	returned bool
	grace    time.Time
	notice   time.Duration
	// pause is how long a request waits for them before its worker is to ask again: no wait is longer than the
	// strategy's timeout, unless a worker computes. While one looks for the next epoch, the others ask again at once.
	pause time.Duration
}

// register makes what the job has done survive a kill.
func (c *led) register(m *state.Memory) {
	c.leader = epoch.NewLeader(c.job)
	recall := func(r epoch.Record) { c.returned = true; c.leader.Recall(r) }
	state.AddFact(m, "led", func() []epoch.Record { return c.leader.Facts() }, func(facts []epoch.Record) {
		c.leader = epoch.NewLeader(c.job)
		for _, r := range facts {
			recall(r)
		}
	})
	c.knows = state.AddEvent(m, "told", func(worker int) { c.measured(worker) })
	c.noted = state.AddEvent(m, "led", recall)
}

// handle answers a worker when it is clear what it does next, which may take as long as the slowest worker trains. A
// repeated request waits with the first, or gets its answer. The caller holds the lock.
func (c *led) handle(f *wire.Frame, msg *wire.Ask, r *state.Reply) error {
	if min(msg.After, msg.From) < 0 {
		return wire.Refuse(wire.StatusRefused, "worker %d asks for bytes after %d and %d: want none below 0", f.Worker,
			msg.After, msg.From)
	}
	p := &c.talks[f.Worker]
	fresh := p.life != f.Life || p.n != msg.N
	if fresh && msg.After+msg.From == 0 {
		*p = talk{life: f.Life, n: msg.N}
	}
	switch {
	case fresh && msg.After+msg.From > 0, msg.After > len(p.said), msg.From > len(p.answer):
		return r.JSON(wire.Led{Lacks: true})
	case msg.From > 0:
		return r.JSON(p.piece(msg, c.st.LoadsOf(f.Worker)))
	}
	if p.said = append(p.said[:msg.After], msg.Text...); msg.More {
		return r.JSON(wire.Led{})
	}
	a := new(epoch.At)
	if err := json.Unmarshal(p.said, a); err != nil {
		return wire.Refuse(wire.StatusRefused, "worker %d's message on the job's epochs: %v", f.Worker, err)
	}
	a.Worker, a.Life = int(f.Worker), f.Life
	c.leader.Say(*a)
	var told *epoch.Told
	began := c.st.Now()
	err := c.st.AwaitWorkers(c.leader.Absent, func() bool {
		told = c.told(a)
		waits := c.leader.Waits() && c.st.Now().Sub(began) >= c.pause
		if told == nil && (waits || c.leader.Looks()) {
			told = new(epoch.Told)
		}
		return told != nil
	}, c.why)
	if err != nil {
		return err
	}
	text, err := json.Marshal(told)
	if err != nil {
		return err
	}
	its := talk{life: f.Life, n: msg.N, answer: text}
	if len(text) > msg.Most && p.life == its.life && p.n == its.n { // else a later message has come
		p.answer = text
	}
	return r.JSON(its.piece(msg, c.st.LoadsOf(f.Worker)))
}

// talk is a worker's message, as far as it has come, and the answer.
type talk struct {
	life         uint32
	n            uint64
	said, answer []byte
}

// piece returns the piece of the answer that a worker asks for.
func (p *talk) piece(msg *wire.Ask, loads wire.Loads) wire.Led {
	rest := p.answer[msg.From:]
	most := min(len(rest), max(msg.Most, 1))
	return wire.Led{Text: rest[:most], More: most < len(rest), Loads: loads}
}

// why describes what workers wait for. The caller holds the lock.
func (c *led) why() string {
	if c.leader.Waits() {
		return "for lost workers, which have samples left"
	}
	return "for the next order: missing " + strings.Join(c.st.Roster.Describe(c.leader.Absent(), c.st.Now()), ", ")
}

// told returns the answer to a worker's message, nil if it has to wait. The caller holds the lock.
func (c *led) told(a *epoch.At) *epoch.Told {
	c.depart()
	switch waits := c.leader.Waits(); {
	case !waits:
		c.since = time.Time{}
	case c.since.IsZero():
		c.since = c.st.Now()
	case c.st.Now().Sub(c.since) >= c.patience:
		c.since = time.Time{}
		c.leader.Tired()
	}
	if all := c.leader.Note(); len(all) > 0 {
		for _, r := range all {
			c.noted.Note(r)
		}
	}
	if n := c.leader.Orders(); n != c.given {
		c.given = n
		c.st.Broadcast() // to those that wait for these orders
	}
	t := c.leader.Told(a.Worker)
	if t == nil || t.N < a.N {
		return nil
	}
	if t.Do == epoch.Measure && c.measured(a.Worker) {
		c.knows.Note(a.Worker)
	}
	return t
}

// measured records that a worker measures with the others, and reports whether it was late. The caller holds the lock.
func (c *led) measured(worker int) bool {
	here := make([]bool, c.st.Roster.Workers())
	here[worker] = true
	return c.st.Roster.Met(here)
}

// goOn begins with the facts of a checkpoint. The caller holds the lock.
func (c *led) goOn(facts []epoch.Record) {
	c.leader = epoch.NewLeader(c.job)
	c.leader.Resume(facts)
}

// known identifies what a checkpoint records of what the workers have done together. The caller holds the lock.
func (c *led) known() string { return c.leader.Moment() }

// depart tells the leader which workers are gone. The caller holds the lock.
func (c *led) depart() {
	if c.returned && c.grace.IsZero() {
		c.grace = c.st.Now().Add(c.notice)
	}
	left := c.st.Roster.Left()
	for w := range c.st.Roster.Workers() {
		switch life, _ := c.st.Roster.Living(w); {
		case left != nil && left[w] != 0:
			c.leader.Gone(w, life)
		case c.st.Roster.Gone(w) && !c.st.Now().Before(c.grace):
			at, samples := progress.Sum(c.st.Roster.Positions(w))
			c.leader.Lost(life, epoch.Left{Worker: w, Epoch: at, Samples: samples})
		}
	}
}
