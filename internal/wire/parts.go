package wire

import (
	"encoding/binary"
	"fmt"
)

// The parts of a head are between the header and the sections. This build knows one. It skips
// unknown parts that may be skipped, and refuses others.
const (
	partUnit = 8 // bytes; the header has the size of all parts in such units
	partHead = 4
	// partServerLife is a u32, [Header.ServerLife].
	partServerLife = 3
	serverLifeSize = 4
)

// partNames are the names of parts that this build or later ones may send.
var partNames = [...]string{"", "a trace's context", "a reader's proof", "a server's life"}

// parts appends the parts of a head.
func (h *Header) parts(b []byte) []byte {
	if h.ServerLife == 0 {
		return b
	}
	b = append(b, partServerLife, flagSkip, serverLifeSize, 0)
	return binary.LittleEndian.AppendUint32(b, h.ServerLife)
}

// parts reads the parts of a frame's head up to its sections. unknown is why the frame must be refused, if its checksum
// is right.
func (f *Frame) parts(body []byte) (sections []byte, unknown, err error) {
	size := partUnit * int(body[7])
	if size > len(body)-headerSize {
		return nil, nil, fmt.Errorf("wire: parts of the head of %d bytes, %d are there: %w", size,
			len(body)-headerSize, ErrDamaged)
	}
	rest := body[headerSize : headerSize+size]
	for len(rest) > 0 { // there is always a whole unit, and so a part's head
		kind, flags, n := rest[0], rest[1], pad(partHead+int(binary.LittleEndian.Uint16(rest[2:])))
		if n > len(rest) {
			return nil, nil, fmt.Errorf("wire: a part of the head of %d bytes, %d are there: %w", n, len(rest),
				ErrDamaged)
		}
		switch {
		case kind == partServerLife && n == partUnit:
			f.ServerLife = binary.LittleEndian.Uint32(rest[partHead:])
		case flags&flagSkip == 0 && unknown == nil:
			unknown = fmt.Errorf("wire: %s of the head: %w", named("part", kind, partNames[:]), ErrUnknown)
		}
		rest = rest[n:]
	}
	return body[headerSize+size:], unknown, nil
}
