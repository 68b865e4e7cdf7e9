package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
	"github.com/gofleet/gofleet/nn"
)

// Examination evaluates a model on rows of files, as the flag -eval of every program does. It runs in this process,
// with the weights of the graph, such as those of a loaded model.
type Examination struct {
	// Loss and Metrics are evaluated on the rows, as in a Job.
	Loss    *nn.Node
	Metrics []*nn.Node
	// Format is the format of the files. As in [Files], a label takes its column's own Missing alone.
	Format dataset.Format
	// Paths are files, patterns and directories, as in [Files].
	Paths []string
	// By is a field of CSV or JSONLines, a Derived one before one of the files, or, of other formats, a column with one
	// number per row: results are also given for each of its most common values. Empty means no groups.
	By string
	// Importance measures how much worse the model is without the information of each field, by shuffling its values
	// among at most 10,000 rows (Breiman, 2001). A field of the files of CSV or JSONLines is shuffled wherever it is
	// used, before Derived fields are made of it; a column of several fields is also shuffled as a whole. Redundant
	// fields each count little, since the others remain.
	Importance bool
	// Seed is the seed of the shuffles.
	Seed uint64

	labels []float64 // sums over the labels trained on, nil if they are not known
}

// A Verdict is the result of an [Examination]. Print it to see tables: the loss and the metrics; the same for each of
// the twenty most common values of a field; for a binary loss, ten buckets of predicted against observed rates, with
// the expected calibration error; for up to twenty classes, the confusion matrix; and the importance of each field.
type Verdict = verdict.Report

// Run reads the rows and evaluates the model.
func (x Examination) Run(ctx context.Context) (*Verdict, error) {
	if x.Loss == nil || x.Format == nil {
		return nil, errors.New("train: Examination.Run: it needs a Loss, and the Format of the rows")
	}
	x.Format = Files{Format: x.Format}.withLabels(x.Loss).Format
	nodes := append([]*nn.Node{x.Loss}, x.Metrics...)
	for i, n := range nodes {
		if err := measurable(n); err != nil {
			return nil, fmt.Errorf("train: Examination.Run: node %d, %w", i, err)
		}
	}
	format, again, err := x.Format, (*rederiver)(nil), error(nil)
	if x.Importance {
		if format, again, err = x.newRederiver(format); err != nil {
			return nil, err
		}
	}
	table, part, err := x.read(ctx, format)
	if err != nil {
		return nil, err
	}
	rows := dataset.FromTable(table)
	e := examiner{ctx, nn.NewExecutor(x.Loss.Graph()), nodes}
	report := &Verdict{Names: []string{"loss"}, By: x.By}
	for _, n := range x.Metrics {
		report.Names = append(report.Names, n.Label())
	}
	for _, c := range verdict.Of(x.Loss) {
		report.Tallies = append(report.Tallies, verdict.NewTally(c))
	}
	report.Rows = table.Len()
	always := newConstant(nodes, report.Names)
	if always != nil {
		always.recall(x.labels)
	}
	all, _, err := measure(ctx, e.exe, rows, nodes, nil, report.Tallies, always)
	sums := all.sums
	if err == nil {
		report.Values, sums, err = valuesOf(nodes, sums, joined(all.scores))
	}
	if report.Always = always.always(x.Format); err == nil && report.Always != "" {
		sums, err = always.values(sums, report.Values)
		for i, v := range sums {
			report.Always += fmt.Sprintf("%s %.4f, ", strings.TrimPrefix(always.names[i], ofConstant), v)
		}
		report.Always = strings.TrimSuffix(report.Always, ", ") + "\n"
	}
	if err != nil {
		return nil, err
	}
	if x.By != "" {
		if report.Parts, err = e.parts(table, part.valued(table)); err != nil {
			return nil, err
		}
	}
	if x.Importance {
		if err := x.importance(&e, again, rows, report); err != nil {
			return nil, err
		}
	}
	return report, e.exe.Close(ctx)
}

// examiner evaluates nodes on rows.
type examiner struct {
	ctx   context.Context
	exe   *nn.Executor
	nodes []*nn.Node
}

// values are the values of nodes on rows.
func (e *examiner) values(rows *dataset.Dataset) ([]float64, error) {
	all, _, err := measure(e.ctx, e.exe, rows, e.nodes, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	values, _, err := valuesOf(e.nodes, all.sums, joined(all.scores))
	return values, err
}

// read reads the rows, and returns the function that groups them.
func (x *Examination) read(ctx context.Context, format dataset.Format) (*dataset.Table, parting, error) {
	with, column, part, err := parted(format, x.By)
	if err != nil {
		return nil, nil, err
	}
	fed, err := x.fed(with, column, len(lined(x.Format).Schema))
	if err != nil {
		return nil, nil, err
	}
	rows, err := Files{Format: with}.table(ctx, x.Paths, fed...)
	return rows, part, err
}

// fed are the columns that the graph needs, the one that groups rows, and those of texts, which come after a schema's
// own: others are not read.
func (x *Examination) fed(f dataset.Format, by string, own int) (names []string, err error) {
	all, err := f.Columns()
	for i, c := range all {
		takes := func(in *nn.Node) bool { return in.Name() == c.Name }
		if c.Name == by || own > 0 && i >= own || slices.ContainsFunc(x.Loss.Graph().Inputs(), takes) {
			names = append(names, c.Name)
		}
	}
	return names, err
}

// parts are the values of nodes by group of rows, the largest group first.
func (e *examiner) parts(rows *dataset.Table, by valued) (parts []verdict.Part, err error) {
	told := most(by.count(), commonest)
	for i, numbers := range by.divide(told) {
		p := verdict.Part{Name: fmt.Sprintf("%d others", len(by)-len(told)), Rows: len(numbers)}
		if i < len(told) {
			p.Name = cmp.Or(told[i], `""`)
		} else if p.Rows == 0 {
			break
		}
		if p.Values, err = e.values(rowsOf(rows, numbers)); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// lined is a format as one of lines of JSON, without a Schema if its fields have no names.
func lined(f dataset.Format) (lines dataset.JSONLines) {
	switch f := f.(type) {
	case dataset.CSV:
		lines = dataset.JSONLines{NAs: append([]string{f.NA}, f.NAs...), Missing: f.Missing, Derived: f.Derived,
			Schema: f.Schema}
	case dataset.JSONLines:
		lines = f
	}
	return lines
}

// fieldsOf are the fields of a column.
func fieldsOf(c dataset.CSVColumn) []string {
	if c.Fields == nil {
		return []string{c.Name}
	}
	return c.Fields
}

// filesFields are the fields of files that each of the names stands for: itself, or what it is derived from.
func filesFields(derived []dataset.Derived, names ...string) (fields []string) {
	for _, name := range names {
		i := slices.IndexFunc(derived, func(d dataset.Derived) bool { return d.Name == name })
		if i < 0 {
			fields = append(fields, name)
			continue
		}
		fields = append(fields, filesFields(derived[:i], derived[i].From...)...)
	}
	return fields
}
