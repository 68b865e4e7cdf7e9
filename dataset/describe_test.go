package dataset

import (
	"encoding"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	local "github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/law"
)

// TestEveryFormatIsDescribed: each exported type of the package with a method NewParser has a name in descriptions, and each of its
// options, set to something, is there again when the description is read.
//
// Promise: [G13] every format is described with all its options, or refused
// Also: TestDescriptionsAreFrozen, TestDescriptionsRefused, TestFormatsOfUsers
func TestEveryFormatIsDescribed(t *testing.T) {
	names := formatTypes(t)
	if len(names) < 4 {
		t.Errorf("only %q found: the test does not see the package", names)
	}
	for _, name := range names {
		if !slices.ContainsFunc(slices.Collect(maps.Values(formats.of)), func(f reflect.Type) bool { return f.Name() == name }) {
			t.Errorf("%s has no line in formats: no saved model could name it", name)
		}
	}
	for name, f := range formats.of {
		want := reflect.New(f).Elem()
		fill(t, want)
		options, err := optionsOf(want)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := reflect.New(f).Elem()
		if err := readOption(got, options); err != nil || !reflect.DeepEqual(got.Interface(), want.Interface()) {
			t.Errorf("%s: %v\nread: %+v\nwant: %+v", name, err, got, want)
		}
	}
}

// TestEveryFormatIsLinewise: no format of this package is forgotten where files are loaded by several goroutines, and one
// of a user is parsed by several if it says so.
func TestEveryFormatIsLinewise(t *testing.T) {
	whole := local.ToLoad(t.Context())
	threads := func(f Format) int { return (&Files{Format: f}).threads(whole) }
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for _, name := range formatTypes(t) {
		var f reflect.Type
		for _, is := range formats.of {
			if is.Name() == name {
				f = is
			}
		}
		if n := threads(reflect.New(f).Elem().Interface().(Format)); n != 3 {
			t.Errorf("%s is loaded by %d goroutines, want 3: does linewise name it?", name, n)
		}
	}
	if n := threads(xFormat{}); n != 1 {
		t.Errorf("a format that says nothing is loaded by %d goroutines", n)
	}
	if n := threads(linewiseX{}); n != 3 {
		t.Errorf("a user's format that is linewise is loaded by %d goroutines", n)
	}
}

type linewiseX struct{ xFormat }

func (linewiseX) Linewise() bool { return true }

// formatTypes are the exported types of this package that have a method NewParser.
func formatTypes(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	law.Check(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		law.Check(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "NewParser" {
				on := f.Recv.List[0].Type
				if star, ok := on.(*ast.StarExpr); ok {
					on = star.X
				}
				if of := on.(*ast.Ident); of.IsExported() {
					names = append(names, of.Name)
				}
			}
		}
	}
	return names
}

// fill sets every exported field below v to something that is not zero.
func fill(t *testing.T, v reflect.Value) {
	switch {
	case v.Type() == typeOfTypes:
		v.Set(reflect.ValueOf(tensor.Uint64))
		return
	case v.Type().Implements(textType):
		for n := int64(1); v.CanInt(); n++ {
			if v.SetInt(n); isText(v) {
				return
			}
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0))
		fill(t, v.Index(1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.String:
		v.SetString("x ü\"\n")
	case reflect.Bool:
		v.SetBool(true)
	default:
		switch {
		case v.CanInt():
			v.SetInt(7)
		case v.CanUint():
			v.SetUint(1<<(v.Type().Bits()-1) + 1)
		case v.CanFloat():
			v.SetFloat(float64(float32(0.1)))
		default:
			t.Fatalf("a %v can't be filled in, nor be described", v.Type())
		}
	}
}

func isText(v reflect.Value) bool {
	_, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	return err == nil
}

// TestDescriptionsAreFrozen: what a saved model says of its rows keeps its meaning.
func TestDescriptionsAreFrozen(t *testing.T) {
	for text, want := range map[string]Format{
		`{"name":"criteo"}`: Criteo{},
		`{"name":"criteo","options":{"Dense":"log1p","Height":1000}}`: Criteo{Dense: Log1p, Height: 1000},
		`{"name":"csv","options":{"Comma":59,"Fields":["x","n"],"NA":"NA","Schema":[{"Column":{"Name":"n","Type":"int64"},"Hash":10},` +
			`{"Column":{"Name":"xs","Shape":[1],"Type":"float32"},"Fields":["x"],"Missing":"0"}]},"ids":1}`: CSV{Comma: ';', Fields: []string{"x", "n"}, NA: "NA",
			Schema: []CSVColumn{{Column: Ints("n"), Hash: 10}, {Column: Floats("xs", 1), Fields: []string{"x"}, Missing: "0"}}},
		`{"name":"csv","options":{"Schema":[{"Column":{"Name":"x","Shape":[2],"Type":"float32"},"Fields":["a","b"],` +
			`"Scale":[{},{"Log1p":true,"Mean":0.1,"Std":1e-20}]}]}}`: CSV{Schema: []CSVColumn{{Column: Floats("x", 2), Fields: []string{"a", "b"},
			Scale: []Scaling{{}, {Log1p: true, Mean: .1, Std: 1e-20}}}}},
		`{"name":"slot_text","options":{"Pad":true,"Slots":[{"Column":{"Name":"u","Type":"uint64","Varying":true}}]}}`: SlotText{Pad: true,
			Slots: []SlotColumn{{Column: Varying(IDs("u"))}}},
		`{"name":"multi_slot","options":{"Order":["b","a"],"Slots":[{"Column":{"Name":"a","Type":"int64"},"Slots":["a"]}]}}`: MultiSlot{
			Order: []string{"b", "a"}, Slots: []SlotColumn{{Ints("a"), []string{"a"}}}},
	} {
		if got, err := DescribeFormat(want); err != nil || string(got) != text {
			t.Errorf("%v is described as\n%s, %v, want\n%s", want, got, err, text)
		}
		if got, err := ReadFormat([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestDescriptionsOfOtherRules: a format whose ids are made by another rule is refused with both.
func TestDescriptionsOfOtherRules(t *testing.T) {
	for name, says := range map[string]string{`,"ids":2}`: "made by rule 2", `}`: "made by rule 0", `,"ids":1}`: ""} {
		text := `{"name":"csv","options":{"Schema":[{"Column":{"Name":"n","Type":"int64"},"Hash":10}]}` + name
		_, err := ReadFormat([]byte(text))
		if says == "" && err != nil || says != "" && (!errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), says+", and this version makes them by rule 1")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

type (
	ownFormat     struct{ Scale float32 }
	closedFormat  struct{ scale float32 }
	funcFormat    struct{ Scale func(float32) float32 }
	pointerFormat struct{ Names []string }
)

func (ownFormat) Columns() ([]Column, error)      { return []Column{Floats("x")}, nil }
func (ownFormat) NewParser() (Parser, error)      { return xFormat{}, nil }
func (closedFormat) Columns() ([]Column, error)   { return []Column{Floats("x")}, nil }
func (closedFormat) NewParser() (Parser, error)   { return xFormat{}, nil }
func (funcFormat) Columns() ([]Column, error)     { return []Column{Floats("x")}, nil }
func (funcFormat) NewParser() (Parser, error)     { return xFormat{}, nil }
func (*pointerFormat) Columns() ([]Column, error) { return []Column{Floats("x")}, nil }
func (*pointerFormat) NewParser() (Parser, error) { return xFormat{}, nil }

// TestFormatsOfUsers: a format of one's own is described by the name that it was given, and refused where that would lose something.
func TestFormatsOfUsers(t *testing.T) {
	_, err := DescribeFormat(ownFormat{2})
	wantMessage(t, "no name", err, ErrFormat, "dataset.RegisterFormat[dataset.ownFormat]")
	before := formats.of
	formats.of = map[string]reflect.Type{"csv": reflect.TypeFor[CSV]()}
	defer func() { formats.of = before }()
	if err := errors.Join(RegisterFormat[ownFormat]("own"), RegisterFormat[closedFormat]("closed"), RegisterFormat[funcFormat]("func"),
		RegisterFormat[*pointerFormat]("pointer"), RegisterFormat[ownFormat]("own")); err != nil {
		t.Fatal(err)
	}
	for _, f := range []Format{ownFormat{2}, &pointerFormat{[]string{"a"}}, closedFormat{}} {
		data, err := DescribeFormat(f)
		if err != nil {
			t.Errorf("%T: %v", f, err)
		}
		if got, err := ReadFormat(data); err != nil || !reflect.DeepEqual(got, f) {
			t.Errorf("%T: read %v, %v, want %v", f, got, err, f)
		}
	}
	if data, err := DescribeFormat(&CSV{Schema: []CSVColumn{{Column: Floats("x")}}}); err != nil || !strings.Contains(string(data), `"csv"`) {
		t.Errorf("a pointer to a format: %s, %v", data, err)
	}
	_, err = DescribeFormat(closedFormat{3})
	wantMessage(t, "closed", err, ErrFormat, "export them")
	_, err = DescribeFormat(funcFormat{func(x float32) float32 { return x }})
	wantMessage(t, "func", err, ErrFormat, "Scale: a func(float32) float32 can't be described")
	_, err = DescribeFormat(CSV{NA: "\xe9", Schema: []CSVColumn{{Column: Floats("x")}}})
	wantMessage(t, "no UTF-8", err, ErrFormat, `NA: "\xe9" is not UTF-8`)
	_, err = DescribeFormat(CSV{})
	wantMessage(t, "wrong options", err, ErrColumn, "")
	_, err = DescribeFormat(nil)
	wantMessage(t, "nil", err, ErrFormat, "")
	_, err = DescribeFormat((*CSV)(nil))
	wantMessage(t, "nil pointer", err, ErrFormat, "")
	wantMessage(t, "taken", RegisterFormat[closedFormat]("own"), ErrFormat, "take another")
	wantMessage(t, "empty", RegisterFormat[closedFormat](""), ErrFormat, "take another")
}

// TestDescriptionsRefused: a description that this version can't follow to the letter is refused.
func TestDescriptionsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                      "can't be read",
		`{"name":"parquet"}`:                     `"parquet" is not known here`,
		`{"name":"criteo","options":{"Salt":1}}`: "unknown option Salt",
		`{"name":"criteo","options":{"Dense":"cubic"}}`:                               "cubic",
		`{"name":"criteo","options":{"Height":-1}}`:                                   "Criteo.Height is -1",
		`{"name":"csv","options":{"Schema":[{"Column":{"Name":"x","Type":"int8"}}]}}`: `Schema: [0]: Column: Type: type "int8" is not known`,
		`{"name":"csv","options":{"Schema":7}}`:                                       "Schema",
	} {
		_, err := ReadFormat([]byte(text))
		wantMessage(t, text, err, ErrFormat, want)
	}
}

func wantMessage(t *testing.T, what string, err, is error, want string) {
	t.Helper()
	if !errors.Is(err, is) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want %v with %q", what, err, is, want)
	}
}

// TestDecoderReadsAsFilesAreRead: lines in a request become what they become in a file, with a header or without.
func TestDecoderReadsAsFilesAreRead(t *testing.T) {
	header := CSV{Schema: []CSVColumn{{Column: Floats("y")}, {Column: Ints("c"), Hash: 100}}}
	for _, c := range []struct {
		format Format
		text   string
	}{
		{Criteo{}, criteoLine("1", []string{"10", "-3", "", "25"}, []string{"68fd1e64", ""}) + criteoLine("0", nil, nil)},
		{SlotText{Slots: someSlots}, "a:1 b:2 xs:0.5 xs:1 xs:-2e3 many:7 many:8\nmany:9 xs:1 other:z xs:2\txs:3  b:4 a:3\n"},
		{MultiSlot{Slots: someSlots}, "1 4 1 5 3 1 2 3 2 7 8\n1 -4 1 +5  3 1 .5 3. 1 9223372036854775807 \r\n"},
		{someCSV, "\n\nann,1,z,2\r\n\"a,\"\"n\",NA,,-3\n,,,4"},
		{CSV{Comment: '#', Multiline: true, Trim: true, Schema: header.Schema, NAs: UsualNAs(), Missing: "7"},
			"# made by hand\ny , c\n1,\"two\nlines\n\n#\"\n#3,x\n null ,\"y\"\n\n"},
		{header, "\xef\xbb\xbfc,\"y\",z\nann,2,3\n,-1,"},
	} {
		restored, err := DescribeFormat(c.format)
		law.Check(t, err)
		format, err := ReadFormat(restored)
		law.Check(t, err)
		d, err := NewDecoder(format)
		law.Check(t, err)
		want := ""
		for batch, err := range FromReader(strings.NewReader(c.text), "text", c.format).Batches(100) {
			law.Check(t, err)
			want = rowText(batch)
		}
		for range 3 {
			if _, err := d.Decode([]byte("\xff\xff,")); err == nil {
				t.Errorf("%T: nonsense is a row", c.format)
			}
			batch, err := d.Decode([]byte(c.text))
			if err != nil {
				t.Fatalf("%T: %v", c.format, err)
			}
			if diff := cmp.Diff(want, rowText(batch)); diff != "" {
				t.Errorf("%T: %s", c.format, diff)
			}
		}
	}
}

// TestDecoderAsksForNoLabel: lines that are to be scored need nothing that only other columns are made of.
func TestDecoderAsksForNoLabel(t *testing.T) {
	csv := CSV{Schema: []CSVColumn{{Column: Floats("x")}, {Column: Floats("label")}}}
	for text, format := range map[string]Format{
		"x\n2.5":     csv,
		"2.5,":       CSV{Fields: []string{"x", "label"}, Schema: csv.Schema},
		"x:2.5":      SlotText{Slots: []SlotColumn{{Column: Floats("x")}, {Column: Floats("label")}}},
		"1 0 1 2.5 ": MultiSlot{Slots: []SlotColumn{{Column: Floats("label")}, {Column: Floats("x")}}},
	} {
		d, err := NewDecoder(format, "x")
		law.Check(t, err)
		batch, err := d.Decode([]byte(text))
		if err != nil || len(batch) != 1 || batch["x"].Float32s()[0] != 2.5 {
			t.Errorf("%T: %v, %v", format, batch, err)
		}
	}
	if _, err := NewDecoder(csv, "x", "y"); !errors.Is(err, ErrColumn) || !strings.Contains(err.Error(), `"y"`) {
		t.Errorf("a column that is not there: %v", err)
	}
	if _, err := NewDecoder(nil); !errors.Is(err, ErrOption) {
		t.Errorf("no format: %v", err)
	}
}

// TestDecoderNamesTheLine: what is wrong is told with the line of the text, and the next text is read as if nothing had been.
func TestDecoderNamesTheLine(t *testing.T) {
	d, err := NewDecoder(someCSV)
	law.Check(t, err)
	for text, want := range map[string]string{
		"ann,1,z,2\n\nann,one,z,2":     `dataset: bad line: text:3: field x: want a number, got "one"`,
		"":                             "only empty lines",
		"\r\n\n":                       "only empty lines",
		strings.Repeat("x", maxLine+1): "longer than",
	} {
		if _, err := d.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	text := []byte("ann,1,z,2\n\nbob,2,,3")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := d.Decode(text); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a text", n)
	}
	if place := d.slot.table.Place(1); place != "text:3" {
		t.Errorf("the second row is at %s", place)
	}
}

// FuzzReadFormat: whatever a model says of its rows, it is refused, or is a format that is described as it was read, and reads any text.
//
// Promise: [G7] no description of a format panics its reader, or makes it allocate more than its bound
func FuzzReadFormat(f *testing.F) {
	for _, format := range []Format{Criteo{Dense: Log1p, Height: 9}, someCSV, SlotText{Slots: someSlots, Pad: true}, MultiSlot{Slots: someSlots}} {
		data, err := DescribeFormat(format)
		law.Check(f, err)
		f.Add(data, []byte("ann,1,z,2\n1 4 1 5 3 1 2 3 2 7 8\na:1 b:2 xs:0.5"))
	}
	f.Fuzz(func(t *testing.T, data, text []byte) {
		format, err := ReadFormat(data)
		if err != nil {
			return
		}
		again, err := DescribeFormat(format)
		if err != nil {
			t.Fatalf("%s is read and not described: %v", data, err)
		}
		if same, err := ReadFormat(again); err != nil || !reflect.DeepEqual(same, format) {
			t.Fatalf("%s: %v, %v, want %v", again, same, err, format)
		}
		columns, _ := format.Columns()
		for _, c := range columns {
			if c.Width() > 1000 || c.Width() < 0 {
				return
			}
		}
		d, err := NewDecoder(format)
		law.Check(t, err)
		_, _ = d.Decode(text)
	})
}

// TestDecoderReadsEveryDialect: comments, rows of several lines and JSON are the rows that they are in files, each named by its line.
func TestDecoderReadsEveryDialect(t *testing.T) {
	schema := []CSVColumn{{Column: Ints("word"), Hash: 1 << 30}, {Column: Floats("late")}}
	for name, c := range map[string]struct {
		format Format
		text   string
		want   string
		place  string
	}{
		"csv":  {CSV{Comment: '#', Multiline: true, Schema: schema}, "# a\nword\n\n\"a\r\nb\"\n#\nc\n", "a\nb", "text:4 text:7"},
		"json": {JSONLines{Schema: schema}, "{\"word\":\"a\"}\n\n{\"word\":\"c\"}", "a", "text:1 text:3"},
	} {
		d, err := NewDecoder(c.format, "word")
		law.Check(t, err)
		for range 2 {
			batch, err := d.Decode([]byte(c.text))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			of := batch["word"].Engine().(engine)
			if got, want := batch["word"].Int64s(), []int64{HashID("word", c.want, 1<<30), HashID("word", "c", 1<<30)}; !slices.Equal(got, want) || of.Place(0)+" "+of.Place(1) != c.place {
				t.Errorf("%s: %v, want %v; %s and %s", name, got, want, of.Place(0), of.Place(1))
			}
		}
	}
	d, err := NewDecoder(CSV{Multiline: true, Fields: []string{"x"}, Schema: []CSVColumn{{Column: Floats("x")}}})
	law.Check(t, err)
	if _, err := d.Decode([]byte("1\n\"2\n" + strings.Repeat("\"\"\n", 1<<20))); err == nil || !strings.Contains(err.Error(), "text:2") {
		t.Errorf("a quote that is never closed: %v", err)
	}
}
