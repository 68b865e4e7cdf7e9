package train

import (
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train/internal/check"
	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/nn"
)

// mostLines bounds the lines whose texts are looked at, and mostTexts the texts.
const mostLines, mostTexts = 100_000, 2_000_000

// texts are the fields of the job's files of which inputs are made, and rows with the numbers of their texts; none of
// files that can be read only once, such as a pipe, or that have more bytes than most together, or lie in a store then.
func (j *Job) texts(most int64) (fields []check.Field, rows *dataset.Dataset, err error) {
	paths, err := listed(j.Files.Paths)
	left := most
	unread := func(path string) bool {
		if most < math.MaxInt64 && files.IsURL(path) {
			return true
		}
		st, err := files.Stat(path)
		if err != nil || !st.Mode().IsRegular() {
			return true
		}
		left -= st.Size()
		return left < 0
	}
	if err != nil || slices.ContainsFunc(paths, unread) {
		return nil, nil, err
	}
	lines := lined(j.Files.Format)
	for _, c := range lines.Schema {
		is := func(name string) bool { return name == c.Name }
		label := slices.ContainsFunc(verdict.Aims(j.Loss), func(a verdict.Aim) bool { return is(a.Label.Name()) })
		own := fieldsOf(c)
		if label || c.Varying || len(own) != c.Width() ||
			!slices.ContainsFunc(j.Loss.Graph().Inputs(), func(in *nn.Node) bool { return is(in.Name()) }) {
			continue
		}
		for _, name := range append(filesFields(lines.Derived, own...), own...) {
			at := slices.IndexFunc(fields, func(f check.Field) bool { return f.Name == name })
			if at < 0 {
				at = len(fields)
				fields = append(fields, check.Field{Name: name, Missing: lines.NAs, Hash: map[string]int64{}})
			}
			if f := &fields[at]; slices.Contains(own, name) && !slices.Contains(f.Feeds, c.Name) {
				derived := slices.ContainsFunc(lines.Derived, func(d dataset.Derived) bool { return d.Name == name })
				f.Feeds = append(f.Feeds, c.Name)
				f.ID = f.ID || c.Type != tensor.Float32 && c.Values == nil && !derived
				if f.Values = f.Values || c.HashNumbers; c.Hash > 0 {
					f.Hash[c.Name] = c.Hash
				}
			}
		}
	}
	if len(fields) == 0 {
		return nil, nil, nil
	}
	format, columns := j.Files.Format, make([]string, len(fields))
	for i := range fields {
		f := &fields[i]
		f.Column = "text of " + f.Name
		if format, f.Text, err = dataset.WithTexts(format, f.Name, f.Column); err != nil {
			return nil, nil, err
		}
		columns[i] = f.Column
	}
	rows = dataset.FromFiles(format, paths...).Select(columns...)
	return fields, rows.Take(min(mostLines, mostTexts/len(fields))), nil
}
