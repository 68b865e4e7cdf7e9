package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The checksum of a frame covers the bytes that identify its sender and give its contents a meaning: the header and the
// head of each section. One wrong bit there would turn a push into another worker's, or into a new one, or move rows to
// another table. The transport guards the payloads, since it knows where bytes can be damaged at all.

// castagnoli is CRC-32C, which processors compute. It detects every damage of up to 32 consecutive bits, and any three
// bits.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal writes the checksum at the end of the header of the frame under construction.
func (b *Builder) seal(header, parts []byte) {
	crc := crc32.Update(crc32.Update(0, castagnoli, header), castagnoli, parts)
	for _, at := range b.heads {
		crc = crc32.Update(crc, castagnoli, b.scratch[at:][:sectionSize])
	}
	binary.LittleEndian.AppendUint32(header, crc)
}

// sealed checks the checksum of a frame.
func (f *Frame) sealed(body []byte) error {
	if sum := binary.LittleEndian.Uint32(body[sumAt:]); sum != f.sum {
		return fmt.Errorf("wire: the checksum of header and %d sections is %08x and should be %08x: %w",
			len(f.Sections), sum, f.sum, ErrDamaged)
	}
	return nil
}

// Seal corrects the checksum of a frame that was changed, for tests of receivers. It leaves a frame alone that can't be
// parsed for another reason.
func Seal(body []byte) {
	var f Frame
	if errors.Is(f.Parse(body), ErrDamaged) {
		binary.LittleEndian.PutUint32(body[sumAt:], f.sum)
	}
}
