package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/parquet-go/parquet-go"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
)

type flight struct {
	Distance float64  `parquet:"distance"`
	Temp     *float32 `parquet:"temp,optional"`
	Carrier  string   `parquet:"carrier,dict"`
	Flight   int32    `parquet:"flight"`
	ID       uint64   `parquet:"id"`
	Words    []int64  `parquet:"words,list"`
	Pair     []int32  `parquet:"pair"`
	Late     bool     `parquet:"late"`
	Place    struct {
		Gate string `parquet:"gate"`
		Row  int8   `parquet:"row"`
	} `parquet:"place"`
}

// flights are n rows, of which the i-th has i in most columns.
func flights(n int) []flight {
	rows := make([]flight, n)
	for i := range rows {
		r := &rows[i]
		r.Distance, r.Carrier, r.Flight, r.ID, r.Late = float64(i), fmt.Sprint("c", i%3), int32(-i), math.MaxUint64-uint64(i), i%2 > 0
		r.Pair, r.Place.Gate, r.Place.Row = []int32{int32(i), 7}, fmt.Sprint("g", i), int8(i%100)
		if i%4 > 0 {
			r.Temp = new(float32(i) / 2)
		}
		for w := range i%3 + 1 {
			r.Words = append(r.Words, int64(i*10+w))
		}
	}
	return rows
}

// written is a file of such rows, some in each group.
func written[T any](t testing.TB, rows []T, group int, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	for part := range slices.Chunk(rows, group) {
		_, err := w.Write(part)
		law.Check(t, errors.Join(err, w.Flush()))
	}
	law.Check(t, w.Close())
	return b.Bytes()
}

var schema = []dataset.CSVColumn{
	{Column: dataset.Floats("dense", 3), Fields: []string{"distance", "temp", "late"}, Missing: "-1"},
	{Column: dataset.Ints("C", 2), Fields: []string{"carrier", "place.gate"}, Hash: 1000},
	{Column: dataset.Ints("n", 2), Fields: []string{"flight", "distance"}},
	{Column: dataset.IDs("id")},
	{Column: dataset.Varying(dataset.Ints("words"))},
	{Column: dataset.Floats("pair", 2)},
	{Column: dataset.Ints("hashed"), Fields: []string{"flight"}, Hash: 50},
}

// TestFiles: rows of all kinds of columns come as they were written, by groups, pages and codecs of any size, over several files, each from its row.
func TestFiles(t *testing.T) {
	rows := flights(300)
	files := fstest.MapFS{
		"a": {Data: written(t, rows[:100], 30)}, "none": {Data: written[flight](t, nil, 1)},
		"b": {Data: written(t, rows[100:], 150, parquet.PageBufferSize(100), parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(2))},
	}
	d := dataset.New(&Files{FS: files, Paths: []string{"a", "none", "b"}, Schema: schema})
	for name, d := range map[string]*dataset.Dataset{"streaming": d, "shard": d.Shard(1, 3)} {
		table, err := d.Table(t.Context())
		law.Check(t, err)
		want, _ := dataset.NewTable(d.Columns()...)
		for i, r := range rows {
			if name == "shard" && i%3 != 1 {
				continue
			}
			err := want.Add(func(row dataset.Row) error {
				temp, late := float32(-1), float32(0)
				if r.Temp != nil {
					temp = *r.Temp
				}
				if r.Late {
					late = 1
				}
				copy(row.Floats(0), []float32{float32(r.Distance), temp, late})
				copy(row.Ints(1), []int64{dataset.HashID("carrier", r.Carrier, 1000), dataset.HashID("place.gate", r.Place.Gate, 1000)})
				copy(row.Ints(2), []int64{int64(r.Flight), int64(i)})
				row.IDs(3)[0] = r.ID
				for _, w := range r.Words {
					row.AppendInt(4, w)
				}
				copy(row.Floats(5), []float32{float32(i), 7})
				row.Ints(6)[0] = dataset.HashID("flight", fmt.Sprint(r.Flight), 50)
				return nil
			})
			law.Check(t, err)
			place := fmt.Sprintf("a:%d", i+1)
			if i >= 100 {
				place = fmt.Sprintf("b:%d", i-99)
			}
			if got := table.Place(want.Len() - 1); got != place {
				t.Fatalf("%s: row %d comes from %s, want %s", name, i, got, place)
			}
		}
		for c := range d.Columns() {
			if !slices.Equal(table.Floats(c), want.Floats(c)) || !slices.Equal(table.Ints(c), want.Ints(c)) || !slices.Equal(table.IDs(c), want.IDs(c)) {
				t.Errorf("%s: column %v differs", name, d.Columns()[c])
			}
		}
	}
}

// TestScale: rows of a file are those of the same numbers as JSON lines, scaled alike, also where they are missing; the format of such lines
// is what a model is saved with that a file has trained.
//
// Promise: [G13] rows of a Parquet file are those of its values as JSON lines, scaled alike
func TestScale(t *testing.T) {
	scaled := []dataset.CSVColumn{
		{Column: dataset.Floats("dense", 3), Fields: []string{"distance", "temp", "late"}, Missing: "0",
			Scale: []dataset.Scaling{{Log1p: true, Mean: 3, Std: .7}, {Mean: 20, Std: 12}, {}}},
		{Column: dataset.Floats("pair", 2), Missing: "NaN", Scale: []dataset.Scaling{{Std: 3}}},
		{Column: dataset.Varying(dataset.Floats("words")), Scale: []dataset.Scaling{{Log1p: true}}},
	}
	rows := flights(50)
	var text strings.Builder
	for _, r := range rows {
		temp := "null"
		if r.Temp != nil {
			temp = fmt.Sprint(*r.Temp)
		}
		words := strings.ReplaceAll(fmt.Sprint(r.Words), " ", ",")
		fmt.Fprintf(&text, `{"distance":%v,"temp":%s,"late":%v,"pair":[%d,%d],"words":%s}`+"\n", r.Distance, temp, r.Late, r.Pair[0], r.Pair[1], words)
	}
	want, err := dataset.FromReader(strings.NewReader(text.String()), "lines", dataset.JSONLines{Schema: scaled}).Table(t.Context())
	law.Check(t, err)
	file := &Files{FS: fstest.MapFS{"f": {Data: written(t, rows, 20)}}, Paths: []string{"f"}, Schema: scaled}
	got, err := dataset.New(file).Table(t.Context())
	law.Check(t, err)
	for c := range scaled {
		if !slices.Equal(got.Floats(c), want.Floats(c)) || got.Floats(c)[4] == 4 {
			t.Errorf("%s: %v, want %v", scaled[c].Name, got.Floats(c), want.Floats(c))
		}
	}
}

type odd struct {
	Null  *int64    `parquet:"null,optional"`
	Half  float64   `parquet:"half"`
	Minus int64     `parquet:"minus"`
	Far   float64   `parquet:"far"`
	Big   uint64    `parquet:"big"`
	Text  string    `parquet:"text"`
	List  []float32 `parquet:"list"`
	Money int64     `parquet:"money,decimal(2:9)"`
	Deep  [][]int64 `parquet:"deep,list"`
	NaN   float32   `parquet:"nan"`
	Inf   float64   `parquet:"inf"`
	When  int64     `parquet:"when,timestamp(microsecond)"`
	Group struct{ A, B int64 }
}

// TestRefused: what can't be a column of rows is told by file, row and field; a null has what Missing says.
func TestRefused(t *testing.T) {
	good := odd{Null: new(int64(3)), Half: 2, Minus: 1, Big: 1, Text: "a", List: []float32{1, 2}, NaN: float32(math.NaN()), When: 1700000000000001}
	bad := good
	bad.Inf = math.Inf(-1)
	bad.Far, bad.Null, bad.Half, bad.Minus, bad.Big, bad.List, bad.Money = 1e39, nil, 1.5, -1, math.MaxUint64, []float32{1, 2, 3}, 7
	whole := written(t, []odd{good, bad}, 10)
	files := fstest.MapFS{"f": {Data: whole}, "text": {Data: []byte("a,b\n1,2\n")}, "cut": {Data: whole[:len(whole)/2]}}
	column := func(c dataset.Column, fields ...string) []dataset.CSVColumn {
		return []dataset.CSVColumn{{Column: c, Fields: fields}}
	}
	ints, ids, floats := dataset.Ints("x"), dataset.IDs("x"), dataset.Floats("x")
	for name, c := range map[string]struct {
		f    Files
		want string
	}{
		"null":            {Files{Schema: column(ints, "null")}, "dataset: bad row: f:2: field null: want a number, got null"},
		"null, missing":   {Files{Schema: column(ints, "null"), Missing: "9"}, "[3 9]"},
		"null, a column":  {Files{Schema: []dataset.CSVColumn{{Column: ints, Fields: []string{"null"}, Missing: "8"}}, Missing: "9"}, "[3 8]"},
		"null, hashed":    {Files{Schema: []dataset.CSVColumn{{Column: ints, Fields: []string{"null"}, Hash: 10}}}, fmt.Sprint([]int64{dataset.HashID("null", "3", 10), dataset.HashID("null", "", 10)})},
		"null, varying":   {Files{Schema: column(dataset.Varying(ints), "null")}, "[3]"},
		"no whole number": {Files{Schema: column(ints, "half")}, "f:2: field half: want an integer, got 1.5"},
		"a far float":     {Files{Schema: column(floats, "far")}, "f:2: field far: want a number in the range of float32, at most 3.4028235e+38 in size, got 1e+39"},
		"a far integer":   {Files{Schema: column(ints, "far")}, "f:2: field far: want an integer that a column of DOUBLE holds exactly, below 9007199254740992 in size, got 1e+39"},
		"a negative id":   {Files{Schema: column(ids, "minus")}, "f:2: field minus: want an id, from 0 to 18446744073709551615, got -1"},
		"a wide integer":  {Files{Schema: column(ints, "big")}, "f:2: field big: want an integer in the range of int64, below 9223372036854775808 (a column made with dataset.IDs takes larger ids), got 18446744073709551615"},
		"a wide id":       {Files{Schema: column(ids, "big")}, "[1 18446744073709551615]"},
		"a wide float":    {Files{Schema: column(floats, "big")}, "[1 1.8446744e+19]"},
		"text":            {Files{Schema: column(ints, "text")}, `dataset: f: column "text" holds STRING: give its CSVColumn a Hash`},
		"a longer list":   {Files{Schema: column(dataset.Floats("x", 2), "list")}, "f:2: field list: want 2 values, not more, got 3"},
		"a shorter list":  {Files{Schema: column(dataset.Floats("x", 3), "list")}, "f:1: field list: want 3 values, got 2"},
		"a decimal":       {Files{Schema: column(ints, "money")}, "f:2: field money: want an integer in the range of int64, got 0.07"},
		"a deep list":     {Files{Schema: column(dataset.Varying(ints), "deep")}, `f: column "deep" is a list of lists`},
		"not a number":    {Files{Schema: column(floats, "nan")}, "f:1: field nan: want a finite number, or null for a missing one, got NaN"},
		"infinity":        {Files{Schema: column(floats, "inf")}, "f:2: field inf: want a finite number, or null for a missing one, got -Inf"},
		"hashed doubles":  {Files{Schema: []dataset.CSVColumn{{Column: ints, Fields: []string{"half"}, Hash: 9}}}, `column "half" holds DOUBLE, and Hash makes ids of text, which lines may write as 3 or 3.0: set HashNumbers`},
		"an instant":      {Files{Schema: column(floats, "when")}, `column "when" holds TIMESTAMP(isAdjustedToUTC=true,unit=MICROS), which float32 rounds to minutes: read it as Ints`},
		"an exact one":    {Files{Schema: column(ints, "when")}, "[1700000000000001 1700000000000001]"},
		"no such column":  {Files{Schema: column(floats, "nine")}, `f: unknown column "nine"; want one of ["null" "half"`},
		"several columns": {Files{Schema: column(floats, "Group")}, `f: "Group" is several columns, ["Group.A" "Group.B"]: name one of them`},
		"no Parquet":      {Files{Schema: column(floats, "a"), Paths: []string{"text"}}, "dataset: text: "},
		"cut off":         {Files{Schema: column(floats, "half"), Paths: []string{"cut"}}, "dataset: cut: "},
		"not there":       {Files{Schema: column(floats, "half"), Paths: []string{"gone"}}, "dataset: open gone"},
		"a remote path":   {Files{Schema: column(floats, "half"), Paths: []string{"s3://b/gone"}, FS: nowhere{}}, "s3://b/gone"},
		"fields":          {Files{Schema: column(dataset.Floats("x", 3), "half", "minus")}, "3 values a row can't be shared by 2 fields"},
		"hashed floats":   {Files{Schema: []dataset.CSVColumn{{Column: floats, Hash: 3}}}, "Hash is 3"},
		"missing":         {Files{Schema: column(ints, "half"), Missing: "0.5"}, `Missing is "0.5"`},
		"no schema":       {Files{}, "no columns given"},
		"no files":        {Files{Schema: column(floats, "half"), Paths: []string{}}, "no rows"},
		"a far scale":     {Files{Schema: []dataset.CSVColumn{{Column: floats, Fields: []string{"half"}, Scale: []dataset.Scaling{{Std: 1e-39}}}}}, "f:1: field half: want a number that its Scale leaves in the range of float32, got 2"},
		"a scaled int":    {Files{Schema: []dataset.CSVColumn{{Column: ints, Fields: []string{"half"}, Scale: []dataset.Scaling{{}}}}}, "Scale is for a column of Floats"},
		"threads":         {Files{Schema: column(floats, "half"), Threads: -1}, "Files.Threads is -1: want 0 or more goroutines"},
		"null, a NaN":     {Files{Schema: column(floats, "null"), Missing: "NaN"}, "[3 NaN]"},
	} {
		if c.f.Paths == nil {
			c.f.Paths = []string{"f"}
		}
		if c.f.FS = fs.FS(files); name == "a remote path" {
			c.f.FS = nil
		}
		if got := outcome(t.Context(), dataset.New(&c.f)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestEveryFieldActs: every option, set to a value that is not its default, changes what a loop sees.
func TestEveryFieldActs(t *testing.T) {
	good := odd{Null: new(int64(3)), Half: 2}
	files := fstest.MapFS{"f": {Data: written(t, []odd{{Half: 2}}, 10)}, "g": {Data: written(t, []odd{good}, 10)}}
	column := []dataset.CSVColumn{{Column: dataset.Ints("x"), Fields: []string{"null"}}}
	base := Files{FS: files, Paths: []string{"f"}, Schema: column}
	cases := map[string]func(f *Files){
		"Paths":   func(f *Files) { f.Paths = []string{"g"} },
		"FS":      func(f *Files) { f.FS = nil },
		"Missing": func(f *Files) { f.Missing = "5" },
		"Derived": func(f *Files) {
			f.Missing, f.Derived = "5", []dataset.Derived{{Name: "null", From: []string{"half"}, Buckets: []float64{1}}}
		},
		"Threads": func(f *Files) { f.Threads = -1 },
		"Schema":  func(f *Files) { f.Schema = []dataset.CSVColumn{{Column: dataset.Ints("x"), Fields: []string{"half"}}} },
	}
	of := reflect.TypeFor[Files]()
	for i := range of.NumField() {
		changed := base
		set, ok := cases[of.Field(i).Name]
		if !ok {
			t.Errorf("no case shows that %s acts", of.Field(i).Name)
			continue
		}
		set(&changed)
		if before := outcome(t.Context(), dataset.New(&base)); before == outcome(t.Context(), dataset.New(&changed)) {
			t.Errorf("%s changes nothing: %s", of.Field(i).Name, before)
		}
	}
}

type nowhere struct{ fs.FS }

// outcome is the values of column x, or the error.
func outcome(ctx context.Context, d *dataset.Dataset) string {
	batch, err := d.Batch(ctx)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(batch["x"].Data())
}

// TestEnds: a pass ends with its context, and files are closed when a loop breaks.
func TestEnds(t *testing.T) {
	var open atomic.Int64
	f := &Files{FS: counted{FS: fstest.MapFS{"f": {Data: written(t, flights(50), 5)}}, open: &open}, Paths: []string{"f", "f"}, Schema: schema}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough := errors.New("enough")
	for _, err := range dataset.New(f).BatchesContext(ctx, 2) {
		if err != nil && !errors.Is(err, enough) {
			t.Error(err)
		}
		cancel(enough)
	}
	for range dataset.New(f).Prefetch(2).Batches(3) {
		break
	}
	if n := open.Load(); n != 0 {
		t.Errorf("%d files are open", n)
	}
}

// counted counts the files that are open.
type counted struct {
	fs.FS
	open *atomic.Int64
	then func() // is called when a file is opened, if there is one
}

func (c counted) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	c.open.Add(1)
	if c.then != nil {
		c.then()
	}
	return countedFile{f, c.open}, nil
}

type countedFile struct {
	fs.File
	open *atomic.Int64
}

func (c countedFile) ReadAt(b []byte, at int64) (int, error) {
	return c.File.(io.ReaderAt).ReadAt(b, at)
}
func (c countedFile) Close() error {
	c.open.Add(-1)
	return c.File.Close()
}

// FuzzFiles: any file ends in rows or in an error.
func FuzzFiles(f *testing.F) {
	f.Add(written(f, flights(5), 3))
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, file []byte) {
		d := dataset.New(&Files{FS: fstest.MapFS{"f": {Data: file}}, Paths: []string{"f"}, Schema: schema[:5]})
		_, err := d.Table(t.Context())
		if err != nil && !strings.HasPrefix(err.Error(), "dataset: ") {
			t.Error(err)
		}
	})
}

func BenchmarkFiles(b *testing.B) {
	const rows = 50_000
	file := written(b, flights(rows), 10_000)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, err := dataset.New(&Files{FS: fstest.MapFS{"f": {Data: file}}, Paths: []string{"f"}, Schema: schema}).Load(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
}
