package wire

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
)

// Kind is the kind of a section's contents.
type Kind uint8

// The kinds of section.
const (
	KindDense Kind = iota + 1
	KindIDs
	KindRows
	KindBlob
	KindPiece
	KindSpan
	KindChanged
	KindClicks
	KindPosition
	kindEnd
)

// kindNames describe sections for a person. The last are names of kinds that later builds may have.
var kindNames = [...]string{"", "dense floats", "ids", "rows", "a message", "a piece's number", "a span",
	"changed rows", "shows and clicks", "positions", "rows of two widths", "dense weights by change"}

func (k Kind) String() string { return named("kind", uint8(k), kindNames[:]) }

// named is a number, with its name if it has one.
func named(what string, n uint8, names []string) string {
	if int(n) < len(names) && names[n] != "" {
		return fmt.Sprintf("%s %d (%s)", what, n, names[n])
	}
	return fmt.Sprintf("%s %d", what, n)
}

// A section's flags: flagBare marks rows without ids, which answer the ids of a request, in its order; flagAll marks an
// answer of changed rows that begins anew; the two bits above are the encoding of floats; flagPeek marks ids whose rows
// are read as for an evaluation. A receiver skips an unknown section with flagSkip.
const (
	flagBare      = 1
	flagAll       = 1 // of changed rows
	encodingShift = 1
	flagPeek      = 1 << 3
	flagsEnd      = 1 << 4
	flagSkip      = 1 << 7
)

const sectionSize = 16

// Section is one part of a parsed frame. It aliases the frame's bytes.
type Section struct {
	Kind  Kind
	Param uint32
	bare  bool
	peek  bool
	coded Encoding
	data  []byte
}

// Frame is a parsed message.
type Frame struct {
	Header
	Sections []Section
	Size     int    // in bytes, as received
	sum      uint32 // the right checksum
}

// Parse reads a frame that fills body. Its sections alias body. f's slice of sections is reused.
//
// It checks that heads and payloads lie within body, that header and heads are undamaged (ErrDamaged for both), and
// that nothing in them is unknown, except what may be skipped (ErrUnknown). Sizes inside a payload, such as the number
// of its ids, are checked when it is read, before anything is allocated (split). Packages server and exchange, which
// know the model, check that ids exist and shapes fit.
func (f *Frame) Parse(body []byte) error {
	f.Sections, f.Size = f.Sections[:0], len(body)
	if err := f.Header.parse(body); err != nil {
		return err
	}
	rest, unknown, err := f.parts(body)
	if err != nil {
		return err
	}
	f.sum = crc32.Update(0, castagnoli, body[:sumAt])
	f.sum = crc32.Update(f.sum, castagnoli, body[headerSize:len(body)-len(rest)])
	for n := 1; len(rest) > 0; n++ {
		var s Section
		after, err := s.parse(rest)
		if err != nil {
			return fmt.Errorf("wire: section %d: %w", n, err)
		}
		f.sum = crc32.Update(f.sum, castagnoli, rest[:sectionSize])
		if err := known(rest); err == nil {
			f.Sections = append(f.Sections, s)
		} else if rest[1]&flagSkip == 0 && unknown == nil {
			unknown = fmt.Errorf("wire: section %d: %w", n, err)
		}
		rest = after
	}
	if err := f.sealed(body); err != nil {
		return err
	}
	return cmp.Or(unknown, f.Op.check())
}

func (s *Section) parse(b []byte) (rest []byte, err error) {
	if len(b) < sectionSize {
		return nil, fmt.Errorf("head cut off: %w", ErrDamaged)
	}
	size := binary.LittleEndian.Uint64(b[8:])
	flags := b[1] &^ flagSkip
	*s = Section{Kind: Kind(b[0]), bare: flags&flagBare != 0, peek: flags&flagPeek != 0,
		coded: Encoding(flags &^ flagPeek >> encodingShift), Param: binary.LittleEndian.Uint32(b[4:])}
	b = b[sectionSize:]
	if size > uint64(len(b)) {
		return nil, fmt.Errorf("payload of %d bytes, %d are there: %w", size, len(b), ErrDamaged)
	}
	padded := pad(int(size))
	if padded > len(b) {
		return nil, fmt.Errorf("padding cut off: %w", ErrDamaged)
	}
	s.data = b[:size]
	return b[padded:], nil
}

// known returns what in a section's head this build does not know.
func known(head []byte) error {
	kind, flags := Kind(head[0]), head[1]&^flagSkip
	coded := flags&^flagPeek>>encodingShift != 0
	switch {
	case kind == 0 || kind >= kindEnd:
		return fmt.Errorf("%v: %w", kind, ErrUnknown)
	case flags >= flagsEnd || flags&flagPeek != 0 && kind != KindIDs,
		coded && (flags&flagBare != 0 || kind != KindDense && kind != KindRows):
		return fmt.Errorf("flags %#x of %v: %w", flags, kind, ErrUnknown)
	case head[2] != 0 || head[3] != 0:
		return fmt.Errorf("bytes 2 and 3 of the head of %v: %w", kind, ErrUnknown)
	}
	return nil
}

// Peek reports that the rows of a KindIDs section are read as for an evaluation, which creates none.
func (s Section) Peek() bool { return s.peek }

// All reports that changed rows, from this answer on, are all rows that exist.
func (s Section) All() bool { return s.Kind == KindChanged && s.bare }

// Blob is the payload of a KindBlob section.
func (s Section) Blob() []byte { return s.data }

// Dense is the floats of a KindDense section. They alias the frame if its bytes are aligned, as a transport's buffers
// are; otherwise they are a copy. Floats in another encoding need [Section.DenseIn].
func (s Section) Dense() ([]float32, error) { return s.plain(s.data) }

// Count is the number of ids a KindIDs or KindRows section announces; 0 for bare rows.
func (s Section) Count() int {
	if s.bare || len(s.data) < 8 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(s.data))
}

// IDs appends the section's ids, strictly increasing, to dst.
func (s Section) IDs(dst []uint64) ([]uint64, error) {
	ids, _, err := s.split()
	if err != nil {
		return dst, err
	}
	return appendIDs(dst, ids, s.Count())
}

// Rows is the floats of a KindRows section; like Dense they alias the frame if they can, and in another encoding need
// [Section.RowsIn].
func (s Section) Rows() ([]float32, error) {
	if s.bare {
		return floats(s.data)
	}
	_, rows, err := s.split()
	if err != nil {
		return nil, err
	}
	return s.plain(rows)
}

// Clicks is the floats of a KindClicks section: shows and clicks of one id after the other. Like Dense they alias the
// frame if they can.
func (s Section) Clicks() ([]float32, error) {
	if len(s.data)%8 != 0 {
		return nil, fmt.Errorf("wire: shows and clicks of param %d in %d bytes: they are pairs: %w", s.Param,
			len(s.data), ErrFrame)
	}
	return floats(s.data)
}

// split splits a payload with ids into the ids' bytes and what follows their padding.
func (s Section) split() (ids, rest []byte, err error) {
	if s.bare || len(s.data) < 8 {
		return nil, nil, fmt.Errorf("wire: section of table %d has no ids: %w", s.Param, ErrFrame)
	}
	size := int64(binary.LittleEndian.Uint32(s.data[4:]))
	if size > int64(len(s.data)-8) || int64(s.Count()) > size {
		return nil, nil, fmt.Errorf("wire: table %d: %d ids in %d bytes of a payload of %d: %w",
			s.Param, s.Count(), size, len(s.data), ErrFrame)
	}
	end := min(8+pad(int(size)), len(s.data))
	return s.data[8 : 8+size], s.data[end:], nil
}

// appendIDs decodes n ids that fill b. Most differences take one byte or two, unpredictably: eight bytes are loaded at
// once, and if no number in them is longer, four ids are read without a branch for their sizes.
func appendIDs(dst []uint64, b []byte, n int) ([]uint64, error) {
	next := uint64(0) // the smallest id that may follow
	at, from := 0, len(dst)
	dst = slices.Grow(dst, n)[:from+n] // n is at most len(b)
	for i := 0; i < n; {
		if i+4 <= n && at+8 <= len(b) && next < 1<<63 { // four short numbers can't lead beyond 64 bits
			if w := binary.LittleEndian.Uint64(b[at:]); w&(w<<8)&highBits == 0 {
				size := 0
				next, size = fourShort((*[4]uint64)(dst[from+i:]), w, next)
				i, at = i+4, at+size
				continue
			}
		}
		d, size := uvarint(b[at:])
		if size <= 0 {
			return dst[:from+i], fmt.Errorf("wire: id %d of %d is cut off: %w", i+1, n, ErrFrame)
		}
		at += size
		id := next + d
		if id < next || id == math.MaxUint64 && i < n-1 {
			return dst[:from+i], fmt.Errorf("wire: id %d of %d is beyond 64 bits: %w", i+1, n, ErrFrame)
		}
		dst[from+i] = id
		i, next = i+1, id+1
	}
	if at != len(b) {
		return dst, fmt.Errorf("wire: %d bytes after the last id: %w", len(b)-at, ErrFrame)
	}
	return dst, nil
}

// fourShort reads four ids of one or two bytes each, and returns the smallest id that may follow, and their size.
func fourShort(ids *[4]uint64, w, next uint64) (_ uint64, size int) {
	for i := range ids {
		two := w >> 7 & 1
		ids[i] = next + w&0x7f + w>>1&0x3f80&-two
		next = ids[i] + 1
		w = w >> 8 >> (8 & -two)
		size += 1 + int(two)
	}
	return next, size
}

// uvarint is [binary.Uvarint] without a branch for each byte. Of eight bytes the first without the high bit ends the
// number, and their lower 7 bits are moved together in pairs.
func uvarint(b []byte) (v uint64, size int) {
	if len(b) < 8 {
		return binary.Uvarint(b)
	}
	w := binary.LittleEndian.Uint64(b)
	end := ^w & highBits
	if end == 0 {
		return binary.Uvarint(b)
	}
	w &= (end ^ (end - 1)) &^ highBits
	w = w&0x007f007f007f007f | w>>1&0x3f803f803f803f80
	w = w&0x00003fff00003fff | w>>2&0x0fffc0000fffc000
	w = w&0x000000000fffffff | w>>4&0x00fffffff0000000
	return w, bits.TrailingZeros64(end)>>3 + 1
}

// highBits are the bits that say of each byte of a number that another follows.
const highBits = 0x8080808080808080

func pad(n int) int { return (n + 7) &^ 7 }
