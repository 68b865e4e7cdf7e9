package train

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
)

// Rows of a day are evaluated by slice, those with the same value of Days.By, before they are trained on. Each worker
// brings to the evaluation how often it has which values; of the sums of all, each finds the same commonest values, and
// measures its rows with each. What was measured of all rows is the sum over slices.

// sliceOf are the rows with one value, or with any of all Others.
type sliceOf struct {
	Value  string `json:"value,omitempty"`
	Others bool   `json:"others,omitempty"`
}

// slice is the evaluation of some rows, with what was predicted and observed of two classes.
type slice struct {
	sliceOf
	Rows   int                `json:"rows"`
	Values map[string]float64 `json:"values"`
}

// sliceBy is the field by which a job of days makes slices, "" for none.
func (j *Job) sliceBy() string { return cmp.Or(j.by, j.Days.By) }

// mostSlices are the values that a worker brings, none longer than longestSlice: all else are others.
const mostSlices, longestSlice = 200, 100

// brings is how often this worker has which values of its day, as JSON.
func (d *dayRows) brings() ([]byte, error) {
	some, count := map[string]int{}, d.by.count()
	for _, value := range most(count, mostSlices) {
		if len(value) <= longestSlice {
			some[value] = count[value]
		}
	}
	return json.Marshal(some)
}

// slices measures this worker's share of a day by slice, of the commonest values that workers have brought.
func (t *tests) slices(ctx context.Context, stands [][]byte) (all share, err error) {
	now, count := t.days.now, map[string]int{}
	for _, text := range stands {
		var its map[string]int
		if len(text) > 0 { // else it has trained on the day
			err = errors.Join(err, json.Unmarshal(text, &its))
		}
		for value, n := range its {
			count[value] += n
		}
	}
	if err != nil {
		return all, fmt.Errorf("train: the values of Days.By of a worker: %w; do all run the same program?", err)
	}
	told := most(count, commonest)
	for i, numbers := range now.by.divide(told) {
		s, err := t.measured(ctx, rowsOf(now.table, numbers).MayBeEmpty())
		if err != nil {
			return all, err
		}
		all.Sums, all.Spreads = all.Sums.plus(s.Sums), all.Spreads.plus(s.Spreads)
		all.Chances = all.Chances.plus(s.Chances)
		s.Sums = append(tallies{float64(len(numbers)), 0, 0, 0}, s.Sums...)
		if s.Of.Others = i == len(told); !s.Of.Others {
			s.Of.Value = told[i]
		}
		all.Slices = append(all.Slices, s)
	}
	return all, nil
}

// joinSlices joins what workers have measured of the slices of a day: the largest first, and others last.
func (t *tests) joinSlices(shares []share) (all []slice, err error) {
	for i, first := range shares[0].Slices {
		var its []share
		for _, s := range shares {
			if len(s.Slices) != len(shares[0].Slices) {
				return nil, errors.New("train: workers have made other slices of a day: do all run the same program?")
			}
			its = append(its, s.Slices[i])
		}
		e, err := t.join(its, true)
		if err != nil {
			return nil, err
		}
		for _, c := range t.chances(its) {
			sums := c.Totals()
			for k, name := range chanceNames(c) {
				if v := sums[1+k] / sums[0]; finite(v) {
					e.Values[name] = v
				}
			}
		}
		if e.Examples > 0 {
			all = append(all, slice{first.Of, e.Examples, e.Values})
		}
	}
	return all, nil
}

// chanceNames are the names of what was predicted and observed of two classes.
func chanceNames(c *verdict.Tally) []string {
	return []string{"predicted " + c.Name(), "observed " + c.Name()}
}

// describeSlices is a table of the slices of a day; "" without any.
func (t *tests) describeSlices(all []slice) string {
	names, parts := t.names()[1:2+len(t.job.Metrics)], []verdict.Part(nil)
	for _, c := range t.tallies() {
		names = append(names, chanceNames(c)...)
	}
	for _, s := range all {
		p := verdict.Part{Name: cmp.Or(s.Value, `""`), Rows: s.Rows}
		if s.Others {
			p.Name = "others"
		}
		for _, name := range names {
			v, measured := s.Values[name]
			if !measured {
				v = math.NaN()
			}
			p.Values = append(p.Values, v)
		}
		parts = append(parts, p)
	}
	return verdict.Table(t.job.sliceBy(), names, parts)
}
