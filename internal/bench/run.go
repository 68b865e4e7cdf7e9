package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// measured is a side, and its figures of all rounds; or why it has none.
type measured struct {
	Name            string
	Missing, Failed string               `json:",omitempty"`
	Figures         map[string][]float64 `json:",omitempty"`
}

func find(sides []measured, name string) measured {
	for _, s := range sides {
		if s.Name == name {
			return s
		}
	}
	return measured{}
}

// result is a row that has been run.
type result struct {
	Name, Table, Work string
	Others            float64 // share of the cores that other programs had; -1 where unknown
	Sides             []measured
	Compared          []compared
	Quoted            string `json:",omitempty"` // a table that a program has printed
}

// results is what the command has measured.
type results struct {
	Machine machine
	Rows    []result
}

// do runs a row: all sides in turn, as often as there are rounds. A side that fails has no figures.
func (r row) do(ctx context.Context, l *lab, m *machine, progress io.Writer) result {
	res := result{Name: r.name, Table: r.table, Work: r.work, Sides: make([]measured, len(r.sides))}
	for i, s := range r.sides {
		res.Sides[i] = measured{Name: s.name, Figures: map[string][]float64{}}
		if p := l.have(ctx, s.peer); p.err != nil {
			res.Sides[i].Missing = p.err.Error()
		} else if p.version != "" {
			m.Peers[s.peer] = p.version
		}
	}
	if r.quote != nil {
		out, err := r.quote(ctx, l)
		if res.Quoted = tableIn(out); res.Quoted == "" {
			err = errors.Join(err, errors.New("it has printed no table"))
		}
		if err != nil {
			res.Sides, res.Quoted = []measured{{Name: gofleet, Failed: err.Error()}}, ""
		}
	}
	rounds := m.Rounds
	if r.once {
		rounds = 1
	}
	meter := startMeter(l.stat, l.used)
	for round := range rounds {
		for i, s := range r.sides {
			got := &res.Sides[i]
			if s.run == nil || got.Missing != "" || got.Failed != "" || ctx.Err() != nil {
				continue
			}
			used := l.used - l.spent
			l.peak = 0
			f, err := s.run(ctx, l, round)
			if err != nil {
				got.Failed, got.Figures = err.Error(), nil
				continue
			}
			f["CPU s"], f["peak MB"] = (l.used - l.spent - used).Seconds(), float64(l.peak)/1e6
			for name, value := range f {
				at := got
				if other, figure, ok := strings.Cut(name, "|"); ok {
					is := func(s side) bool { return s.name == other }
					at, name = &res.Sides[slices.IndexFunc(r.sides, is)], figure
				}
				at.Figures[name] = append(at.Figures[name], value)
			}
		}
		fmt.Fprintf(progress, "%s: round %d of %d\n", r.name, round+1, rounds)
	}
	if res.Others = meter.others(l.used, m.Cores); quiet(res.Others) {
		res.Others = m.Others // it was not quiet before, perhaps
	}
	unfit := ""
	switch {
	case !quiet(res.Others):
		unfit = loadOf(res.Others)
	case m.Rounds < 3:
		unfit = "less than 3 rounds"
	}
	for _, c := range r.compare {
		res.Compared = append(res.Compared, c.judge(res.Sides, m.avx512(), unfit))
	}
	return res
}

// err names the sides that have failed.
func (r results) err() error {
	var errs []error
	for _, row := range r.Rows {
		for _, s := range row.Sides {
			if s.Failed != "" {
				errs = append(errs, fmt.Errorf("%s, %s: %s", row.Name, s.Name, s.Failed))
			}
		}
	}
	return errors.Join(errs...)
}

// add puts rows in the places of those with the same names, where both runs were on the same machine and commit.
func (r *results) add(more results) error {
	if !r.Machine.same(more.Machine) {
		return errors.New("another machine, commit or number of rounds has made the file: name a new one")
	}
	r.Machine.Others = max(r.Machine.Others, more.Machine.Others)
	maps.Copy(r.Machine.Peers, more.Machine.Peers)
	for _, row := range more.Rows {
		if i := slices.IndexFunc(r.Rows, func(old result) bool { return old.Name == row.Name }); i >= 0 {
			r.Rows[i] = row
		} else {
			r.Rows = append(r.Rows, row)
		}
	}
	return nil
}
