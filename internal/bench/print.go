package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// pages have tables that this command writes.
var pages = []string{"README.md", "BENCHMARKS.md"}

// place is where a page has a table.
var place = regexp.MustCompile(`(?s)(<!-- bench (\w+) -->\n).*?(<!-- end -->)`)

// fill is a page with its tables as results have them, but for figures that others have disturbed.
func (r results) fill(page string) string {
	r = r.undisturbed()
	return place.ReplaceAllStringFunc(page, func(old string) string {
		m := place.FindStringSubmatch(old)
		if m[2] == "machine" {
			return m[1] + r.machineLine() + m[3]
		}
		return m[1] + r.table(m[2]) + m[3]
	})
}

// undisturbed are results without such figures.
func (r results) undisturbed() results {
	r.Rows = slices.Clone(r.Rows)
	for i, row := range r.Rows {
		if !quiet(row.Others) {
			r.Rows[i].Compared = nil
			for _, c := range row.Compared {
				c.Ours, c.Theirs, c.Ratio, c.Verdict = spread{}, spread{}, spread{}, notQuiet
				r.Rows[i].Compared = append(r.Rows[i].Compared, c)
			}
		}
	}
	return r
}

// text writes the machine, all tables, and why sides have no figures.
func (r results) text(w io.Writer) {
	fmt.Fprint(w, r.machineLine())
	var tables []string
	for _, row := range r.Rows {
		if !slices.Contains(tables, row.Table) {
			tables = append(tables, row.Table)
			fmt.Fprintf(w, "\n%s", r.table(row.Table))
		}
	}
	for _, row := range r.Rows {
		for _, s := range row.Sides {
			if s.Missing != "" {
				fmt.Fprintf(w, "%s, %s: %s\n", row.Name, s.Name, s.Missing)
			}
		}
	}
}

func (r results) machineLine() string {
	return fmt.Sprintf("%s; before, %s.\n", r.Machine, loadOf(r.Machine.Others))
}

// table has the rows of a table as Markdown.
func (r results) table(name string) string {
	if !slices.ContainsFunc(r.Rows, func(row result) bool { return row.Table == name }) {
		return "It was not measured here.\n"
	}
	var b strings.Builder
	b.WriteString("| row | figure | gofleet | other | quotient, or − | wanted |\n|---|---|---|---|---|---|\n")
	for _, row := range r.Rows {
		if row.Table == name && row.Quoted != "" {
			return row.Quoted
		}
		for _, c := range row.Compared {
			if row.Table == name {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", row.Name, c.title(), strings.Join(c.cells(), " | "))
			}
		}
	}
	return b.String()
}

// cells are a comparison's: both sides' medians, the quotient with its spread, and the goal with its verdict. One that
// could not be measured is open.
func (c compared) cells() []string {
	ours, theirs, ratio := c.Ours.middle(), c.Theirs.middle(), c.Ratio.String()
	if c.Of != gofleet {
		ours = c.Of + " " + ours
	}
	if c.With == "" {
		theirs, ratio = "", ""
	}
	verdict := c.Verdict
	if (verdict == notMeasured || verdict == notQuiet) && c.Wanted != "" {
		verdict = "open: " + verdict
	}
	if c.Wanted != "" {
		verdict = strings.TrimSpace(c.Wanted + " " + verdict)
	}
	return []string{cmp.Or(ours, "–"), theirs, ratio, verdict}
}

// title is a figure, and whose it is divided by, or what is subtracted.
func (c compared) title() string {
	switch {
	case c.With == "":
		return c.Figure
	case c.Minus:
		return c.Figure + "−" + c.With
	}
	return c.Figure + "÷" + c.With
}

// loadOf says what others had of the cores.
func loadOf(others float64) string {
	if others < 0 {
		return "the system did not say what others used"
	}
	return fmt.Sprintf("others used %.0f %%", 100*others)
}
