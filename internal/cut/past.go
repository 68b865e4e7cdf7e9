package cut

import (
	"bytes"
	"slices"
)

// past holds the last calls that are over, oldest first.
type past []*Done

// noStep is not the number of any update.
const noStep = -1

// call returns the call of an id, nil if none is remembered.
func (all past) call(id string) *Done {
	if i := slices.IndexFunc(all, func(p *Done) bool { return p.Ask.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// add stores a call.
func (all *past) add(d *Done) {
	for _, p := range *all {
		// the two calls share a cut
		if d.Number != 0 && p.Number == d.Number && !slices.Contains(p.Told, d.Ask.Worker) {
			p.Told = append(p.Told, d.Ask.Worker)
		}
	}
	if d.err == nil && d.Step != noStep && d.Ask.Task.Plan().Final() != "" {
		all.outdate()
	}
	*all = append(*all, d)
	if n := len(*all) - calls; n > 0 {
		*all = slices.Delete(*all, 0, n)
	}
}

// outdate records that earlier checkpoints lack what a server would save now, though no update was made since.
func (all past) outdate() {
	for _, p := range all {
		if p.err == nil && p.Ask.Task.Plan().Final() == "" {
			p.Step = noStep
		}
	}
}

// same returns a finished call that did what the cut under way is for: all workers that save after a barrier make one
// checkpoint, and all that end a period end one. A checkpoint serves every worker at the same steps. The end of a
// period serves each worker once, if the worker has made no step since and is after the same barrier, which is in its
// task: a worker that already has its result wants another.
func (all past) same(c *led) *Done {
	if c.ask.Task.Plan().Has(Read) {
		return nil
	}
	for _, p := range slices.Backward(all) {
		alike := p.alike(c.ask)
		if alike && p.Step != noStep && p.serves(c.ask.Worker, c) {
			return p
		}
		if !alike && p.err == nil && c.ask.Task.dir() != "" && p.Ask.Task.dir() == c.ask.Task.dir() {
			return nil // its files were replaced
		}
	}
	return nil
}

// alike reports whether a call has done what another asks for.
func (d *Done) alike(a *Ask) bool {
	return d.err == nil && d.Ask.Deed == nil && a.Deed == nil && bytes.Equal(d.Ask.Sum, a.Sum)
}

func (d *Done) serves(worker int, c *led) bool {
	if d.Ask.Task.Plan().Final() == "" {
		return bytes.Equal(d.Ask.Begun, c.ask.Begun) && d.Step == c.held[0].Step && slices.Equal(d.At, c.at)
	}
	return !slices.Contains(d.Told, worker) && len(d.At) == len(c.at) &&
		(worker >= len(c.at) || d.At[worker] == c.at[worker])
}

// answer returns the result of a call that is over, and records that the worker has it.
func (d *Done) answer(worker int) Told {
	if d.err == nil && !slices.Contains(d.Told, worker) {
		d.Told = append(d.Told, worker)
	}
	return Told{Number: d.Number, Stage: Whole, Said: d.Said, Before: d.Before, Err: d.err}
}
