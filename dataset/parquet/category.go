package parquet

import (
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/gofleet/gofleet/internal/categories"
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

// token returns the text of a value to be hashed: its text, an integer in decimal digits, or another number as
// HashNumbers writes it; "" for null. It is valid until the next call.
func (u *use) token(v *parquet.Value) []byte {
	u.digits = u.digits[:0]
	switch kind := v.Kind(); {
	case v.IsNull():
	case u.numbers && isText(kind):
		u.digits = categories.AppendNumber(u.digits, v.ByteArray())
	case isText(kind):
		return v.ByteArray()
	case kind == parquet.Int32 && u.unsigned:
		u.digits = strconv.AppendUint(u.digits, uint64(v.Uint32()), 10)
	case kind == parquet.Int32:
		u.digits = strconv.AppendInt(u.digits, int64(v.Int32()), 10)
	case kind == parquet.Int64 && u.unsigned:
		u.digits = strconv.AppendUint(u.digits, v.Uint64(), 10)
	case kind == parquet.Int64:
		u.digits = strconv.AppendInt(u.digits, v.Int64(), 10)
	case kind == parquet.Float:
		u.digits = categories.AppendNumber(u.digits, strconv.AppendFloat(u.digits, float64(v.Float()), 'g', -1, 32))
	case kind == parquet.Double:
		u.digits = categories.AppendNumber(u.digits, strconv.AppendFloat(u.digits, v.Double(), 'g', -1, 64))
	default:
		u.digits = append(u.digits, v.String()...)
	}
	return u.digits
}
