package parquet

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/kernels"
)

// form is what the values of a file's column are.
type form uint8

const (
	plain   form = iota // integers, numbers of FLOAT and DOUBLE, booleans
	half                // numbers of 16 bits
	decimal             // integers over a power of ten
	text
	uuid
	instant // times and dates, which count a unit
	opaque  // what no line of text can hold
)

// leaf is a column of a file: its type as the file has it, and as the library reads it.
type leaf struct {
	*format.SchemaElement
	parquet.LeafColumn
	variant bool // it is part of a VARIANT
}

// leavesOf returns the columns of a file, in order.
func leavesOf(f *parquet.File) (leaves []leaf) {
	elements, paths := f.Metadata().Schema, f.Schema().Columns()
	var walk func(variant bool)
	walk = func(variant bool) {
		e := &elements[0]
		elements = elements[1:]
		if e.NumChildren.V == 0 && len(leaves) < len(paths) {
			column, _ := f.Schema().Lookup(paths[len(leaves)]...)
			leaves = append(leaves, leaf{e, column, variant})
		}
		_, is := e.LogicalType.Value.(*format.VariantType)
		for range e.NumChildren.V {
			walk(variant || is)
		}
	}
	walk(false)
	return leaves
}

// form returns what the values of the column are.
func (l leaf) form() form {
	t := l.Node.Type()
	switch l.LogicalType.Value.(type) { // FLOAT16 and VARIANT are none of the library's types
	case *format.Float16Type:
		return half
	case *format.UUIDType:
		return uuid
	case *format.DecimalType:
		return decimal
	case *format.BsonType, *format.GeometryType, *format.GeographyType:
		return opaque
	}
	switch old := t.ConvertedType(); {
	case l.variant, old != nil && (*old == deprecated.Interval || *old == deprecated.Bson):
		return opaque
	case old != nil && *old == deprecated.Decimal:
		return decimal
	case unitOf(t) > 0:
		return instant
	case t.Kind() == parquet.ByteArray, t.Kind() == parquet.FixedLenByteArray:
		return text
	}
	return plain
}

// check returns an error if the column's values can't be converted to the wanted ones.
func (u *use) check(l leaf) error {
	t := l.Node.Type()
	u.of, u.unit, u.list, u.unsigned = l.form(), unitOf(t), l.MaxRepetitionLevel > 0, false
	var is any = t
	if logical := t.LogicalType(); logical != nil {
		if integer, ok := logical.Value.(*format.IntType); ok {
			u.unsigned = !integer.IsSigned
		}
		if d, ok := logical.Value.(*format.DecimalType); ok {
			u.decimals = int(d.Scale)
		}
	}
	if l.LogicalType.Value != nil {
		is = l.LogicalType.Value
	}
	float := u.of == half || u.of == decimal && u.decimals > 0 || t.Kind() == parquet.Float ||
		t.Kind() == parquet.Double
	texts := u.hash.Height > 0 || u.texts != nil
	switch {
	case u.of == opaque:
		return fmt.Errorf("column %q holds %v, which no line of text can: write it as text or numbers", u.field, is)
	case u.of == decimal && (u.decimals < 0 || u.decimals > 1000):
		return fmt.Errorf("column %q holds %v: want a scale from 0 to 1000", u.field, is)
	case u.source != nil:
		return u.checkSource(is, float)
	case (u.of == text || u.of == uuid) && !texts:
		return fmt.Errorf("column %q holds %v: give its CSVColumn a Hash, to make ids of it, or Values, or write it "+
			"as numbers", u.field, is)
	case u.of == instant && texts:
		return fmt.Errorf("column %q holds %v, and Hash and Values are of texts, as which lines may write times in "+
			"many ways: make what matters of it, such as its Hour or its Day (Files.Derived), or write it as text",
			u.field, is)
	case u.of == instant && u.unit < day && u.kind == tensor.Float32:
		return fmt.Errorf("column %q holds %v, which float32 rounds to minutes: read it as Ints, or make what "+
			"matters of it, such as the hour (Files.Derived)", u.field, is)
	case float && u.hash.Height > 0 && !u.numbers:
		return fmt.Errorf("column %q holds %v, and Hash makes ids of text, which lines may write as 3 or 3.0: set "+
			"HashNumbers of its CSVColumn, or write it as integers or text", u.field, is)
	case l.MaxRepetitionLevel > 1:
		return fmt.Errorf("column %q is a list of lists: want a number, a text, or a list", u.field)
	}
	return nil
}

// fromHalf returns the number of 16 bits.
func fromHalf(v *parquet.Value) float64 {
	var x [1]float32
	kernels.FromFloat16(x[:], v.ByteArray())
	return float64(x[0])
}

// fromInt96 returns the nanoseconds since 1970 of a time.
func (u *use) fromInt96(v *parquet.Value) (number, error) {
	at := u.instant(v)
	if !time.Unix(0, at.UnixNano()).Equal(at) {
		return number{}, u.bad("a time from 1678 to 2261, whose nanoseconds since 1970 are an int64",
			at.Format(time.DateTime))
	}
	return u.fromInt(at.UnixNano())
}

// appendDecimal appends a decimal with all of its digits, as 1.50.
func (u *use) appendDecimal(b []byte, v *parquet.Value) []byte {
	var n big.Int
	switch v.Kind() {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	default:
		bytes := v.ByteArray()
		n.SetBytes(bytes)
		if len(bytes) > 0 && bytes[0]&0x80 != 0 { // two's complement
			n.Sub(&n, new(big.Int).Lsh(big.NewInt(1), 8*uint(len(bytes))))
		}
	}
	if n.Sign() < 0 {
		b = append(b, '-')
		n.Neg(&n)
	}
	digits := fmt.Appendf(nil, "%0*d", u.decimals+1, &n)
	whole := len(digits) - u.decimals
	if b = append(b, digits[:whole]...); u.decimals > 0 {
		b = append(append(b, '.'), digits[whole:]...)
	}
	return b
}

// fromDecimal returns a decimal in the column's type; for integers it must be a whole number.
func (u *use) fromDecimal(v *parquet.Value) (number, error) {
	u.digits = u.appendDecimal(u.digits[:0], v)
	whole := string(u.digits)
	if u.decimals > 0 {
		whole = strings.TrimSuffix(strings.TrimRight(whole, "0"), ".")
	}
	x, err := parse(whole, u.kind)
	if err != nil {
		return number{}, u.bad(map[tensor.Dtype]string{
			tensor.Float32: "a number in the range of float32, at most 3.4028235e+38 in size",
			tensor.Int64:   "an integer in the range of int64", tensor.Uint64: wantID}[u.kind], string(u.digits))
	}
	return x, nil
}
