package parquet

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/format"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
)

// hashed has a column of each type that is hashed.
type hashed struct {
	U32   uint32   `parquet:"u32" json:"u32"`
	U64   uint64   `parquet:"u64" json:"u64"`
	I32   int32    `parquet:"i32" json:"i32"`
	I64   int64    `parquet:"i64" json:"i64"`
	Dict  uint64   `parquet:"dict,dict" json:"dict"`
	Null  *uint32  `parquet:"null,optional" json:"null"`
	Text  string   `parquet:"text" json:"text"`
	Flag  bool     `parquet:"flag" json:"flag"`
	F32   float32  `parquet:"f32" json:"f32"`
	F64   float64  `parquet:"f64" json:"f64"`
	Maybe *float64 `parquet:"maybe,optional" json:"maybe"`
}

// TestIDsAreThoseOfLines: what is hashed of a file has the ids that lines of JSON and CSV with the same values have, whatever the type;
// floating point numbers too where HashNumbers says how they are written, however lines write them.
//
// Promise: [G13] ids of what is hashed of a Parquet file are those of the same values in lines, of every type; pages
// that would be read wrong are refused
// Also: TestPagesThatAreReadWrong, TestDescriptionsOfOtherRules (dataset)
func TestIDsAreThoseOfLines(t *testing.T) {
	rows := []hashed{{Text: "3.0"}, {math.MaxUint32, math.MaxUint64, math.MinInt32, math.MinInt64, 1 << 63, new(uint32(3e9)), "a", true, 0.1, 0.1, new(3.0)},
		{3e9, 1<<63 + 7, 7, 7, 1 << 63, new(uint32(1)), "07", false, 3, 1e300, new(-2.5)}, {1, 1, -1, -1, 1, nil, "", true, 1e-7, 1 << 60, new(1e21)}}
	file := fstest.MapFS{"f": {Data: written(t, rows, 2)}}
	fields := []string{"u32", "u64", "i32", "i64", "dict", "null", "text", "flag", "f32", "f64", "maybe"}
	var lines, table strings.Builder
	for _, r := range rows {
		line, err := json.Marshal(r)
		law.Check(t, err)
		lines.Write(append(line, '\n'))
		null, maybe := "", ""
		if r.Null != nil {
			null = fmt.Sprint(*r.Null)
		}
		if r.Maybe != nil {
			maybe = fmt.Sprintf("%.2f", *r.Maybe)
		}
		fmt.Fprintf(&table, "%d,%d,%d,%d,%d,%s,%s,%v,%v,%v,%s\n", r.U32, r.U64, r.I32, r.I64, r.Dict, null, r.Text, r.Flag, r.F32, r.F64, maybe)
	}
	for i, field := range fields {
		for _, numbers := range []bool{false, true} {
			if i >= slices.Index(fields, "f32") && !numbers {
				continue // refused
			}
			schema := []dataset.CSVColumn{{Column: dataset.Ints("x"), Fields: []string{field}, Hash: 1 << 32, HashNumbers: numbers}}
			got := outcome(t.Context(), dataset.New(&Files{FS: file, Paths: []string{"f"}, Schema: schema}))
			for name, d := range map[string]*dataset.Dataset{
				"JSON": dataset.FromReader(strings.NewReader(lines.String()), "lines", dataset.JSONLines{Schema: schema}),
				"CSV":  dataset.FromReader(strings.NewReader(table.String()), "table", dataset.CSV{Fields: fields, Schema: schema}),
			} {
				if want := outcome(t.Context(), d); got != want {
					t.Errorf("%s, HashNumbers %v: ids are %s, those of %s %s", field, numbers, got, name, want)
				}
			}
		}
	}
}

// TestPagesThatAreReadWrong: booleans that another program has encoded in runs are refused by name, since the library reads them wrong; what
// is packed by lz4 is refused too, since it unpacks some of it to what was in its memory before, and DuckDB's wide differences.
func TestPagesThatAreReadWrong(t *testing.T) {
	type flag struct {
		B *bool `parquet:"b,optional"`
		N int64 `parquet:"n"`
	}
	type differs struct {
		N int32  `parquet:"n,delta"`
		U uint32 `parquet:"u,delta"`
	}
	duck := parquet.CreatedBy("DuckDB", "2.0.1", "")
	rows := make([]flag, 500)
	for i := range rows {
		rows[i] = flag{new(i%3 == 0), int64(i)}
	}
	runs := parquet.NewSchema("flags", parquet.Group{"b": parquet.Optional(parquet.Encoded(parquet.Leaf(parquet.BooleanType), &parquet.RLE)),
		"n": parquet.Leaf(parquet.Int64Type)})
	other := parquet.CreatedBy("parquet-cpp-arrow", "21.0.0", "")
	packed := written(t, rows, 500, parquet.Compression(&parquet.Lz4Raw), parquet.DataPageVersion(2))
	hadoop := written(t, rows, 500, other, parquet.Compression(oldLz4{&parquet.Lz4Raw}))
	for name, c := range map[string]struct {
		file   []byte
		column string
		want   string
	}{
		"lz4 of old":          {hadoop, "n", `column "n" is compressed by LZ4, which`},
		"runs, pages 1":       {written(t, rows, 500, runs, other, parquet.DataPageVersion(1)), "b", `f: column "b" holds booleans encoded as RLE`},
		"runs, pages 2":       {written(t, rows, 100, runs, other, parquet.DataPageVersion(2)), "b", `f: column "b" holds booleans encoded as RLE`},
		"runs, not asked for": {written(t, rows, 500, runs, other), "n", "[0 1 2 "},
		"runs of the library": {written(t, rows, 500, runs), "b", "[1 0 0 1 "},
		"bits":                {written(t, rows, 500, other), "b", "[1 0 0 1 "},
		"DuckDB, wide":        {written(t, []differs{{math.MinInt32, 0}, {math.MaxInt32, 1}}, 9, duck), "n", `f: column "n" holds integers with differences`},
		"DuckDB, unsigned":    {written(t, []differs{{0, 0}, {0, math.MaxUint32}}, 9, duck), "u", `f: column "u" holds integers with differences`},
		"DuckDB, narrow":      {written(t, []differs{{-1 << 30, 0}, {1<<30 - 1, 1}}, 9, duck), "n", "[-1073741824 1073741823]"},
		"wide, of others":     {written(t, []differs{{math.MinInt32, 0}, {math.MaxInt32, 1}}, 9, other), "n", "[-2147483648 2147483647]"},
		"none":                {written[flag](t, nil, 1, runs, other), "b", "no rows"},
		"lz4":                 {packed, "n", `column "n" is compressed by LZ4_RAW, which can't be read: write it with zstd, snappy or gzip`},
	} {
		d := fromFS(fstest.MapFS{"f": {Data: c.file}}, dataset.CSVColumn{Column: dataset.Ints("x"), Fields: []string{c.column}})
		if got := outcome(t.Context(), d); !strings.Contains(got, c.want) {
			t.Errorf("%s: %.300s, want %s", name, got, c.want)
		}
	}
}

// oldLz4 names its pages as those of the codec LZ4, which LZ4_RAW has replaced.
type oldLz4 struct{ *lz4.Codec }

func (oldLz4) CompressionCodec() format.CompressionCodec { return format.Lz4 }

// fromFS is a dataset of the file f.
func fromFS(files fstest.MapFS, column dataset.CSVColumn) *dataset.Dataset {
	return dataset.New(&Files{FS: files, Paths: []string{"f"}, Schema: []dataset.CSVColumn{column}})
}

// TestSeparator: texts of files are parted as lines are, of a dictionary and of lists too.
func TestSeparator(t *testing.T) {
	type tagged struct {
		Plain string   `parquet:"plain" json:"plain"`
		Dict  string   `parquet:"dict,dict" json:"dict"`
		Null  *string  `parquet:"null,optional" json:"null"`
		List  []string `parquet:"list,list" json:"list"`
	}
	rows := []tagged{{"rock|pop", "a|b", nil, []string{"x|y", "z"}}, {"", "b", new("| 3.0|3 "), nil}, {"pop", "a|b", new(""), []string{""}}}
	file := fstest.MapFS{"f": {Data: written(t, rows, 2)}}
	var lines strings.Builder
	for _, r := range rows {
		line, err := json.Marshal(r)
		law.Check(t, err)
		lines.Write(append(line, '\n'))
	}
	texts := dataset.CSVColumn{Hash: 1 << 32, Separator: "|"}
	numbers, values, whole := texts, dataset.CSVColumn{Separator: "|", Values: []string{"rock", "pop", "a", "b", "x", "y", "z", "3", "3.0"}}, dataset.CSVColumn{Hash: 1 << 32}
	numbers.HashNumbers = true
	for _, field := range []string{"plain", "dict", "null", "list"} {
		for name, c := range map[string]dataset.CSVColumn{"texts": texts, "numbers": numbers, "values": values, "whole": whole} {
			c.Column, c.Fields = dataset.Varying(dataset.Ints("x")), []string{field}
			schema := []dataset.CSVColumn{c}
			read := func(d *dataset.Dataset) string {
				batch, err := d.Batch(t.Context())
				if err != nil {
					return err.Error()
				}
				return fmt.Sprint(batch["x"].Data(), batch["x.offsets"].Data())
			}
			got := read(dataset.New(&Files{FS: file, Paths: []string{"f"}, Schema: schema}))
			want := read(dataset.FromReader(strings.NewReader(lines.String()), "lines", dataset.JSONLines{Schema: schema}))
			if got != want || got[0] != '[' {
				t.Errorf("%s, %s: %s, of lines %s", field, name, got, want)
			}
		}
	}
}

// TestValues: texts are numbered as lines number them, booleans and what is derived too.
func TestValues(t *testing.T) {
	type answer struct {
		Text *string `parquet:"text,optional,dict"`
		None string  `parquet:"none"`
		Flag bool    `parquet:"flag"`
		At   string  `parquet:"at"`
	}
	file := fstest.MapFS{"f": {Data: written(t, []answer{{new("yes"), "no", true, "09:30"}, {new("no"), "", false, "07:00"}, {nil, "yes", true, "09:59"}}, 2)}}
	hour := []dataset.Derived{{Name: "hour", From: []string{"at"}, Part: dataset.Hour, Layout: "15:04"}}
	for field, c := range map[string]struct {
		values        []string
		missing, want string
	}{
		"text": {[]string{"no", "yes"}, "-1", "[1 0 -1]"},
		"none": {[]string{"no", "yes"}, "-1", "[0 -1 1]"}, // an empty text is a missing one
		"flag": {[]string{"true", "false"}, "", "[0 1 0]"},
		"hour": {[]string{"7", "9"}, "", "[1 0 1]"},
		"at":   {[]string{"7", "9"}, "", `dataset: bad row: f:1: field at: want one of ["7" "9"], got "09:30"`},
	} {
		schema := []dataset.CSVColumn{{Column: dataset.Ints("x"), Fields: []string{field}, Values: c.values, Missing: c.missing}}
		if got := outcome(t.Context(), dataset.New(&Files{FS: file, Paths: []string{"f"}, Derived: hour, Schema: schema})); got != c.want {
			t.Errorf("%s: %s, want %s", field, got, c.want)
		}
	}
}
