package check

import "fmt"

// Place is a value of each row of a feed: its field, and whether it is derived from other fields.
type Place struct {
	Field   string
	Derived bool
}

// spot is the contents of a feed at one place of each row, if all rows have the same number of values.
type spot struct {
	first    uint64
	n        int
	varies   bool
	stranger int // ids that no training row has
}

// wide is the number of places of a feed that are checked individually.
const wide = 1000

// spot returns the record of a place, nil if places are not checked.
func (f *reading) spot(place int) *spot {
	if f.slot || place >= wide {
		return nil
	}
	for len(f.spots) <= place {
		f.spots = append(f.spots, spot{})
	}
	return &f.spots[place]
}

// at records a value, by its bits.
func (f *reading) at(place int, bits uint64, known *reading) {
	s := f.spot(place)
	if s == nil {
		return
	}
	if s.n == 0 {
		s.first = bits
	}
	s.n++
	s.varies = s.varies || bits != s.first
	if known != nil && f.ids {
		if _, seen := known.values[bits]; !seen {
			s.stranger++
		}
	}
}

// placed checks the places of a feed individually: derived fields with a constant value, and ids that are new in test
// rows at one place of many.
func (r *Report) placed(j Job, f Feed) {
	seen, tested := r.rows.feeds[f.Name], r.tested.feeds[f.Name]
	for i, s := range seen.spots {
		name := fmt.Sprintf("value %d of feed %q", i+1, f.Name)
		p := Place{}
		if places := j.Places[f.Name]; i < len(places) {
			p = places[i]
			name = fmt.Sprintf("field %q of feed %q", p.Field, f.Name)
		}
		if p.Derived && !s.varies && s.n > 1 {
			r.find(name+" is made of others, and the same in every row",
				"other Buckets, or another Part: all rows are in one bucket, or alike in this part of their time")
		}
		if f.Kind != "id" || f.Label || f.Unseen > strange || f.Many || r.More || tested == nil ||
			i >= len(tested.spots) {
			continue
		}
		if t := tested.spots[i]; float64(t.stranger) > strange*float64(t.n) {
			r.find(fmt.Sprintf("%s in test rows has ids that no row to train on has, in %s of them", name,
				percent(float64(t.stranger)/float64(t.n))), unseen)
		}
	}
}

// strange is the share of ids in test rows without a training row that makes a finding.
const strange = 0.5

// unseen is the remedy for such ids.
const unseen = "a model knows nothing of them: leave them out, take a coarser id, or split rows at random if the " +
	"service will know its ids"
