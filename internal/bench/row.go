package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// row is one piece of work that several sides do.
type row struct {
	name, table, work string
	sides             []side // gofleet's first
	compare           []comparison
	once              bool // a round takes minutes, and rounds are alike

	// quote, in place of sides, is the output of a program with a table of its own.
	quote func(ctx context.Context, l *lab) (out string, err error)
}

// figures is what a side measured, by name and unit. A name "SIDE|FIGURE" is a figure of another side, which has no run
// of its own.
type figures map[string]float64

// side is who does the work of a row.
type side struct {
	name string
	peer string // which of the lab's peers it needs; empty for what is in the module
	run  func(ctx context.Context, l *lab, round int) (figures, error)
}

// comparison is of a side's figure with another side's: a quotient, or with minus a difference.
type comparison struct {
	figure, of, with string  // of is gofleet where empty; with may be two, A,B, and none if the figure has the goal
	minus            bool    // of AUCs
	least, most      float64 // goals; at most one is not 0
	wide             float64 // the goal with AVX-512, where it is another
}

// goal is what a comparison should reach on a machine, and what says so; 0 and empty where nothing was set.
func (c comparison) goal(avx512 bool) (goal float64, text string) {
	sign := "≥"
	if c.most != 0 {
		sign = "≤"
	}
	if goal = cmp.Or(c.least, c.most); goal == 0 {
		return 0, ""
	}
	if avx512 {
		goal = cmp.Or(c.wide, goal)
	}
	return goal, strings.Replace(fmt.Sprintf("%s%v", sign, goal), "-", "−", 1)
}

// higher says whether more of a figure is better.
func higher(figure string) bool {
	return strings.HasSuffix(figure, "/s") || strings.HasSuffix(figure, "AUC")
}

// compared is a comparison and what came of it.
type compared struct {
	Figure          string
	Of, With        string `json:",omitempty"`
	Minus           bool   `json:",omitempty"`
	Ours, Theirs    spread `json:",omitzero"`
	Ratio           spread `json:",omitzero"` // or difference, or the figure itself
	Goal            float64
	Wanted, Verdict string `json:",omitempty"`
}

// The verdicts on a goal, and the beginning of one that says why there is none.
const (
	met, missed = "met", "missed"
	notMeasured = "not measured here"
	notQuiet    = "disturbed"
	unjudged    = "no verdict: "
)

// judge compares what sides have measured; unfit is why there may be no verdict, or empty.
func (c comparison) judge(sides []measured, avx512 bool, unfit string) compared {
	d := compared{Figure: c.figure, Of: cmp.Or(c.of, gofleet), With: c.with, Minus: c.minus}
	d.Goal, d.Wanted = c.goal(avx512)
	ours, theirs := find(sides, d.Of).Figures[c.figure], best(sides, c)
	d.Ours, d.Theirs = spreadOf(ours), spreadOf(theirs)
	values := ours
	if c.with != "" {
		values = nil
		for i := range min(len(ours), len(theirs)) {
			switch {
			case c.minus:
				values = append(values, ours[i]-theirs[i])
			case theirs[i] != 0:
				values = append(values, ours[i]/theirs[i])
			}
		}
	}
	d.Ratio = spreadOf(values)
	reached := d.Ratio.Median >= d.Goal == (c.most == 0) || d.Ratio.Median == d.Goal
	switch {
	case len(values) == 0:
		d.Verdict = notMeasured
	case d.Wanted == "":
	case unfit != "":
		d.Verdict = unjudged + unfit
	case reached:
		d.Verdict = met
	default:
		d.Verdict = missed
	}
	return d
}

// best are the figures of the side that gofleet's are compared with, or in each round the higher of two sides.
func best(sides []measured, c comparison) (of []float64) {
	for name := range strings.SplitSeq(c.with, ",") {
		for i, v := range find(sides, name).Figures[c.figure] {
			if i == len(of) {
				of = append(of, v)
			}
			of[i] = max(of[i], v)
		}
	}
	return of
}

// times is how many times as good as the other side gofleet is, by the quotient and its ends; ok is false for others.
func (d compared) times() (median, least, most float64, ok bool) {
	r := d.Ratio
	if d.Minus || d.With == "" || !(r.Least > 0) {
		return 0, 0, 0, false
	}
	if higher(d.Figure) {
		return r.Median, r.Least, r.Most, true
	}
	return 1 / r.Median, 1 / r.Most, 1 / r.Least, true
}
