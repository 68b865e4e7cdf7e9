package verdict

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Report is the evaluation of a model on rows.
type Report struct {
	Rows   int
	Names  []string // of values: the loss, and metrics
	Values []float64
	// Always is a prediction that is the same for every row, with its values; "" if it is not known.
	Always string
	By     string // the field by which rows were grouped
	Parts  []Part
	// Tallies are for what the loss compares.
	Tallies []*Tally
	// Shuffled is the number of rows for the importance of fields, 0 if not asked.
	Shuffled int
	Fields   []Part // with the differences to Values, on the Shuffled rows
}

// Part is a group of rows, or a field, with its values.
type Part struct {
	Name   string
	Rows   int
	Values []float64
}

// String is the report as text: the values in one line, followed by tables.
func (r *Report) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d rows", r.Rows)
	for i, v := range r.Values {
		fmt.Fprintf(&s, ", %s %.4f", r.Names[i], v)
	}
	s.WriteString("\n" + r.Always)
	s.WriteString(Table(r.By, r.Names, r.Parts))
	for _, t := range r.Tallies {
		t.write(&s)
	}
	if r.Shuffled > 0 {
		fmt.Fprintf(&s, "\nwith a field's values shuffled among %d rows, so that they say nothing:\n", r.Shuffled)
		table(&s, "field\t"+strings.Join(r.Names, "\t"), len(r.Fields), func(w io.Writer, i int) {
			fmt.Fprintf(w, "%s\t%s\n", r.Fields[i].Name, cells("%+.4f", r.Fields[i].Values))
		})
	}
	return s.String()
}

// Table is a table of groups of rows by a field, and their values of such names; "" without any.
func Table(by string, names []string, parts []Part) string {
	var s strings.Builder
	if len(parts) > 0 {
		table(&s, by+"\trows\t"+strings.Join(names, "\t"), len(parts), func(w io.Writer, i int) {
			p := parts[i]
			fmt.Fprintf(w, "%s\t%d\t%s\n", printable(p.Name), p.Rows, cells("%.4f", p.Values))
		})
	}
	return s.String()
}

// printable returns a text, quoted if it has characters that a terminal may obey or that break a table.
func printable(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// write writes the tables of one comparison.
func (t *Tally) write(s *strings.Builder) {
	if t.Binary() {
		buckets, off := t.Calibration()
		fmt.Fprintf(s, "\n%s: what was predicted and what was observed; the expected calibration error is %.4f\n",
			t.Name(), off)
		table(s, "rows\tpredicted\tobserved", len(buckets), func(w io.Writer, i int) {
			b := buckets[i]
			fmt.Fprintf(w, "%.0f\t%.4f\t%.4f\n", b.Rows, b.Predicted, b.Observed)
		})
	}
	m, names, at := t.matrix(), "", ""
	for class := range m {
		names += fmt.Sprintf("\ttaken for %d", class)
	}
	if t.Binary() {
		at = ", 1 being a chance of .5 or more"
	}
	fmt.Fprintf(s, "\n%s: rows of each class, and what they were taken for%s\n", t.Name(), at)
	table(s, t.Name()+names+"\tright", len(m), func(w io.Writer, i int) {
		all := 0.0
		for _, n := range m[i] {
			all += n
		}
		fmt.Fprintf(w, "%d\t%s\t%s\n", i, cells("%.0f", m[i]), cells("%.4f", []float64{m[i][i] / all}))
	})
}

// cells are the numbers of a row, with a dash for NaN.
func cells(format string, values []float64) string {
	all := make([]string, len(values))
	for i, v := range values {
		if all[i] = fmt.Sprintf(format, v); math.IsNaN(v) {
			all[i] = "–"
		}
	}
	return strings.Join(all, "\t")
}

// table writes n rows below the names of columns.
func table(to *strings.Builder, names string, n int, row func(w io.Writer, i int)) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, strings.ReplaceAll(names, "\n", " ")+"\t")
	for i := range n {
		var line strings.Builder
		row(&line, i)
		fmt.Fprintln(w, strings.TrimSuffix(line.String(), "\n")+"\t")
	}
	w.Flush()
	to.WriteString("\n" + text.String())
}
