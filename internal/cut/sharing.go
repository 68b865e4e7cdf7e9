package cut

import (
	"slices"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// share answers the cut under way with the result of another.
func (l *Leader) share(p *Done) {
	l.shareWith(p, l.cut.ask)
	l.free()
}

func (l *Leader) shareWith(p *Done, a *Ask) {
	d := *p
	d.Ask.ID, d.Ask.Worker = a.ID, a.Worker
	if p.Ask.Task.Plan().Final() != "" {
		d.Step = noStep // others share p, not this
	}
	d.Told = nil
	l.over(&d)
}

// shareAll answers queued calls for the final work that was just done, before any push goes on: after the cut workers
// would be at other steps, and end another period.
func (l *Leader) shareAll(p *Done) {
	if p.Ask.Task.Plan().Final() == "" || p.Ask.Task.Plan().Has(Read) {
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

// Loaded records that the tables were replaced: no earlier call serves a later one.
func (l *Leader) Loaded() {
	for _, p := range l.past {
		p.Step = noStep
	}
}

// Facts returns records that restore this leader's state, for the base of a journal.
func (l *Leader) Facts() (all []Record) {
	for _, p := range l.past {
		all = append(all, Record{Done: p})
	}
	all = append(all, Record{Led: l.last})
	if len(l.deeds) > 0 {
		all = append(all, Record{Deeds: l.deeds})
	}
	if l.Irrevocable() {
		all = append(all, Record{Intent: l.intent()})
	}
	return all
}

// Recall replays a record of an earlier process.
func (l *Leader) Recall(r Record) {
	switch {
	case r.Led > 0:
		l.last, l.cut = r.Led, nil
	case r.Deeds != nil:
		l.Did(r.Deeds)
	case r.Intent != nil:
		i := *r.Intent
		l.cut = &led{ask: &i.Ask, number: i.Number, phase: finishing, stage: Reached, at: i.At, sealed: true,
			owes: make([]Work, l.servers), held: make([]*Answer, l.servers), said: make([][]byte, l.servers)}
		for s := range l.cut.held {
			l.cut.held[s] = &Answer{Step: i.Step}
		}
	case r.Done != nil:
		if l.cut != nil && l.cut.number == r.Done.Number {
			l.cut = nil
		}
		d := *r.Done
		if d.Told = slices.Clone(d.Told); !slices.Contains(d.Told, d.Ask.Worker) {
			d.Told = append(d.Told, d.Ask.Worker) // it may have the result; if not, it asks by the call's id
		}
		if d.Why != "" {
			d.err = wire.Refuse(wire.StatusStale, "%s", d.Why)
		}
		l.past.add(&d)
		l.did(&d)
	}
}

// Deeds returns what the job has done by name, the last that it remembers. Did replaces it by what a loaded checkpoint
// has.
func (l *Leader) Deeds() progress.Deeds { return slices.Clone(l.deeds) }

func (l *Leader) Did(all progress.Deeds) { l.deeds = slices.Clone(all) }

// did records what a call has done by name.
func (l *Leader) did(d *Done) {
	if d.err == nil && !d.Before {
		l.deeds.Add(d.Ask.Deed, d.Said)
	}
}

// Resume continues a final work, and returns the cut that this server must hold for it from the start, 0 for none.
func (l *Leader) Resume() (number uint64, plan Plan) {
	if l.cut == nil {
		return 0, nil
	}
	plan = l.cut.ask.Task.Plan()
	l.order(finishing, plan.Final())
	return l.cut.number, plan
}
