package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
)

// ofType is a file with a column x of a type, which the library may not write, and a row for each value.
func ofType(t *testing.T, physical parquet.Type, of format.SchemaElement, values ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b, parquet.NewSchema("f", parquet.Group{"x": parquet.Optional(parquet.Leaf(physical))}))
	for _, v := range values {
		x := parquet.ValueOf(v)
		level := 1
		if v == nil {
			level = 0
		}
		if _, err := w.WriteRows([]parquet.Row{{x.Level(0, level, 0)}}); err != nil {
			t.Fatal(err)
		}
	}
	law.Check(t, w.Close())
	file := b.Bytes()
	from := len(file) - 8 - int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	var footer format.FileMetaData
	law.Check(t, thrift.Unmarshal(new(thrift.CompactProtocol), file[from:len(file)-8], &footer))
	x := &footer.Schema[1]
	x.LogicalType, x.ConvertedType, x.Scale, x.Precision = of.LogicalType, of.ConvertedType, of.Scale, of.Precision
	changed, err := thrift.Marshal(new(thrift.CompactProtocol), &footer)
	law.Check(t, err)
	file = append(file[:from:from], changed...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(changed))), "PAR1"...)
}

// TestTypes: each physical, logical and converted type that the library knows is read as lines of JSON with the same values are, in every
// use of a column, or is refused by name.
func TestTypes(t *testing.T) {
	const (
		text     = "give its CSVColumn a Hash"
		inHash   = "set HashNumbers"
		derive   = "make what matters of it, such as its Hour or its Day (Files.Derived)"
		minutes  = "which float32 rounds to minutes"
		noLine   = "which no line of text can"
		integer  = "want an integer"
		noValue  = `want one of ["7" "1"]`
		noNumber = "field x: want a number, got null"
	)
	logical := func(v format.LogicalTypeValue) format.SchemaElement {
		return format.SchemaElement{LogicalType: format.LogicalType{Value: v}}
	}
	old := func(c deprecated.ConvertedType) format.SchemaElement {
		return format.SchemaElement{ConvertedType: thrift.New(c)}
	}
	scale := func(n int32) format.SchemaElement {
		e := old(deprecated.Decimal)
		e.Scale, e.Precision = thrift.New(n), thrift.New(int32(9))
		return e
	}
	unit := func(v format.TimeUnitValue) format.TimeUnit { return format.TimeUnit{Value: v} }
	b, i32, i64, any16 := parquet.ByteArrayType, parquet.Int32Type, parquet.Int64Type, parquet.FixedLenByteArrayType(16)
	sevens, one := []any{int32(7), int32(1), nil}, []any{int64(7)}
	uuid := [16]byte{0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40, 0}
	texts, opaque := [5]string{text, text}, [5]string{noLine, noLine, noLine, noLine, noLine}
	times := [5]string{1: minutes, 2: derive, 3: derive, 4: derive}
	days := times
	days[1] = ""
	covered := map[string]bool{}
	for _, c := range []struct {
		physical parquet.Type
		of       format.SchemaElement
		values   []any
		lines    string
		// Errors as a column of Ints, of Floats, with Hash, with HashNumbers, with Values 7 and 1; "" is what lines give.
		want [5]string
	}{
		{parquet.BooleanType, format.SchemaElement{}, []any{true, nil, false}, `true null false`, [5]string{4: noValue}},
		{i32, format.SchemaElement{}, sevens, `7 1 null`, [5]string{}},
		{i64, format.SchemaElement{}, one, `7`, [5]string{}},
		{parquet.Int96Type, format.SchemaElement{}, []any{deprecated.Int96{0x9d4d3200, 0xa0b, 2461043}}, `1767323045000000000`, times},
		{parquet.Int96Type, format.SchemaElement{}, []any{deprecated.Int96{0, 0, 1}}, ``, [5]string{"want a time from 1678 to 2261", minutes, derive, derive, derive}},
		{parquet.FloatType, format.SchemaElement{}, []any{float32(7), float32(1)}, `7 1`, [5]string{2: inHash}},
		{parquet.DoubleType, format.SchemaElement{}, []any{7., .1}, `7 0.1`, [5]string{0: integer, 2: inHash, 4: noValue}},
		{b, format.SchemaElement{}, []any{"7", ""}, `"7" ""`, texts},
		{any16, format.SchemaElement{}, []any{[16]byte([]byte("0123456789abcdef"))}, `"0123456789abcdef"`, [5]string{text, text, "", "", noValue}},

		{b, logical(new(format.StringType)), []any{"7", nil, "1"}, `"7" null "1"`, texts},
		{b, logical(new(format.EnumType)), []any{"7"}, `"7"`, texts},
		{b, logical(new(format.JsonType)), []any{"7.0"}, `"7.0"`, [5]string{text, text, "", "", noValue}},
		{b, logical(new(format.BsonType)), []any{"7"}, ``, opaque},
		{b, logical(new(format.GeometryType)), []any{"7"}, ``, opaque},
		{b, logical(new(format.GeographyType)), []any{"7"}, ``, opaque},
		{i32, logical(new(format.NullType)), []any{nil}, `null`, [5]string{noNumber, noNumber}},
		{any16, logical(new(format.UUIDType)), []any{uuid, nil}, `"123e4567-e89b-12d3-a456-426614174000" null`, [5]string{text, text, "", "", noValue}},
		{parquet.FixedLenByteArrayType(2), logical(new(format.Float16Type)), []any{[2]byte{0, 0x47}, [2]byte{0, 0xbc}, nil}, `7 -1 null`, [5]string{2: inHash, 4: noValue}},
		{parquet.FixedLenByteArrayType(2), logical(new(format.Float16Type)), []any{[2]byte{0x66, 0x2e}, [2]byte{1, 0}}, `0.0999755859375 5.960464477539063e-08`, [5]string{integer, "", inHash, "", noValue}},
		{i32, logical(&format.IntType{BitWidth: 32}), []any{int32(-1)}, `4294967295`, [5]string{4: noValue}},
		{i64, logical(&format.IntType{BitWidth: 64}), []any{int64(-1)}, `18446744073709551615`, [5]string{0: "want an integer in the range of int64", 4: noValue}},
		{i32, logical(&format.IntType{BitWidth: 8, IsSigned: true}), []any{int32(-1)}, `-1`, [5]string{4: noValue}},
		{i32, logical(new(format.DateType)), []any{int32(20455)}, `20455`, days},
		{i32, logical(&format.TimeType{Unit: unit(new(format.MilliSeconds))}), []any{int32(11045000)}, `11045000`, times},
		{i64, logical(&format.TimestampType{Unit: unit(new(format.MicroSeconds))}), []any{int64(1767323045000000)}, `1767323045000000`, times},
		{i32, logical(&format.DecimalType{Scale: 0, Precision: 9}), []any{int32(7), int32(-1)}, `7 -1`, [5]string{4: noValue}},
		{i32, logical(&format.DecimalType{Scale: 2, Precision: 9}), []any{int32(700), int32(-100)}, `7 -1`, [5]string{2: inHash, 4: noValue}},
		{i64, logical(&format.DecimalType{Scale: 3, Precision: 18}), []any{int64(-5), int64(16777217001), nil}, `-0.005 16777217.001 null`, [5]string{integer, "", inHash, "", noValue}},
		{b, logical(&format.DecimalType{Scale: 1, Precision: 30}), []any{"\xff\x38", "\x7f"}, `-20.0 12.7`, [5]string{integer, "", inHash, "", noValue}},
		{any16, logical(&format.DecimalType{Scale: 0, Precision: 38}), []any{[16]byte{6: 1}, [16]byte{15: 7}}, `4722366482869645213696 7`, [5]string{0: integer, 4: noValue}},
		{i32, logical(&format.DecimalType{Scale: -2, Precision: 9}), []any{int32(7)}, ``, [5]string{"want a scale", "want a scale", "want a scale", "want a scale", "want a scale"}},

		{b, old(deprecated.UTF8), []any{"7"}, `"7"`, texts},
		{b, old(deprecated.Enum), []any{"7"}, `"7"`, texts},
		{b, old(deprecated.Json), []any{"7"}, `"7"`, texts},
		{b, old(deprecated.Bson), []any{"7"}, ``, opaque},
		{i32, scale(2), []any{int32(725), int32(710)}, `7.25 7.10`, [5]string{integer, "", inHash, "", noValue}},
		{i32, old(deprecated.Date), []any{int32(20455)}, `20455`, days},
		{i32, old(deprecated.TimeMillis), []any{int32(11045000)}, `11045000`, times},
		{i64, old(deprecated.TimeMicros), []any{int64(11045000000)}, `11045000000`, times},
		{i64, old(deprecated.TimestampMillis), []any{int64(-1)}, `-1`, times},
		{i64, old(deprecated.TimestampMicros), []any{int64(-1)}, `-1`, times},
		{i32, old(deprecated.Uint8), sevens, `7 1 null`, [5]string{}},
		{i32, old(deprecated.Uint16), sevens, `7 1 null`, [5]string{}},
		{i32, old(deprecated.Uint32), []any{int32(-1)}, `4294967295`, [5]string{4: noValue}},
		{i64, old(deprecated.Uint64), []any{int64(-1)}, `18446744073709551615`, [5]string{0: "want an integer in the range of int64", 4: noValue}},
		{i32, old(deprecated.Int8), sevens, `7 1 null`, [5]string{}},
		{i32, old(deprecated.Int16), sevens, `7 1 null`, [5]string{}},
		{i32, old(deprecated.Int32), sevens, `7 1 null`, [5]string{}},
		{i64, old(deprecated.Int64), one, `7`, [5]string{}},
		{parquet.FixedLenByteArrayType(12), old(deprecated.Interval), []any{[12]byte{1}}, ``, opaque},
	} {
		name := c.physical.String()
		if v := c.of.LogicalType.Value; v != nil {
			name = fmt.Sprintf("%T", v)
		} else if old := c.of.ConvertedType; old.Valid {
			name = fmt.Sprint("converted ", old.V)
		}
		covered[strings.Split(name, "(")[0]] = true
		file := fstest.MapFS{"f": {Data: ofType(t, c.physical, c.of, c.values...)}}
		lines := ""
		for line := range strings.FieldsSeq(c.lines) {
			lines += `{"x": ` + line + "}\n"
		}
		for i, column := range []dataset.CSVColumn{{Column: dataset.Ints("x"), Missing: "3"}, {Column: dataset.Floats("x"), Missing: "3"},
			{Column: dataset.Ints("x"), Hash: 1 << 32}, {Column: dataset.Ints("x"), Hash: 1 << 32, HashNumbers: true},
			{Column: dataset.Ints("x"), Missing: "3", Values: []string{"7", "1"}}} {
			want := c.want[i]
			if want == noNumber {
				column.Missing = ""
			}
			if want == "" {
				want = outcome(t.Context(), dataset.FromReader(strings.NewReader(lines), "lines", dataset.JSONLines{Schema: []dataset.CSVColumn{column}}))
			}
			if got := outcome(t.Context(), fromFS(file, column)); !strings.Contains(got, want) || c.want[i] == "" && got[0] != '[' {
				t.Errorf("%s, %s, use %d: %s, want %s", name, c.lines, i, got, want)
			}
		}
	}
	// Groups have their types on what is no column.
	type nested struct {
		List    []int64          `parquet:"list,list"`
		Map     map[string]int64 `parquet:"map"`
		Variant any              `parquet:"variant,variant"`
	}
	file := fstest.MapFS{"f": {Data: written(t, []nested{{[]int64{7}, map[string]int64{"7": 1}, "7"}}, 1)}}
	for _, c := range [][3]string{
		{"*format.ListType", "list", "[7]"}, {"converted 3", "list", "[7]"}, // as a number of a list
		{"*format.MapType", "map", `"map" is several columns`}, {"converted 1", "map", `"map" is several columns`}, {"converted 2", "map.key_value.value", "[1]"},
		{"*format.VariantType", "variant", `"variant" is several columns`}, {"*format.VariantType", "variant.value", noLine},
	} {
		covered[c[0]] = true
		if got := outcome(t.Context(), fromFS(file, dataset.CSVColumn{Column: dataset.Varying(dataset.Ints("x")), Fields: []string{c[1]}})); !strings.Contains(got, c[2]) {
			t.Errorf("%s: %s, want %s", c[1], got, c[2])
		}
	}
	for i := format.Type(0); i.String() != "Type(?)"; i++ {
		if !covered[i.String()] {
			t.Errorf("no row is of the physical type %v", i)
		}
	}
	for _, v := range new(format.LogicalType).UnionMembers() {
		if name := fmt.Sprintf("%T", v); !covered[name] {
			t.Errorf("no row is of the logical type %s", name)
		}
	}
	for i := deprecated.UTF8; i <= deprecated.Interval; i++ {
		if name := fmt.Sprint("converted ", i); !covered[name] {
			t.Errorf("no row is of the %s", name)
		}
	}
}
