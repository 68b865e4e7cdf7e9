package train

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/runs"
	"github.com/gofleet/gofleet/nn"
)

// longestSignature bounds what a checkpoint has of the job's rows: of a longer format it has nothing.
const longestSignature = 16 << 10

// signature is that of the job's model: its feeds and the format of the rows. It is {} if that is not known, as of a
// user's own type without a name.
func (j *Job) signature() json.RawMessage {
	of := *j
	if len(of.Outputs) == 0 {
		of.Outputs = []*nn.Node{j.Loss}
	}
	var text, compact bytes.Buffer
	if j.Files.Format == nil || of.model().WriteSignature(&text) != nil || json.Compact(&compact, text.Bytes()) != nil {
		return json.RawMessage("{}")
	}
	return compact.Bytes()
}

// signatureIn is that of the model or checkpoint in a directory. What can't be read is not known: whoever loads the
// weights reports why.
func signatureIn(dir string) (of json.RawMessage) {
	var st state
	var left runs.About
	switch m, err := checkpoint.Read(dir); {
	case err != nil:
		_, of, _ = modelfiles.Heads(dir)
		return of
	case m.Progress != nil:
		_ = json.Unmarshal(m.Progress.User, &st)
		return st.Signature
	}
	text, _ := files.ReadFile(files.Join(files.Dir(dir), runs.File)) // below the output of a job
	_ = json.Unmarshal(text, &left)
	return left.Signature
}

// otherColumns says how the job's columns differ from those of what was saved with a signature, "" if they do not: the
// feeds of its outputs and, with all, the others that the graph takes, such as labels.
func (j *Job) otherColumns(of json.RawMessage, what string, all bool, remedy string) string {
	var s struct {
		Feeds []nn.Value
		Rows  json.RawMessage
	}
	if json.Unmarshal(of, &s) != nil || j.Files.Format == nil {
		return ""
	}
	saved, err := dataset.ReadFormat(s.Rows)
	if err != nil { // there is none, or this program does not know its type
		return ""
	}
	then, now := j.meanings(saved), j.meanings(j.Files.Format)
	var apart []string
	for _, name := range slices.Sorted(maps.Keys(then)) {
		n, has := now[name]
		feeds := slices.ContainsFunc(s.Feeds, func(v nn.Value) bool { return v.Name == name })
		takes := func(in *nn.Node) bool { return in.Name() == name }
		switch {
		case feeds && !has:
			apart = append(apart, fmt.Sprintf("column %q is missing here", name))
		case feeds, has && all && slices.ContainsFunc(j.Loss.Graph().Inputs(), takes):
			apart = append(apart, then[name].apart(n)...)
		}
	}
	if n := len(apart); n > 4 {
		apart = append(apart[:3], fmt.Sprintf("and %d more differences", n-3))
	} else if n == 0 {
		return ""
	}
	return fmt.Sprintf("train: %s was saved with other columns than this program has: %s: give the program the "+
		"columns that were trained, or %s", what, strings.Join(apart, "; "), remedy)
}

// meaning is all that decides the values of a column: every option of CSVColumn, the fields that its own are derived
// from, and the options of a format that has no fields. Without Fields only the type of values is known.
type meaning struct {
	dataset.CSVColumn
	Derived []dataset.Derived
	Format  string
}

// meanings are those of a format's columns, by name. The other options of formats are of reading: how a file is divided
// into fields, and which texts are missing values in it, may be different in other files.
func (j *Job) meanings(f dataset.Format) map[string]meaning {
	if of, is := reflect.Indirect(reflect.ValueOf(f)).Interface().(dataset.Format); is {
		f = of // not its pointer
	}
	lines, whole, slots := lined(Files{Format: f}.withLabels(j.Loss).Format), "", []dataset.SlotColumn(nil)
	switch f := f.(type) {
	case dataset.SlotText:
		slots = f.Slots
	case dataset.MultiSlot:
		slots = f.Slots
	case dataset.LibSVM:
		f.Groups = false // a column more, and no other values
		whole = fmt.Sprintf("%+v", f)
	case dataset.Criteo:
		f.Height = cmp.Or(f.Height, 1_000_001)
		whole = fmt.Sprintf("%+v", f)
	}
	for _, c := range slots {
		lines.Schema = append(lines.Schema, dataset.CSVColumn{Column: c.Column, Fields: c.Slots})
	}
	all := map[string]meaning{}
	columns, _ := f.Columns()
	for i, c := range columns {
		m := meaning{CSVColumn: dataset.CSVColumn{Column: c}, Format: whole}
		if len(lines.Schema) > 0 {
			m.CSVColumn = lines.Schema[i]
			m.Fields = fieldsOf(m.CSVColumn)
			m.Derived = derivedFor(lines.Derived, m.Fields)
		}
		if len(m.Scale) == 0 {
			m.Scale = []dataset.Scaling{{}}
		}
		m.Shape, m.Scale = []int{c.Width()}, slices.Repeat(m.Scale, max(c.Width(), 1)/len(m.Scale))
		all[c.Name] = m
	}
	return all
}

// derivedFor are the derived fields among names, after those that they are made of.
func derivedFor(all []dataset.Derived, names []string) (needed []dataset.Derived) {
	for _, name := range names {
		if i := slices.IndexFunc(all, func(d dataset.Derived) bool { return d.Name == name }); i >= 0 {
			needed = append(append(needed, derivedFor(all[:i], all[i].From)...), all[i])
		}
	}
	return needed
}

// apart are the differences of a column from what it is now, nil if there are none.
func (m meaning) apart(now meaning) (all []string) {
	if m.Fields == nil || now.Fields == nil {
		m = meaning{CSVColumn: dataset.CSVColumn{Column: m.Column}, Format: m.Format}
		now = meaning{CSVColumn: dataset.CSVColumn{Column: now.Column}, Format: now.Format}
	}
	for _, option := range reflect.VisibleFields(reflect.TypeFor[meaning]()) {
		text := func(m meaning) string {
			if option.Type.Kind() == reflect.String {
				return fmt.Sprintf("%q", reflect.ValueOf(m).FieldByIndex(option.Index))
			}
			return fmt.Sprintf("%+v", reflect.ValueOf(m).FieldByIndex(option.Index))
		}
		switch name, then, here := option.Name, text(m), text(now); {
		case then == here || option.Anonymous || !option.IsExported():
		case (name == "Missing" || name == "Format") && (then == `""` || here == `""`):
		case name == "Scale" && slices.EqualFunc(m.Scale, now.Scale, alike):
		default:
			at, cut := 0, ""
			for at < min(len(then), len(here)) && then[at] == here[at] {
				at++
			}
			if at = strings.LastIndexByte(then[:max(at-60, 0)], ' ') + 1; at > 0 {
				cut = "… "
			}
			all = append(all, fmt.Sprintf("column %q had %s %s%.120s and has %[3]s%.120[5]s", m.Name, name, cut,
				then[at:], here[at:]))
		}
	}
	return all
}

// alike reports whether two scalings differ by less than a tenth of a deviation, as those of a day's rows do from the
// next day's, and those of other numbers of workers by less.
func alike(a, b dataset.Scaling) bool {
	least, most := min(cmp.Or(a.Std, 1), cmp.Or(b.Std, 1)), max(cmp.Or(a.Std, 1), cmp.Or(b.Std, 1))
	return a.Log1p == b.Log1p && most <= 1.1*least && math.Abs(a.Mean-b.Mean) <= least/10
}
