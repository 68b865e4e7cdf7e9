package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// An envelope is the first 16 bytes of a message between two Compressed transports. What follows stays 8-aligned.
//
//	byte 0     number of the codec the rest is encoded with, but for its first 64 bytes; 255: the rest is the text of a refusal
//	byte 1     number of the codec the sender wants to be answered with; in a refusal the number of its sentinel (refusals)
//	byte 2-7   length of the rest once decoded, little-endian
//	byte 8-11  CRC-32C of bytes 0-7 and the rest as it travels, little-endian
//	byte 12-15 0, 0, 0, 128; or 0 throughout, and bytes 8-11 too, in a message without checksum
//
// A client adds a checksum unless the transport below guards the endpoint; a server answers with one if it was asked
// with one, or with too little to tell.
type envelope struct {
	codec, want byte
	raw         int
	summed      bool // the message has a checksum
}

const (
	envelopeSize = 16
	plainBytes   = 64 // first bytes that are not encoded, so that a message can be screened before it is decoded
	sumAt        = 8  // offset of the checksum
	plainCodec   = 0  // codec.Codec's ID of none
	refusalCodec = 255
	largestRaw   = 1<<48 - 1
)

// refusals are the errors that keep their meaning at the client, by the number in which they are sent.
var refusals = [...]error{1: ErrTooLarge, 2: ErrRefused, 3: ErrCorrupt, 4: ErrBusy}

func refusalOf(err error) byte {
	for number, sentinel := range refusals {
		if sentinel != nil && errors.Is(err, sentinel) {
			return byte(number)
		}
	}
	return 0
}

// refusedBy is the error that the other side sent instead of an answer.
func refusedBy(number byte, text []byte) error {
	text = text[:min(len(text), textLimit)]
	if int(number) < len(refusals) && refusals[number] == ErrBusy {
		return fmt.Errorf("%w: %w: the server answers: %s", ErrBusy, ErrUnreachable, text)
	}
	if int(number) < len(refusals) && refusals[number] != nil {
		return fmt.Errorf("%w: the server answers: %s", refusals[number], text)
	}
	return fmt.Errorf("the server answers: %s", text)
}

// put writes the envelope of parts, which are in their final form.
func (e envelope) put(head *[envelopeSize]byte, parts ...[]byte) {
	binary.LittleEndian.PutUint64(head[:], uint64(e.raw)<<16|uint64(e.want)<<8|uint64(e.codec))
	sum := uint64(0)
	if e.summed {
		sum = checksum(head[:sumAt], parts...)
	}
	binary.LittleEndian.PutUint64(head[sumAt:], sum)
}

// readEnvelope reads the envelope of a message that has arrived in part.
func readEnvelope(first []byte, limit int) (e envelope, err error) {
	v := binary.LittleEndian.Uint64(first)
	raw := v >> 16
	if raw > uint64(limit) {
		return e, fmt.Errorf("%w: it decodes to %d bytes, the bound is %d", ErrTooLarge, raw, limit)
	}
	return envelope{codec: byte(v), want: byte(v >> 8), raw: int(raw)}, nil
}

// openEnvelope splits a message. It checks what can be checked before decoding.
func openEnvelope(message []byte, limit int) (e envelope, rest []byte, err error) {
	if len(message) < envelopeSize {
		e.summed = true // it may have had one, before it was cut
		return e, nil, fmt.Errorf("%w: %d bytes are not an envelope; both sides must be Compressed", ErrCorrupt,
			len(message))
	}
	sum := binary.LittleEndian.Uint64(message[sumAt:])
	rest = message[envelopeSize:]
	if sum != 0 {
		e.summed = true
		if want := checksum(message[:sumAt], rest); sum != want {
			return e, nil, fmt.Errorf("%w: the checksum of %d bytes is %08x and should be %08x",
				ErrCorrupt, len(message), uint32(want), uint32(sum))
		}
	}
	summed := e.summed
	if e, err = readEnvelope(message, limit); err != nil {
		return envelope{summed: summed}, nil, err
	}
	e.summed = summed
	if plain := e.codec == plainCodec || e.codec == refusalCodec; plain && e.raw != len(rest) {
		return e, nil, fmt.Errorf("an envelope announces %d bytes and holds %d; both sides must be Compressed", e.raw,
			len(rest))
	}
	return e, rest, nil
}
