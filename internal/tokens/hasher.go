package tokens

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"
	"sync"
)

// Hasher hashes the tokens of one field: it is dataset.HashID, fast for many of them. Tokens are short: package
// hash/crc32 is fast from 16 bytes on.
type Hasher struct {
	Height  int64  // 0 for a field without hashes
	prefix  uint32 // the sum of "field:"
	inverse uint64 // 2⁶⁴/height rounded up; 0 where no sum reaches height
	tables  *slicing8
}

// NewHasher returns a hasher for the tokens of a field, with ids below height (1 or more).
func NewHasher(field string, height int64) Hasher {
	h := Hasher{Height: height, prefix: crc32.ChecksumIEEE([]byte(field + ":")), tables: crcTables()}
	if height <= math.MaxUint32 {
		h.inverse = math.MaxUint64/uint64(height) + 1
	}
	return h
}

// ID returns the CRC-32 (IEEE) of "field:token", modulo Height.
func (h *Hasher) ID(token []byte) int64 {
	sum := h.prefix
	if len(token) < 32 {
		sum = h.tables.update(sum, token)
	} else {
		sum = crc32.Update(sum, crc32.IEEETable, token)
	}
	if h.inverse == 0 && h.Height > 1 {
		return int64(sum)
	}
	// This is the remainder without a division (Lemire, Kaser and Kurz, "Faster remainder by direct computation",
	// 2019), exact for 32 bits.
	id, _ := bits.Mul64(h.inverse*uint64(sum), uint64(h.Height))
	return int64(id)
}

// slicing8 has in table i the contribution of a byte with i bytes behind it.
type slicing8 [8]crc32.Table

var crcTables = sync.OnceValue(func() *slicing8 {
	t := &slicing8{*crc32.IEEETable}
	for i := range t[0] {
		sum := t[0][i]
		for behind := 1; behind < len(t); behind++ {
			sum = t[0][byte(sum)] ^ sum>>8
			t[behind][i] = sum
		}
	}
	return t
})

// update is crc32.Update for the IEEE polynomial.
func (t *slicing8) update(sum uint32, text []byte) uint32 {
	sum = ^sum
	for ; len(text) >= 8; text = text[8:] {
		w := binary.LittleEndian.Uint64(text) ^ uint64(sum)
		sum = t[7][byte(w)] ^ t[6][byte(w>>8)] ^ t[5][byte(w>>16)] ^ t[4][byte(w>>24)] ^
			t[3][byte(w>>32)] ^ t[2][byte(w>>40)] ^ t[1][byte(w>>48)] ^ t[0][byte(w>>56)]
	}
	for _, c := range text {
		sum = t[0][byte(sum)^c] ^ sum>>8
	}
	return ^sum
}
