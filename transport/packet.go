package transport

import (
	"sync"

	"github.com/gofleet/gofleet/transport/codec"
)

// packet is a message in its envelope, with all that it holds until it is sent: the buffer of its encoded form, the
// decoded request that an answer may alias, and room in the budget for that request. release returns all of these, and
// the packet to its pool. A request is released when Call returns, an answer when the transport below has written it
// (Reply.Done).
type packet struct {
	head   [envelopeSize]byte
	first  [plainBytes]byte // of an encoded message
	parts  [][]byte         // head and the message
	body   *buffer          // the encoded message, if it was encoded
	req    *buffer          // the decoded request to which the packet is the answer
	inner  Reply            // the answer from the handler
	room   *budget          // charged for the decoded request; nil for none
	size   int              // the charged bytes
	limit  int64            // the budget's
	finish func()           // release, bound once
}

var packets sync.Pool

func newPacket() *packet {
	if p, ok := packets.Get().(*packet); ok {
		return p
	}
	p := new(packet)
	p.finish = p.release
	return p
}

func (p *packet) release() {
	p.inner.done()
	p.body.release()
	p.req.release()
	if p.room != nil {
		p.room.give(p.size, p.limit)
		p.room = nil
	}
	clear(p.parts)
	p.parts, p.body, p.req, p.inner.Parts, p.inner.Stranger = p.parts[:0], nil, nil, nil, false
	packets.Put(p)
}

// pack fills the packet with parts, encoded by c if that makes them smaller, and with a checksum if summed is set.
func (p *packet) pack(parts [][]byte, c codec.Codec, want byte, summed bool) {
	e := envelope{codec: plainCodec, want: want, raw: sizeOf(parts), summed: summed}
	p.parts = append(p.parts[:0], p.head[:])
	if first, small := p.encode(parts, e.raw, c); small != nil {
		e.codec = c.ID()
		p.parts = append(p.parts, first, small)
	} else {
		p.parts = append(p.parts, parts...)
	}
	e.put(&p.head, p.parts[1:]...)
}

// refuse fills the packet with an error.
func (p *packet) refuse(err error, summed bool) {
	text := []byte(err.Error())
	envelope{codec: refusalCodec, want: refusalOf(err), raw: len(text), summed: summed}.put(&p.head, text)
	p.parts = append(p.parts[:0], p.head[:], text)
}

// encode returns the beginning of the message, which is sent unencoded, and the rest encoded; nil if encoding does not
// pay.
func (p *packet) encode(parts [][]byte, size int, c codec.Codec) (first, small []byte) {
	if c.ID() == plainCodec || size < worthTrying || size >= worthProbe && !promising(parts, c) {
		return nil, nil
	}
	src, held := whole(parts, size)
	defer held.release()
	p.body = newBuffer(size + size/64 + 64) // room for data that does not shrink
	if small = c.Encode(p.body.B[:0], src[plainBytes:]); pays(plainBytes+len(small), size) {
		copy(p.first[:], src)
		return p.first[:], small
	}
	p.body.release()
	p.body = nil
	return nil, nil
}

// whole returns the parts in one slice; a single part is not copied.
func whole(parts [][]byte, size int) ([]byte, *buffer) {
	for _, part := range parts {
		if len(part) == size {
			return part, nil
		}
	}
	joined := join(parts, size)
	return joined.B, joined
}

// promising encodes three pieces of the largest part, so that a large message that does not shrink is neither copied
// nor encoded as a whole.
func promising(parts [][]byte, c codec.Codec) bool {
	var largest []byte
	for _, part := range parts {
		if len(part) > len(largest) {
			largest = part
		}
	}
	if len(largest) < 3*probePiece {
		return true
	}
	middle := len(largest) / 2
	sample := join([][]byte{largest[:probePiece], largest[middle : middle+probePiece],
		largest[len(largest)-probePiece:]}, 3*probePiece)
	defer sample.release()
	out := newBuffer(4 * probePiece)
	defer out.release()
	return pays(len(c.Encode(out.B[:0], sample.B)), len(sample.B))
}
