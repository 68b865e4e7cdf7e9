package check

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// String is the report as text: rows, feeds, params, steps, and at the end the findings.
func (r *Report) String() string {
	var s strings.Builder
	more := ""
	if r.More {
		more = ", as many as were looked at"
	}
	fmt.Fprintf(&s, "rows: %d to train on, %d test rows%s", r.Rows, r.TestRows, more)
	if r.StepsAnEpoch > 0 {
		fmt.Fprintf(&s, "; an epoch has %d steps", r.StepsAnEpoch)
	}
	s.WriteString("\n\n")
	table(&s, "feed\tkind\tmean\tdeviation\tleast\tmost\tmissing\tvalues\tcommonest\tunseen in tests\t", len(r.Feeds),
		func(w io.Writer, i int) { r.Feeds[i].row(w) })
	for _, f := range r.Feeds {
		if f.Shared > 0 {
			fmt.Fprintf(&s, "of the %d texts that are hashed into ids of %q %d share one with others\n\n", f.Texts,
				f.Name, f.Shared)
		}
	}
	table(&s, "param\tshape\tgradient\tsize\tmoved by\tbytes\t", len(r.Params),
		func(w io.Writer, i int) { r.Params[i].row(w) })
	for _, text := range r.Room {
		s.WriteString(text + "\n\n")
	}
	if len(r.graph.labels) > 1 {
		s.WriteString("of several labels none is compared with the feeds\n\n")
	}
	if r.Once {
		s.WriteString("the rows can be read once only: they were looked at, and no step was tried\n\n")
	}
	if n := len(r.Losses); n > 0 {
		fmt.Fprintf(&s, "%d steps on tables of their own: loss %.4g, then %.4g\n\n", n, r.Losses[0], r.last())
	}
	if r.Pushed > 0 {
		fmt.Fprintf(&s, "with servers a worker's step sends %.0f bytes and brings %.0f, before compression\n\n",
			r.Pushed, r.Pulled)
	}
	if len(r.Findings) == 0 {
		s.WriteString("nothing to look at\n")
	}
	for i, f := range r.Findings {
		kind := ""
		if f.Fails {
			kind = "training would fail: "
		}
		fmt.Fprintf(&s, "%d. %s%v\n", i+1, kind, f)
	}
	return s.String()
}

// table writes n rows below the names of columns.
func table(to io.Writer, names string, n int, row func(io.Writer, int)) {
	if n == 0 {
		return
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, names)
	for i := range n {
		row(w, i)
	}
	w.Flush()
	fmt.Fprintln(to)
}

func (f Feed) row(w io.Writer) {
	kind, values, common, unseen, missing := f.Kind, fmt.Sprint(f.Distinct), "", "", ""
	if f.Label {
		kind = "label"
	}
	if f.Many {
		values = fmt.Sprintf("> %d", f.Distinct-1)
	}
	if f.Share > 0 {
		common = fmt.Sprintf("%v (%s)", f.Commonest, percent(f.Share))
	}
	if f.Kind != "number" {
		if !f.Label {
			unseen = percent(f.Unseen)
		}
		if f.Missing > 0 {
			missing = percent(f.Missing)
		}
		fmt.Fprintf(w, "%s\t%s\t\t\t\t\t%s\t%s\t%s\t%s\t\n", f.Name, kind, missing, values, common, unseen)
		return
	}
	fmt.Fprintf(w, "%s\t%s\t%.4g\t%.4g\t%.4g\t%.4g\t%s\t%s\t%s\t\t\n", f.Name, kind, f.Mean, f.Deviation, f.Least,
		f.Most, percent(f.Missing), values, common)
}

func (p Param) row(w io.Writer) {
	switch {
	case p.Table:
		fmt.Fprintf(w, "%s\t%d ids of %d\t%.3g\t\t\t%d\t\n", p.Name, p.IDs, p.Shape[1], p.Gradient, p.Bytes)
	case p.Frozen:
		fmt.Fprintf(w, "%s\t%v, frozen\t\t%.3g\t%.3g\t%d\t\n", p.Name, p.Shape, p.Norm, p.Moved, p.Bytes)
	default:
		fmt.Fprintf(w, "%s\t%v\t%.3g\t%.3g\t%.3g\t%d\t\n", p.Name, p.Shape, p.Gradient, p.Norm, p.Moved, p.Bytes)
	}
}
