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
// measures its rows with each.

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
	some := map[string]int{}
	for _, value := range most(d.values, mostSlices) {
		if len(value) <= longestSlice {
			some[value] = d.values[value]
		}
	}
	return json.Marshal(some)
}

// slices measures this worker's share of a day by slice, of the commonest values that workers have brought.
func (t *tests) slices(ctx context.Context, stands [][]byte) (all []share, err error) {
	now, count := t.days.now, map[string]int{}
	if now.part == nil {
		return nil, nil
	}
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
		return nil, fmt.Errorf("train: the values of Days.By of a worker: %w; do all run the same program?", err)
	}
	told, rest := most(count, commonest), now.found.Rows
	for i, rows := range now.part.divide(now.rows, told) {
		of, n := sliceOf{Others: i == len(told)}, rest
		if !of.Others {
			of.Value, n = told[i], now.values[told[i]]
		}
		rest -= n
		chances := t.tallies()
		measured, _, err := measure(ctx, t.exe, rows, t.nodes(), nil, chances, t.constant)
		if err != nil {
			return nil, err
		}
		s := share{Of: of, Sums: append(tallies{float64(n), 0, 0, 0}, measured.sums...), Scores: measured.scores}
		for _, c := range chances {
			s.Chances = append(s.Chances, c.Totals()...)
		}
		all = append(all, s)
	}
	return all, nil
}

// joinSlices joins what workers have measured of the slices of a day: the largest first, and others last.
func (t *tests) joinSlices(shares []share) (all []slice, err error) {
	for i, first := range shares[0].Slices {
		var its []share
		sums := make(tallies, len(first.Chances))
		for _, s := range shares {
			if len(s.Slices) != len(shares[0].Slices) || len(s.Slices[i].Chances) != len(sums) {
				return nil, errors.New("train: workers have made other slices of a day: do all run the same program?")
			}
			its = append(its, s.Slices[i])
			for k, v := range s.Slices[i].Chances {
				sums[k] += v
			}
		}
		e, err := t.join(its, true)
		if err != nil {
			return nil, err
		}
		for k, name := range t.chanceNames() {
			if v := sums[3*(k/2)+1+k%2] / sums[3*(k/2)]; finite(v) {
				e.Values[name] = v
			}
		}
		if e.Examples > 0 {
			all = append(all, slice{first.Of, e.Examples, e.Values})
		}
	}
	return all, nil
}

// chanceNames are the names of what was predicted and observed of two classes.
func (t *tests) chanceNames() (names []string) {
	for _, c := range t.tallies() {
		names = append(names, "predicted "+c.Name(), "observed "+c.Name())
	}
	return names
}

// describeSlices is a table of the slices of a day; "" without any.
func (t *tests) describeSlices(all []slice) string {
	names, parts := append(t.names()[1:2+len(t.job.Metrics)], t.chanceNames()...), []verdict.Part(nil)
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
