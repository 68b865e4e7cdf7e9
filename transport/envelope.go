package transport

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/transport/codec"
)

// An envelope is the first 8 bytes of a message between two Compressed transports. What follows stays 8-aligned.
//
//	byte 0     number of the codec the rest is encoded with; 255: the rest is the text of a refusal
//	byte 1     number of the codec the sender wants to be answered with; in a refusal 1 for ErrTooLarge, 2 for ErrRefused, else 0
//	byte 2-7   length of the rest once decoded, little-endian
type envelope struct {
	codec, want byte
	raw         int
}

const (
	envelopeSize = 8
	refusalCodec = 255
	largestRaw   = 1<<48 - 1
)

// refusals are the errors that keep their meaning on the way to the client, by the number they travel as.
var refusals = [...]error{1: ErrTooLarge, 2: ErrRefused}

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
	if int(number) < len(refusals) && refusals[number] != nil {
		return fmt.Errorf("%w: the server answers: %s", refusals[number], text)
	}
	return fmt.Errorf("the server answers: %s", text)
}

func (e envelope) put(head *[envelopeSize]byte) {
	binary.LittleEndian.PutUint64(head[:], uint64(e.raw)<<16|uint64(e.want)<<8|uint64(e.codec))
}

// openEnvelope splits a message. It checks what can be known before decoding.
func openEnvelope(message []byte, limit int) (e envelope, rest []byte, err error) {
	if len(message) < envelopeSize {
		return e, nil, fmt.Errorf("a message of %d bytes has no envelope; both sides must be Compressed", len(message))
	}
	v := binary.LittleEndian.Uint64(message)
	rest = message[envelopeSize:]
	raw := v >> 16
	if raw > uint64(limit) {
		return e, nil, fmt.Errorf("%w: it decodes to %d bytes, the bound is %d", ErrTooLarge, raw, limit)
	}
	e = envelope{codec: byte(v), want: byte(v >> 8), raw: int(raw)}
	if plain := e.codec == codec.NoneID || e.codec == refusalCodec; plain && e.raw != len(rest) {
		return e, nil, fmt.Errorf("an envelope announces %d bytes and holds %d; both sides must be Compressed", e.raw, len(rest))
	}
	return e, rest, nil
}
