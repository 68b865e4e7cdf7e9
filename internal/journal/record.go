package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A record is little-endian:
//
//	 0  u32  magic "gfj4", of which the last character is the version of the format
//	 4  u32  kind
//	 8  u64  number
//	16  u64  size of the body in bytes
//	24  u32  CRC-32C of the 24 bytes before
//	28  u32  CRC-32C of the body
//	32  the body
const headSize = 32

const magic = 0x346a6667 // "gfj4"

// Kind is the type of a record's body. The caller defines kinds, except two: beginKind begins a segment, and markKind
// has no body; its number is that of a record up to which all were on the disk when it was written.
type Kind uint32

const (
	beginKind Kind = 0
	markKind  Kind = math.MaxUint32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged is the error of a journal that differs from what was written.
var ErrDamaged = errors.New("journal is damaged")

// ErrVersion is the error of a journal whose format has another version. The journal is whole, and stays.
var ErrVersion = errors.New("journal of another version")

// errTorn is the error of a file that ends within a record.
var errTorn = fmt.Errorf("it ends within a record: %w", ErrDamaged)

// appendRecord appends a record whose body is in parts.
func appendRecord(b []byte, kind Kind, number uint64, parts ...[]byte) []byte {
	at, size := len(b), 0
	b = append(b, make([]byte, headSize)...)
	for _, p := range parts {
		b, size = append(b, p...), size+len(p)
	}
	h := b[at:][:headSize]
	binary.LittleEndian.PutUint32(h, magic)
	binary.LittleEndian.PutUint32(h[4:], uint32(kind))
	binary.LittleEndian.PutUint64(h[8:], number)
	binary.LittleEndian.PutUint64(h[16:], uint64(size))
	binary.LittleEndian.PutUint32(h[24:], crc32.Checksum(h[:24], castagnoli))
	binary.LittleEndian.PutUint32(h[28:], crc32.Checksum(b[at+headSize:], castagnoli))
	return b
}

// record is a record that was read.
type record struct {
	kind   Kind
	number uint64
	body   []byte
}

// read reads the next record from a file with left bytes left, its body into room if that is large enough. It checks
// both checksums. It returns io.EOF at the end of the file, between two records.
func (r *record) read(from io.Reader, left int64, room *[]byte) error {
	var h [headSize]byte
	switch n, err := io.ReadFull(from, h[:]); {
	case err == io.ErrUnexpectedEOF:
		return fmt.Errorf("%d bytes of a record's first %d: %w", n, headSize, errTorn)
	case err != nil:
		return err
	}
	size := binary.LittleEndian.Uint64(h[16:])
	switch {
	case sound(h[:]) && string(h[:3]) == "gfj" && h[3] != magic>>24:
		return fmt.Errorf("it is of format version %c, this build reads version %c: %w", h[3], magic>>24, ErrVersion)
	case !isHead(h[:]):
		return fmt.Errorf("what should be a record's first bytes has another checksum: %w", ErrDamaged)
	case size > uint64(left)-headSize:
		return fmt.Errorf("a record of %d bytes, of which %d are there: %w", size, uint64(left)-headSize, errTorn)
	}
	if uint64(cap(*room)) < size {
		*room = make([]byte, size)
	}
	r.kind, r.number, r.body = Kind(binary.LittleEndian.Uint32(h[4:])), binary.LittleEndian.Uint64(h[8:]),
		(*room)[:size]
	if _, err := io.ReadFull(from, r.body); err != nil {
		return fmt.Errorf("record %d: %w", r.number, err)
	}
	if crc32.Checksum(r.body, castagnoli) != binary.LittleEndian.Uint32(h[28:]) {
		return fmt.Errorf("record %d has another checksum: %w", r.number, ErrDamaged)
	}
	return nil
}

// isHead reports whether h are the first bytes of a record.
func isHead(h []byte) bool {
	return binary.LittleEndian.Uint32(h) == magic && sound(h)
}

// sound reports whether the checksum of a record's first bytes is right.
func sound(h []byte) bool {
	return crc32.Checksum(h[:24], castagnoli) == binary.LittleEndian.Uint32(h[24:])
}
