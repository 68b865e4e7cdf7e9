package protowire

import (
	"encoding/hex"
	"testing"
)

// TestGolden: fields are the bytes that the documentation of Protocol Buffers has, or counts by its rules.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name, want string
		add        func(m *Message)
	}{
		{"150 of the documentation", "089601", func(m *Message) { m.Int(1, 150) }},
		{"testing", "120774657374696e67", func(m *Message) { m.String(2, "testing") }},
		{"a message in a message", "1a03089601", func(m *Message) { var in Message; in.Int(1, 150); m.Message(3, in) }},
		{"packed 3, 270, 86942", "3206038e029ea705", func(m *Message) { m.Ints(6, []int64{3, 270, 86942}) }},
		{"a negative number", "08feffffffffffffffff01", func(m *Message) { m.Int(1, -2) }},
		{"a field above 15", "a00601", func(m *Message) { m.Int(100, 1) }},
		{"float 1.5", "150000c03f", func(m *Message) { m.Float(2, 1.5) }},
		{"double 1.5", "11000000000000f83f", func(m *Message) { m.Double(2, 1.5) }},
		{"packed doubles", "3210000000000000f03f00000000000000c0", func(m *Message) { m.Doubles(6, []float64{1, -2}) }},
		{"bytes", "0a0200ff", func(m *Message) { m.Bytes(1, []byte{0, 255}) }},
		{"the beginning of many bytes", "0a8080808010", func(m *Message) { m.Size(1, 1<<32) }},
		{"nothing packed", "3200", func(m *Message) { m.Ints(6, nil) }},
	} {
		var m Message
		if c.add(&m); hex.EncodeToString(m) != c.want {
			t.Errorf("%s: %x, want %s", c.name, []byte(m), c.want)
		}
	}
}
