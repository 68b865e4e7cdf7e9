package cut

import (
	"bytes"
	"slices"

	"github.com/gofleet/gofleet/internal/wire"
)

// past are the calls that are over, the last ones, oldest first.
type past []*Done

// noStep is no update's number.
const noStep = -1

// call is the one of an id, nil if none is remembered.
func (all past) call(id string) *Done {
	if i := slices.IndexFunc(all, func(p *Done) bool { return p.Ask.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// add remembers one more.
func (all *past) add(d *Done) {
	for _, p := range *all {
		if d.Number != 0 && p.Number == d.Number { // they share it
			p.Told = append(p.Told, d.Ask.Worker)
		}
	}
	if d.err == nil && d.Step != noStep && d.Ask.Plan.Final() != "" {
		all.outdate()
	}
	*all = append(*all, d)
	if n := len(*all) - calls; n > 0 {
		*all = slices.Delete(*all, 0, n)
	}
}

// outdate says that no checkpoint before has all that a server would save now, though no update was made since.
func (all past) outdate() {
	for _, p := range all {
		if p.err == nil && p.Ask.Plan.Final() == "" {
			p.Step = noStep
		}
	}
}

// same is a cut that did what the one under way is for: all workers that save after a barrier make one checkpoint, and
// all that end a period end one. A checkpoint serves anybody at the very steps that it has. The end of a period serves
// each worker once that has made no step since, and is behind the same barrier, as how it ends says: a worker that
// knows of it wants another.
func (all past) same(c *led) *Done {
	if c.ask.Plan.Has(Read) {
		return nil
	}
	for _, p := range slices.Backward(all) {
		alike := p.alike(c.ask)
		if alike && p.Step != noStep && p.serves(c.ask.Worker, c) {
			return p
		}
		if !alike && p.err == nil && c.ask.Dir != "" && p.Ask.Dir == c.ask.Dir {
			return nil // its files are there no more
		}
	}
	return nil
}

// alike says whether a call has done what another asks for.
func (d *Done) alike(a *Ask) bool {
	return d.err == nil && slices.Equal(d.Ask.Plan, a.Plan) && bytes.Equal(d.Ask.How, a.past().How) &&
		d.Ask.Dir == a.Dir
}

func (d *Done) serves(worker int, c *led) bool {
	if d.Ask.Plan.Final() == "" {
		return d.Step == c.held[0].Step && slices.Equal(d.At, c.at)
	}
	return !slices.Contains(d.Told, worker) && len(d.At) == len(c.at) &&
		(worker >= len(c.at) || d.At[worker] == c.at[worker])
}

// share answers the cut under way by another.
func (l *Leader) share(p *Done) {
	l.shareWith(p, l.cut.ask)
	l.free()
}

func (l *Leader) shareWith(p *Done, a *Ask) {
	d := *p
	d.Ask.ID, d.Ask.Worker = a.ID, a.Worker
	if p.Ask.Plan.Final() != "" {
		d.Step = noStep // it is p that others share
	}
	d.Told = nil
	l.over(&d)
}

// shareAll answers who asks for what was done just now for good, before any push goes on: behind the cut workers would
// be at other steps, and end another period.
func (l *Leader) shareAll(p *Done) {
	if p.Ask.Plan.Final() == "" || p.Ask.Plan.Has(Read) {
		return
	}
	l.queue = slices.DeleteFunc(l.queue, func(a *Ask) bool {
		alike := p.alike(a) && a.Worker != p.Ask.Worker && !slices.Contains(p.Told, a.Worker)
		if alike {
			l.shareWith(p, a)
		}
		return alike
	})
}

// Loaded says that the tables have become others: nothing that was done before serves who asks from now on.
func (l *Leader) Loaded() {
	for _, p := range l.past {
		p.Step = noStep
	}
}

// Facts are records that bring a leader to where this one is, for the base of a journal.
func (l *Leader) Facts() (all []Record) {
	for _, p := range l.past {
		all = append(all, Record{Done: p})
	}
	all = append(all, Record{Led: l.last})
	if l.Irrevocable() {
		all = append(all, Record{Intent: l.intent()})
	}
	return all
}

// Recall plays a record of the process before this one.
func (l *Leader) Recall(r Record) {
	switch {
	case r.Led > 0:
		l.last, l.cut = r.Led, nil
	case r.Intent != nil:
		i := *r.Intent
		l.cut = &led{ask: &i.Ask, number: i.Number, phase: finishing, stage: Reached, at: i.At, brought: i.Brought,
			sealed: true,
			owes:   make([]Work, l.servers), held: make([]*Answer, l.servers), said: make([][]byte, l.servers)}
		for s := range l.cut.held {
			l.cut.held[s] = &Answer{Step: i.Step}
		}
	case r.Done != nil:
		if l.cut != nil && l.cut.number == r.Done.Number {
			l.cut = nil
		}
		d := *r.Done
		if d.Told = slices.Clone(d.Told); !slices.Contains(d.Told, d.Ask.Worker) {
			d.Told = append(d.Told, d.Ask.Worker) // perhaps: it asks by the call's id if not
		}
		if d.Why != "" {
			d.err = wire.Refuse(wire.StatusStale, "%s", d.Why)
		}
		l.past.add(&d)
	}
}

// Resume goes on with what can't be taken back, and says which cut this server holds for that from the start, 0 for
// none.
func (l *Leader) Resume() (number uint64, plan Plan) {
	if l.cut == nil {
		return 0, nil
	}
	l.order(finishing, l.cut.ask.Plan.Final())
	return l.cut.number, l.cut.ask.Plan
}
