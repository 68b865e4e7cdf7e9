package check

import "fmt"

// spot is the ids of a feed at one place of each row, if all rows have the same number of values.
type spot struct{ n, stranger int } // stranger are those that no training row has

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
	s.n++
	if known != nil && f.ids {
		if _, seen := known.values[bits]; !seen {
			s.stranger++
		}
	}
}

// place names a value of a feed.
func (j *Job) place(feed string, i int) string {
	if fields := j.Places[feed]; i < len(fields) {
		return fmt.Sprintf("field %q of feed %q", fields[i], feed)
	}
	return fmt.Sprintf("value %d of feed %q", i+1, feed)
}

// placed checks the places of a feed individually, for ids that are new in test rows at one place of many.
func (r *Report) placed(j Job, f Feed) {
	tested := r.tested.feeds[f.Name]
	if f.Kind != "id" || f.Label || f.Name == r.graph.group || f.Unseen > strange ||
		f.Many || r.More || tested == nil || r.found(own.do) {
		return
	}
	for i, t := range tested.spots {
		if float64(t.stranger) > strange*float64(t.n) {
			r.find(fmt.Sprintf("%s in test rows has ids that no row to train on has, in %s of them", j.place(f.Name, i),
				percent(float64(t.stranger)/float64(t.n))), unseen)
		}
	}
}

// strange is the share of ids in test rows without a training row that makes a finding.
const strange = 0.5

// unseen is the remedy for such ids.
const unseen = "a model knows nothing of them: leave them out, take a coarser id, or split rows at random if the " +
	"service will know its ids"
