package parquet

import (
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// category is the id of the value that was taken last. An entry of a dictionary is hashed once.
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

// token is what is hashed of a value: its text, of a number in decimal digits; "" where it is null. It is valid until the next call.
func (u *use) token(v *parquet.Value) []byte {
	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return v.ByteArray()
	case parquet.Int32:
		u.digits = strconv.AppendInt(u.digits[:0], int64(v.Int32()), 10)
	case parquet.Int64:
		u.digits = strconv.AppendInt(u.digits[:0], v.Int64(), 10)
	default:
		u.digits = u.digits[:0]
		if !v.IsNull() {
			u.digits = append(u.digits, v.String()...)
		}
	}
	return u.digits
}
