package parquet

import (
	"fmt"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/gofleet/gofleet/internal/tokens"
)

// category returns the id of the value that was taken last. An entry of a dictionary is hashed once.
func (u *use) category(v *parquet.Value) int64 {
	if u.ids == nil || v.IsNull() {
		return u.hash.ID(u.token(v))
	}
	id := &u.ids[u.indexes[u.values.set-1]]
	if *id == unknown {
		*id = u.hash.ID(u.token(v))
	}
	return *id
}

// token returns the text of a value to be hashed: its text, an integer in decimal digits, a decimal with all of its
// digits, or another number as HashNumbers writes it; "" for null. It is valid until the next call.
func (u *use) token(v *parquet.Value) []byte {
	u.digits = u.digits[:0]
	switch kind := v.Kind(); {
	case v.IsNull():
	case u.of == text && u.numbers:
		u.digits = tokens.AppendNumber(u.digits, v.ByteArray())
	case u.of == text:
		return v.ByteArray()
	case u.of == uuid:
		b := v.ByteArray()
		u.digits = fmt.Appendf(u.digits, "%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	case u.of == decimal && u.numbers:
		u.digits = tokens.AppendNumber(u.digits, u.appendDecimal(u.digits, v))
	case u.of == decimal:
		u.digits = u.appendDecimal(u.digits, v)
	case u.of == half:
		u.digits = appendFloat(u.digits, fromHalf(v), 64)
	case kind == parquet.Float:
		u.digits = appendFloat(u.digits, float64(v.Float()), 32)
	case kind == parquet.Double:
		u.digits = appendFloat(u.digits, v.Double(), 64)
	case kind == parquet.Int32 && u.unsigned:
		u.digits = strconv.AppendUint(u.digits, uint64(v.Uint32()), 10)
	case kind == parquet.Int32:
		u.digits = strconv.AppendInt(u.digits, int64(v.Int32()), 10)
	case kind == parquet.Int64 && u.unsigned:
		u.digits = strconv.AppendUint(u.digits, v.Uint64(), 10)
	case kind == parquet.Int64:
		u.digits = strconv.AppendInt(u.digits, v.Int64(), 10)
	case kind == parquet.Boolean:
		u.digits = strconv.AppendBool(u.digits, v.Boolean())
	}
	return u.digits
}

// appendFloat appends a floating point number of so many bits as HashNumbers writes it.
func appendFloat(b []byte, x float64, bits int) []byte {
	return tokens.AppendNumber(b, strconv.AppendFloat(b, x, 'g', -1, bits))
}
