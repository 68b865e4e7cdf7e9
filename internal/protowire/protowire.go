// Package protowire writes messages of Protocol Buffers, field by field, for the few formats that this module writes
// for other programs: no schema, no reflection, and no google.golang.org/protobuf in a user's program.
//
//	var m protowire.Message
//	m.Double(1, seconds)
//	m.Int(2, step)
//	m.Message(5, summary)
//
// A field is written whatever its value is; the caller leaves out zero fields if the format requires that.
//
// Source: protobuf.dev/programming-guides/encoding.
package protowire

import (
	"encoding/binary"
	"math"
)

// Message is the encoded fields of a message, in the order of the calls that added them.
type Message []byte

// The wire types: the kind of data after a field's number.
const (
	varint = 0
	fixed8 = 1 // eight bytes
	sized  = 2
	fixed4 = 5
)

func (m *Message) tag(field, wire int) { *m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire)) }

// Int adds an int32, int64, enum or bool field; a negative number takes ten bytes.
func (m *Message) Int(field int, v int64) {
	m.tag(field, varint)
	*m = binary.AppendUvarint(*m, uint64(v))
}

// Float adds a float field.
func (m *Message) Float(field int, v float32) {
	m.tag(field, fixed4)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(v))
}

// Double adds a double field.
func (m *Message) Double(field int, v float64) {
	m.tag(field, fixed8)
	*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(v))
}

// Size adds the beginning of a string, bytes, message or packed field of so many bytes. The caller writes the bytes
// after it, such as data too large for memory.
func (m *Message) Size(field int, bytes int64) {
	m.tag(field, sized)
	*m = binary.AppendUvarint(*m, uint64(bytes))
}

// String adds a string field, which must be UTF-8.
func (m *Message) String(field int, v string) {
	m.Size(field, int64(len(v)))
	*m = append(*m, v...)
}

// Bytes adds a bytes field.
func (m *Message) Bytes(field int, v []byte) {
	m.Size(field, int64(len(v)))
	*m = append(*m, v...)
}

// Message adds a field that is a message, also an entry of a map: its key is field 1, its value field 2.
func (m *Message) Message(field int, v Message) { m.Bytes(field, v) }

// Doubles adds a repeated double field, packed.
func (m *Message) Doubles(field int, v []float64) {
	m.Size(field, 8*int64(len(v)))
	for _, x := range v {
		*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(x))
	}
}

// Ints adds a repeated int32, int64, enum or bool field, packed.
func (m *Message) Ints(field int, v []int64) {
	var packed []byte
	for _, x := range v {
		packed = binary.AppendUvarint(packed, uint64(x))
	}
	m.Bytes(field, packed)
}
