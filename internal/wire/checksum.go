package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The checksum of a frame is over what says whose it is and what its bytes mean: the header and each section's head.
// One bit there would make of a push another worker's, or one that was never counted, or have rows go to another table.
// What sections hold is the transport's to guard, which knows where bytes can be damaged at all.

// castagnoli is CRC-32C, which processors compute. It finds every damage of up to 32 bits in a row, and any three bits.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal puts the checksum at the end of the header of the frame in the making.
func (b *Builder) seal(header, parts []byte) {
	crc := crc32.Update(crc32.Update(0, castagnoli, header), castagnoli, parts)
	for _, at := range b.heads {
		crc = crc32.Update(crc, castagnoli, b.scratch[at:][:sectionSize])
	}
	binary.LittleEndian.AppendUint32(header, crc)
}

// sealed says whether the checksum in a frame is the one that it should have.
func (f *Frame) sealed(body []byte) error {
	if sum := binary.LittleEndian.Uint32(body[sumAt:]); sum != f.sum {
		return fmt.Errorf("wire: the checksum of header and %d sections is %08x and should be %08x: %w",
			len(f.Sections), sum, f.sum, ErrDamaged)
	}
	return nil
}

// Seal makes the checksum of a frame right that was changed, for tests of what receivers do with such frames. What
// can't be parsed for another reason stays as it is.
func Seal(body []byte) {
	var f Frame
	if errors.Is(f.ParseKept(body), ErrDamaged) {
		binary.LittleEndian.PutUint32(body[sumAt:], f.sum)
	}
}
