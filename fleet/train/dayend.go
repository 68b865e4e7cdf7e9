package train

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/nn"
)

// endDay ends a day behind the hooks of its epoch's end: its period, by its name, a base, a checkpoint, and then its
// mark. It may be called again, and what was done is not done twice.
func (r *Run) endDay(ctx context.Context, _ *Run, _ nn.TrainResult) error {
	d := r.days
	e, err := d.of(r.Epoch)
	if err != nil {
		return err
	}
	l, err := d.list(ctx, r.Epoch)
	if err != nil && e.Name == r.Job.passOver {
		_, _, part := dayOf(e.Name)
		l, err = &dayList{Name: e.Name, Within: part, Part: part, Shrink: d.Shrink, Publish: d.Publish}, nil
	}
	if err != nil {
		return err
	}
	m := r.dayDone(e.Name)
	if o := l.Shrink; !l.Within && (r.Leads() || r.Fleet.ServerNum() == 0) { // without servers all call it
		o.Period = e.Name
		shrunk, err := r.Fleet.Shrink(ctx, o)
		if err != nil {
			return err
		}
		for _, of := range shrunk {
			m.Dropped += of.Rows
		}
	}
	if !r.Leads() {
		return nil
	}
	p := l.Publish
	for _, do := range []struct {
		what string
		do   func() error
	}{
		{"the base of a day", func() error { return r.publish(ctx, l, &m) }},
		{"the checkpoint of a day", func() error { return r.Fleet.Checkpoint(ctx) }},
		{"the mark of a day", func() error { return r.mark(p, m) }},
	} {
		if p.Dir == "" && do.what != "the checkpoint of a day" {
			continue
		}
		if err := insist(ctx, 6, do.what, do.do); err != nil {
			return err
		}
	}
	if err := d.forget(); err != nil {
		slog.Warn("train: lists of files of days long past could not be removed", "dir", d.dir, "error", err)
	}
	r.sayDay(m)
	return nil
}

// publish publishes the base of a day, or the delta of a part of it.
func (r *Run) publish(ctx context.Context, l *dayList, m *done) error {
	p := l.Publish
	if l.Part {
		return r.saveDelta(ctx, p, m.Day)
	}
	saved, err := r.base(ctx, p, m.Day)
	if err != nil {
		return err
	}
	m.Base = files.Join(modelfiles.Bases, m.Day)
	m.Version, err = modelfiles.Version(files.Join(p.Dir, m.Base))
	m.Saved, m.Bytes, m.Table = saved.Rows, saved.Bytes, saved.Rows+saved.Left
	if err != nil {
		return err
	}
	before := done{} // the last day that has a base
	for at := r.Epoch - 1; err == nil && before.Base == ""; at-- {
		b, unknown := r.days.of(at)
		if unknown != nil {
			break
		}
		before, err = p.marked(b.Name)
	}
	m.Born = m.Table - before.Table + m.Dropped
	return err
}

// dayDone is what workers have done in the day of the epoch that ends.
func (r *Run) dayDone(name string) done {
	f := r.days.facts
	if f.Epoch != r.Epoch {
		f = dayFacts{}
	}
	m := done{Day: name, Rows: f.rows(), BadLines: f.Bad, Damaged: f.Damaged}
	if n := len(r.History); n > 0 && f.Before != nil {
		m.Before, m.Slices, m.Trained = f.Before.Values, f.Slices, r.History[n-1].Examples-f.Before.Examples
		m.Seconds = r.Pace(r.History[n-1]).Seconds - r.Pace(*f.Before).Seconds
	}
	return m
}

// sayDay prints a line about a day, below the names of its columns.
func (r *Run) sayDay(m done) {
	heads, line := r.dayLine(m)
	if !r.days.titled {
		fmt.Fprintln(r.Job.Stdout, heads)
	}
	ended := append(r.days.ended, m)
	r.days.titled, r.days.ended = true, ended[max(0, len(ended)-mostDays):]
	fmt.Fprintln(r.Job.Stdout, line)
}

// sayDays prints the lines of all days once more at the job's end, if there are several: those of this process, and
// those of others that are published.
func (r *Run) sayDays() {
	text, lines := "", 0
	for _, name := range r.days.past() {
		m := done{}
		if i := slices.IndexFunc(r.days.ended, func(m done) bool { return m.Day == name }); i >= 0 {
			m = r.days.ended[i]
		} else if p := r.days.Publish; p.Dir != "" {
			m, _ = p.marked(name) // without it the table has a day less
		}
		if m.Day != "" {
			heads, line := r.dayLine(m)
			if lines++; lines == 1 {
				text = heads + "\n"
			}
			text += line + "\n"
		}
	}
	if lines > 1 {
		fmt.Fprintf(r.Job.Stdout, "%d days:\n%s", lines, text)
	}
}

// dayLine is a line about a day, and the names of its columns.
func (r *Run) dayLine(m done) (heads, line string) {
	heads = fmt.Sprintf("%-12s%10s%10s", "day", "rows", "trained")
	line = fmt.Sprintf("%-12s%10s%10s", m.Day, grouped(m.Rows), grouped(m.Trained))
	for _, n := range append([]*nn.Node{r.Job.Loss}, r.Job.Metrics...) {
		name, text := r.Job.valueName(n), "-"
		if v, known := m.Before[name]; known {
			text = fmt.Sprintf("%.4f", v)
		}
		if v, known := m.Before[ofConstant+name]; known {
			text += fmt.Sprintf(" (%.4f)", v)
		}
		heads += fmt.Sprintf("  %-18s", name)
		line += fmt.Sprintf("  %-18s", text)
	}
	born, size := "-", "-" // which are known of what is published
	if m.Base != "" {
		born, size = grouped(m.Born), grouped(int(m.Bytes))
	}
	return heads + fmt.Sprintf("%10s%10s%14s%10s  %s", "born", "dropped", "bytes", "seconds", "left out"),
		line + fmt.Sprintf("%10s%10s%14s%10.1f  files: %d, lines: %d", born, grouped(m.Dropped), size, m.Seconds,
			len(m.Damaged), m.BadLines)
}

// valueName is the name of the loss or a metric in evaluations.
func (j *Job) valueName(n *nn.Node) string {
	if n == j.Loss {
		return EvalLoss
	}
	return testName(n)
}
