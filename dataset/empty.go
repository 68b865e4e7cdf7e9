package dataset

import "fmt"

// MayBeEmpty permits a pass without rows: a loop over it ends at once. By default that is [ErrNoRows], since the usual
// causes are a wrong path, a failed export, or an option that leaves nothing. Use it for a worker whose share may be
// empty: if there are fewer files or rows than workers, or for the rest of a pass after [Dataset.Skip].
func (d *Dataset) MayBeEmpty() *Dataset {
	next := *d
	next.mayBeEmpty = true
	return &next
}

// noRows returns why a pass had no batch.
func (p *pass) noRows(short int) error {
	if short > 0 {
		return fmt.Errorf("%w: DropLast leaves out the only batch, which has %d of %d rows", ErrNoRows, short, p.size)
	}
	return fmt.Errorf("%w: %s", ErrNoRows, whyEmpty(p.reader))
}

// explainer is a Reader that can report why its pass had no rows.
type explainer interface{ whyEmpty() string }

func whyEmpty(r Reader) string {
	if e, ok := r.(explainer); ok {
		return e.whyEmpty()
	}
	return sourceIsEmpty
}

const sourceIsEmpty = "the source has none"

func (r *viewReader) whyEmpty() string { return r.why }

func (r *windowReader) whyEmpty() string { return whyEmpty(r.Reader) }

func (r *chosenReader) whyEmpty() string {
	if r.seen == 0 && r.end > 0 {
		return whyEmpty(r.Reader)
	}
	return r.leavesNone(r.seen, "rows")
}

// leavesNone reports that the selection kept nothing of n rows or lines.
func (s selection) leavesNone(n int, things string) string {
	if s.end == 0 {
		return s.name + " leaves none"
	}
	return fmt.Sprintf("%s leaves none of %d %s", s.name, n, things)
}

func (r *filesReader) whyEmpty() string {
	switch {
	case len(r.Paths) == 0:
		return "no files are named; look at the pattern or the list that they come from"
	case r.firstBad != nil:
		return fmt.Sprintf("SkipBad passed over all %d lines, the first for %v", r.bad, r.firstBad)
	case r.number > 0:
		return r.mine.leavesNone(r.number, "lines") + " in " + r.names()
	case r.PipeCommand != "":
		return fmt.Sprintf("the pipe command %q writes nothing of %s", r.PipeCommand, r.names())
	case r.headers > 0:
		return r.names() + " has a header and nothing after it"
	}
	return r.names() + " is empty"
}

// names returns the path, or the first of the paths.
func (f *Files) names() string {
	if more := len(f.Paths) - 1; more > 0 {
		return fmt.Sprintf("each of %s and %d more", f.Paths[0], more)
	}
	return f.Paths[0]
}
