package dataset

import (
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/tokens"
)

// FromStructs makes a dataset of structs, which are copied. A field with a tag is a feed, or a part of one:
//
//	type Flight struct {
//		Distance float32  `feed:"dense"`                            // float32 [N 2], with
//		Temp     float64  `feed:"dense"`                            // the next field beside it
//		Carrier  string   `feed:"C,hash=1000001"`                   // int64 [N 2]: HashID("Carrier", …)
//		Dest     string   `feed:"C,hash=1000001,field=destination"` // and HashID("destination", …)
//		Words    []uint64 `feed:"words"`                            // any number of ids: a varying column
//		Late     bool     `feed:"late"`                             // float32 [N 1], 0 or 1
//	}
//
//	feed, err := dataset.FromStructs(flights).Batch(ctx)
//
// Fields of floats and bools are float32, of integers int64, of unsigned integers uint64; arrays are samples of their
// shape, slices have any number of values. After the feed's name, which is the field's where it is empty, a tag may
// have
//
//	float        integers as float32
//	hash=N       text as an id: HashID(name, text, N), where name is the field's
//	field=NAME   another name to hash with, as in the file that the model was trained on ([Schema])
//	shape=1x28   every slice has these values, and is a sample of this shape
//
// Fields of an embedded struct count as fields of the struct. Fields without a tag are ignored.
func FromStructs[T any](rows []T) *Dataset {
	l, err := layoutOf(reflect.TypeFor[T]())
	t := newTable(l.columns)
	t.reserve(len(rows))
	for i := 0; err == nil && i < len(rows); i++ {
		if err = t.Add(func(row Row) error { return l.fill(row, reflect.ValueOf(&rows[i]).Elem()) }); err != nil {
			err = fmt.Errorf("dataset: row %d: %w", i, err)
		}
	}
	d := FromTable(t)
	if err != nil {
		d.err = err
	}
	return d
}

// FromSeq makes a dataset of the structs that seq yields, with tags as in [FromStructs]; their number need not be
// known. Each pass ranges over seq anew. An error from seq ends the pass.
//
//	rows := dataset.FromSeq(func(yield func(Flight, error) bool) {
//		for lines := bufio.NewScanner(file); lines.Scan(); {
//			if !yield(parse(lines.Text())) {
//				return
//			}
//		}
//	})
func FromSeq[T any](seq iter.Seq2[T, error]) *Dataset {
	l, err := layoutOf(reflect.TypeFor[T]())
	d := New(&sequence[T]{l, seq})
	if err != nil {
		d.err = err
	}
	return d
}

// Schema returns the schema for reading such structs from files, for [CSV], [JSONLines] and package dataset/parquet, so
// that files and structs give the same rows. A field in the file has the struct field's name, or the name in its tag
// (field=NAME).
//
//	schema, err := dataset.Schema[Flight]()
//	rows := dataset.FromFiles(dataset.CSV{Schema: schema}, "flights.csv")
//
// Options that are set in the schema afterwards, such as Scale, apply only to rows of files.
func Schema[T any]() ([]CSVColumn, error) {
	l, err := layoutOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	schema := make([]CSVColumn, len(l.columns))
	first := map[int]*structField{} // of each column
	for i := range l.fields {
		f := &l.fields[i]
		if first[f.column] == nil {
			first[f.column] = f
		}
		if old := first[f.column]; f.size != old.size || f.hash.Height != old.hash.Height {
			return nil, fmt.Errorf("%w %q: fields %s and %s differ in their hash, or in how many values they have, "+
				"which no file's may", ErrColumn, l.columns[f.column].Name, old.name, f.name)
		}
		c := &schema[f.column]
		c.Column, c.Hash, c.Fields = l.columns[f.column], f.hash.Height, append(c.Fields, f.field)
	}
	return schema, nil
}

// sequence is a source of structs that are yielded one after the other.
type sequence[T any] struct {
	*structLayout
	seq iter.Seq2[T, error]
}

func (s *sequence[T]) Columns() []Column { return s.columns }

func (s *sequence[T]) Open(int) (Reader, error) {
	next, stop := iter.Pull2(s.seq)
	return &sequenceReader[T]{layout: s.structLayout, next: next, stop: stop}, nil
}

type sequenceReader[T any] struct {
	layout *structLayout
	next   func() (T, error, bool)
	stop   func()
	number int
	sample T
}

func (r *sequenceReader[T]) Read(t *Table, n int) (int, error) {
	before := t.Len()
	for t.Len()-before < n {
		sample, err, more := r.next()
		if !more {
			break
		}
		r.sample = sample
		if err == nil {
			t.next = originOf(0, r.number+1)
			err = t.Add(func(row Row) error { return r.layout.fill(row, reflect.ValueOf(&r.sample).Elem()) })
		}
		if err != nil {
			return t.Len() - before, fmt.Errorf("dataset: sample %d: %w", r.number, err)
		}
		r.number++
	}
	return endOr(t.Len() - before)
}

func (r *sequenceReader[T]) Close() error {
	r.stop()
	return nil
}

// structLayout is the mapping of a struct's fields to columns.
type structLayout struct {
	columns []Column
	fields  []structField
}

// structField is a field with a tag.
type structField struct {
	name   string
	field  string // its name in files
	index  []int  // of the field, as in package reflect
	column int
	at     int           // its first value in the row
	size   int           // number of its values; 0 means any number
	kind   kind          // of the column
	hash   tokens.Hasher // height 0: a number
}

// layoutOf reads the tags of a struct.
func layoutOf(of reflect.Type) (*structLayout, error) {
	l := &structLayout{}
	if of.Kind() != reflect.Struct {
		return l, fmt.Errorf(`%w: rows are %v: want a struct whose fields have tags such as feed:"label"`, ErrColumn,
			of)
	}
	for _, f := range reflect.VisibleFields(of) {
		tag, tagged := f.Tag.Lookup(tagKey)
		if !tagged || tag == "-" {
			continue
		}
		if err := l.add(f, tag); err != nil {
			return l, fmt.Errorf("%w: field %s of %v, with the tag %s:%q: %w", ErrColumn, f.Name, of, tagKey, tag, err)
		}
	}
	if len(l.columns) == 0 {
		return l, fmt.Errorf(`%w: no field of %v has a tag such as feed:"label"`, ErrColumn, of)
	}
	return l, checkColumns(l.columns)
}

const tagKey = "feed"

// add makes a column for a field, or gives it the next places of the column that earlier fields have begun.
func (l *structLayout) add(of reflect.StructField, tag string) error {
	o, err := parseTag(of, tag)
	if err != nil {
		return err
	}
	f, c, err := o.field(of)
	if err != nil {
		return err
	}
	f.column = slices.IndexFunc(l.columns, func(old Column) bool { return old.Name == c.Name })
	if f.column < 0 {
		f.column = len(l.columns)
		l.columns = append(l.columns, c)
	} else if err := f.join(&l.columns[f.column], c); err != nil {
		return err
	}
	l.fields = append(l.fields, f)
	return nil
}

// join appends the field's values to the column's.
func (f *structField) join(old *Column, c Column) error {
	switch {
	case old.Type != c.Type:
		return fmt.Errorf("it is %v, and fields before it made the feed %v", c.Type, old.Type)
	case old.Varying || c.Varying || len(old.Shape) > 1 || len(c.Shape) > 1:
		return fmt.Errorf("it can't stand beside a field before it: one of the two has several dimensions, or any " +
			"number of values")
	}
	f.at = old.Width()
	old.Shape = []int{old.Width() + c.Width()}
	return nil
}

// field returns the field with its place in a column of its own.
func (o tagOptions) field(of reflect.StructField) (structField, Column, error) {
	c := Column{Name: o.name}
	element := of.Type
	for element.Kind() == reflect.Array || element.Kind() == reflect.Slice {
		if c.Varying {
			return structField{}, c, fmt.Errorf("slices of slices have no shape")
		}
		if c.Varying = element.Kind() == reflect.Slice; !c.Varying {
			c.Shape = append(c.Shape, element.Len())
		}
		element = element.Elem()
	}
	if c.Varying && (c.Shape != nil || o.shape != nil) || o.shape != nil {
		if !c.Varying || c.Shape != nil {
			return structField{}, c, fmt.Errorf("a shape is for a slice, and the field is %v", of.Type)
		}
		c.Varying, c.Shape = false, o.shape
	}
	k, err := o.kind(element)
	if err != nil {
		return structField{}, c, err
	}
	c.Type = k.dtype()
	f := structField{name: of.Name, field: o.hashed, index: of.Index, size: c.Width(), kind: k}
	if o.hash > 0 {
		f.hash = tokens.NewHasher(o.hashed, o.hash)
	}
	return f, c, c.check()
}

// kind returns the kind of a column for values of the type.
func (o tagOptions) kind(of reflect.Type) (kind, error) {
	k := of.Kind()
	numeric := k == reflect.Bool || k != reflect.String && of.ConvertibleTo(reflect.TypeFor[float32]())
	switch {
	case (k == reflect.String) != (o.hash > 0):
		return 0, fmt.Errorf("a field of text wants hash=N, the number of its ids, and others want none: it is %v", of)
	case k == reflect.String:
		return intKind, nil
	case o.float && numeric, k == reflect.Float32, k == reflect.Float64, k == reflect.Bool:
		return floatKind, nil
	case k >= reflect.Int && k <= reflect.Int64:
		return intKind, nil
	case k >= reflect.Uint && k <= reflect.Uint64:
		return idKind, nil
	}
	return 0, fmt.Errorf("no feed holds %v: want numbers, a bool or a string, or arrays or slices of them", of)
}

// fill sets a row from a struct.
func (l *structLayout) fill(row Row, v reflect.Value) error {
	for i := range l.fields {
		f := &l.fields[i]
		field, err := v.FieldByIndexErr(f.index)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.name, err)
		}
		end, err := f.put(row, f.at, field)
		if err == nil && f.size > 0 && end != f.at+f.size {
			err = fmt.Errorf("field %s has %d values, want %d", f.name, end-f.at, f.size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// put sets the row's values from at on, or appends them to a varying column, and returns the next place.
func (f *structField) put(row Row, at int, v reflect.Value) (next int, err error) {
	if k := v.Kind(); k == reflect.Array || k == reflect.Slice {
		if f.size > 0 && at+v.Len() > f.at+f.size {
			return at, fmt.Errorf("field %s has %d values, want %d", f.name, v.Len(), f.size)
		}
		for i := 0; err == nil && i < v.Len(); i++ {
			at, err = f.put(row, at, v.Index(i))
		}
		return at, err
	}
	to := at
	if f.size == 0 {
		to = appended
	}
	switch f.kind {
	case floatKind:
		x := number(v)
		if v.CanFloat() && math.IsInf(float64(x), 0) && !math.IsInf(v.Float(), 0) {
			return at, fmt.Errorf("field %s is %v: want %s", f.name, v.Float(), wantFloat32)
		}
		place(row, f.column, to, x)
	case idKind:
		place(row, f.column, to, v.Uint())
	default:
		place(row, f.column, to, f.id(v))
	}
	return at + 1, nil
}

// number converts a number or a bool to float32.
func number(v reflect.Value) float32 {
	switch {
	case v.CanFloat():
		return float32(v.Float())
	case v.CanInt():
		return float32(v.Int())
	case v.CanUint():
		return float32(v.Uint())
	case v.Bool():
		return 1
	}
	return 0
}

// id returns an integer, or the id of a text.
func (f *structField) id(v reflect.Value) int64 {
	if f.hash.Height > 0 {
		return f.hash.ID([]byte(v.String()))
	}
	return v.Int()
}

// tagOptions is the content of a tag.
type tagOptions struct {
	name   string
	hashed string // the name to hash with
	hash   int64
	float  bool
	shape  []int
}

func parseTag(of reflect.StructField, tag string) (o tagOptions, err error) {
	if !of.IsExported() {
		return o, fmt.Errorf("it is not exported")
	}
	name, rest, _ := strings.Cut(tag, ",")
	o.name, o.hashed = name, of.Name
	if name == "" {
		o.name = of.Name
	}
	for rest != "" && err == nil {
		var option string
		option, rest, _ = strings.Cut(rest, ",")
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "float":
			o.float = true
		case "field":
			o.hashed = value
		case "hash":
			o.hash, err = strconv.ParseInt(value, 10, 64)
			if err != nil || o.hash < 1 {
				err = fmt.Errorf("hash is %q: want the number of ids, 1 or more", value)
			}
		case "shape":
			o.shape, err = parseShape(value)
		default:
			err = fmt.Errorf("unknown option %q; want float, hash=N, field=NAME or shape=AxB", option)
		}
	}
	return o, err
}

// parseShape parses 1x28x28.
func parseShape(text string) (shape []int, err error) {
	for d := range strings.SplitSeq(text, "x") {
		n, err := strconv.Atoi(d)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("shape is %q: want dimensions such as 1x28x28", text)
		}
		shape = append(shape, n)
	}
	return shape, nil
}
