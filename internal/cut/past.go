package cut

import (
	"bytes"
	"slices"
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

// answer tells a worker of a cut that is over.
func (d *Done) answer(worker int) Told {
	if d.err == nil && !slices.Contains(d.Told, worker) {
		d.Told = append(d.Told, worker)
	}
	return Told{Number: d.Number, Stage: Whole, Said: d.Said, Err: d.err}
}
