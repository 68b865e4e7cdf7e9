package train

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"unicode/utf8"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
	"github.com/gofleet/gofleet/nn"
)

// mostShuffled is the number of rows on which the importance of a field is measured.
const mostShuffled = 10_000

// place is where a row has values of a field: column c, from from to below to; the whole column if to is 0. A place
// that is derived is a whole column, with values that are derived from the field.
type place struct {
	column, from, to int
	derived          bool
}

// importance evaluates rows whose fields are shuffled, one field after the other.
func (x *Examination) importance(e *examiner, again *rederiver, rows *dataset.Dataset, report *Verdict) error {
	some := rows.Shuffle(x.Seed).Take(mostShuffled)
	batch, err := some.Batch(e.ctx)
	if err != nil {
		return err
	}
	report.Shuffled, _ = some.Len()
	before, err := e.values(some)
	if err != nil {
		return err
	}
	columns := some.Columns()
	fields := x.fields(columns)
	if len(fields) == 0 {
		return fmt.Errorf("train: -importance: the loss of %v compares no prediction with a label, so that its fields "+
			"can't be told from labels", x.Loss)
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names) // the order of shuffles
	for i, name := range names {
		order := rand.New(rand.NewPCG(x.Seed, uint64(i))).Perm(report.Shuffled)
		batch, err := again.derive(e.ctx, batch, name, order)
		if err != nil {
			return err
		}
		values, err := e.values(shuffled(batch, columns, fields[name], order))
		if err != nil {
			return err
		}
		for i := range values {
			values[i] -= before[i]
		}
		report.Fields = append(report.Fields, verdict.Part{Name: name, Rows: report.Shuffled, Values: values})
	}
	slices.SortStableFunc(report.Fields, func(a, b verdict.Part) int { return cmp.Compare(b.Values[0], a.Values[0]) })
	return nil
}

// fields are the places of the inputs of predictions, by the names of columns and of their fields.
func (x *Examination) fields(columns []dataset.Column) map[string][]place {
	fed := map[string]bool{}
	preds := []*nn.Node{x.Loss.Prediction()}
	for _, c := range verdict.Of(x.Loss) {
		preds = append(preds, c.Pred)
	}
	for len(preds) > 0 {
		n := preds[0]
		if preds = preds[1:]; n == nil || fed[n.Name()] {
			continue
		}
		fed[n.Name()] = true
		preds = append(preds, n.Inputs()...)
	}
	all, schema, derived := map[string][]place{}, lined(x.Format).Schema, lined(x.Format).Derived
	for i, c := range columns {
		if !fed[c.Name] {
			continue
		}
		var names []string
		at := slices.IndexFunc(schema, func(s dataset.CSVColumn) bool { return s.Name == c.Name })
		if at >= 0 {
			names = fieldsOf(schema[at])
		}
		if len(names) != 1 { // else the column goes by its field's name
			all[c.Name] = append(all[c.Name], place{column: i})
		}
		from := filesFields(derived, names...)
		mixed := !slices.Equal(from, names)
		for n, field := range from {
			share := c.Width() / len(names)
			if mixed {
				n, share = 0, 0
			}
			all[field] = append(all[field], place{i, n * share, (n + 1) * share, mixed})
		}
	}
	return all
}

// rederiver computes columns with derived fields for rows of which one of the files' fields is shuffled.
type rederiver struct {
	format dataset.JSONLines // of these columns, with fields alone
	fields []string          // of the files
	texts  []func(number int64) string
}

// newRederiver returns a rederiver of columns that the graph needs, nil if there are none, and a format like f that
// reads what it needs too.
func (x *Examination) newRederiver(f dataset.Format) (dataset.Format, *rederiver, error) {
	var r rederiver
	var schema []dataset.CSVColumn
	derived := lined(f).Derived
	for _, c := range lined(f).Schema {
		from := filesFields(derived, fieldsOf(c)...)
		takes := func(in *nn.Node) bool { return in.Name() == c.Name }
		if slices.ContainsFunc(x.Loss.Graph().Inputs(), takes) && !slices.Equal(from, fieldsOf(c)) {
			schema, r.fields = append(schema, c), append(r.fields, from...)
		}
	}
	slices.Sort(r.fields)
	r.fields = slices.Compact(r.fields)
	for _, field := range r.fields {
		if slices.ContainsFunc(derived, func(d dataset.Derived) bool { return d.Name == field }) {
			return nil, nil, fmt.Errorf("train: -importance: %q is a field of the files and a Derived one, and others "+
				"are derived of the former: give the Derived field another name", field)
		}
		g, texts, err := dataset.WithTexts(f, field, "-importance "+field)
		if err != nil {
			return nil, nil, err
		}
		f, r.texts = g, append(r.texts, texts)
	}
	if r.format = lined(f); len(schema) == 0 {
		return f, nil, nil
	}
	r.format.Schema = schema
	return f, &r, nil
}

// derive returns a batch in which columns with derived fields are those of the rows with a field of the rows in order.
func (r *rederiver) derive(ctx context.Context, batch dataset.Batch, shuffled string,
	order []int) (dataset.Batch, error) {
	if r == nil || !slices.Contains(r.fields, shuffled) {
		return batch, nil
	}
	var lines bytes.Buffer
	object := map[string]any{}
	for row, other := range order {
		for i, field := range r.fields {
			from := row
			if field == shuffled {
				from = other
			}
			text := r.texts[i](batch["-importance "+field].Int64s()[from])
			if object[field] = text; text == "true" || text == "false" { // which are numbers too
				object[field] = text == "true"
			}
			if !utf8.ValidString(text) {
				return nil, fmt.Errorf("train: -importance: field %s: %.100q is not UTF-8: write the files as UTF-8",
					field, text)
			}
		}
		if err := json.NewEncoder(&lines).Encode(object); err != nil {
			return nil, err
		}
	}
	derived, err := dataset.FromReader(&lines, "-importance", r.format).Batch(ctx)
	if err != nil {
		return nil, err
	}
	batch = maps.Clone(batch)
	maps.Copy(batch, derived)
	return batch, nil
}

// shuffled is a batch whose values at some places are taken from the rows in order.
func shuffled(batch dataset.Batch, columns []dataset.Column, at []place, order []int) *dataset.Dataset {
	fill := make([]func(row, other int, to dataset.Row), len(columns))
	for i, c := range columns {
		mine := slices.DeleteFunc(slices.Clone(at), func(p place) bool { return p.column != i })
		if slices.ContainsFunc(mine, func(p place) bool { return p.derived }) {
			mine = nil // the batch has them shuffled
		}
		offsets := batch[c.Name+".offsets"]
		switch t := batch[c.Name]; t.Dtype() {
		case tensor.Float32:
			fill[i] = filler(t.Float32s(), offsets, c, mine, dataset.Row.Floats, dataset.Row.AppendFloat, i)
		case tensor.Int64:
			fill[i] = filler(t.Int64s(), offsets, c, mine, dataset.Row.Ints, dataset.Row.AppendInt, i)
		default:
			fill[i] = filler(t.Uint64s(), offsets, c, mine, dataset.Row.IDs, dataset.Row.AppendID, i)
		}
	}
	return dataset.Generate(len(order), func(row int, to dataset.Row) error {
		for _, f := range fill {
			f(row, order[row], to)
		}
		return nil
	}, columns...)
}

// filler fills a column of a row with its values, and the places with another row's.
func filler[T any](v []T, offsets *tensor.Dense, c dataset.Column, at []place, set func(dataset.Row, int) []T,
	add func(dataset.Row, int, T), column int) func(row, other int, to dataset.Row) {
	return func(row, other int, to dataset.Row) {
		if offsets != nil {
			ends := offsets.Int64s()
			if len(at) > 0 {
				row = other
			}
			for _, x := range v[ends[row]:ends[row+1]] {
				add(to, column, x)
			}
			return
		}
		w := c.Width()
		mine := set(to, column)
		copy(mine, v[row*w:(row+1)*w])
		for _, p := range at {
			from, end := p.from, cmp.Or(p.to, w)
			copy(mine[from:end], v[other*w+from:other*w+end])
		}
	}
}
