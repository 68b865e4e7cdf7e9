package progress

import (
	"fmt"
	"slices"
)

// Deed is something that a job does once under a name: it ends a period, or saves a model.
type Deed struct {
	// Name has the kind of the deed before it, so that a period and a model may share a name; empty for what is done
	// each time.
	Name string `json:"name"`
	// What describes what is asked for, with all options.
	What string `json:"what,omitempty"`
	// Said is the result.
	Said [][]byte `json:"said,omitempty"`
	// Again does it again: what it left behind is gone.
	Again bool `json:"again,omitempty"`
	// Before reports that it was done before, by an earlier call.
	Before bool `json:"-"`
}

// Deeds are the last deeds of a job, oldest first.
type Deeds []Deed

// mostDeeds is how many deeds a job remembers.
const mostDeeds = 1024

// Done returns the deed that was done under d's name; nil if none was, or it is to be done again. It refuses a name
// under which something else was done.
func (all Deeds) Done(d *Deed) (*Deed, error) {
	if d.Named() == nil {
		return nil, nil
	}
	i := slices.IndexFunc(all, func(o Deed) bool { return o.Name == d.Name })
	switch {
	case i < 0:
		return nil, nil
	case all[i].What != d.What:
		return nil, fmt.Errorf("%s was done with other options, %s, and is asked for with %s: give other options "+
			"another name", d.Name, all[i].What, d.What)
	case d.Again:
		return nil, nil
	}
	return &all[i], nil
}

// Add records a deed with its result. A deed without a name is not recorded.
func (all *Deeds) Add(d *Deed, said [][]byte) {
	if d.Named() == nil {
		return
	}
	*all = slices.DeleteFunc(*all, func(o Deed) bool { return o.Name == d.Name })
	*all = append(*all, Deed{Name: d.Name, What: d.What, Said: said})
	*all = slices.Delete(*all, 0, max(0, len(*all)-mostDeeds))
}

// Named returns d, nil for a deed without a name.
func (d *Deed) Named() *Deed {
	if d == nil || d.Name == "" {
		return nil
	}
	return d
}

// Result returns the result that the caller has set.
func (d *Deed) Result() [][]byte {
	if d == nil {
		return nil
	}
	return d.Said
}

// Tell sets d to the deed that was done before, and reports whether there is one.
func (d *Deed) Tell(done *Deed) bool {
	if done != nil {
		d.Said, d.Before = done.Said, true
	}
	return done != nil
}

// Begun is the epoch that a worker's program has begun.
type Begun struct {
	Epoch int `json:"epoch,omitempty"`
	// At is the end of its share of the epoch before, which the weights may not have yet.
	At []Position `json:"at,omitempty"`
	// Early says that the lowest worker has not begun it: what it does between two epochs is not done.
	Early bool `json:"early,omitempty"`
}

// First returns the epoch in which a worker goes on that has these positions in the weights: the epoch that it has
// begun, if it has ended the one before where these positions are; else the one that it is in. It passes over the one
// before if it has begun early, so that all workers' loops go on at the same place.
func (b Begun) First(at []Position) int {
	epoch, _ := Sum(at)
	switch {
	case b.Early && len(at) == 0:
		return b.Epoch - 1
	case b.Early:
		return min(epoch, b.Epoch-1)
	}
	if b.Epoch > epoch && !slices.ContainsFunc(b.At, func(end Position) bool { return !has(at, end) }) {
		return b.Epoch
	}
	return epoch
}

func has(at []Position, end Position) bool {
	return slices.ContainsFunc(at, func(p Position) bool {
		p.Steps, p.Frozen = end.Steps, end.Frozen
		return p == end
	})
}
