package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gofleet/gofleet/transport/codec"
)

// Compressed returns t with messages of at least 1 KiB encoded by c, if that leaves less than 95 % of them; other
// messages are sent unchanged, without a copy. Both sides must be Compressed with the same codec: a message encoded by
// another is refused before it is decoded, except for messages of up to 64 KiB, so that two sides can still report what
// else they differ in.
//
// A message carries a checksum unless t guards the endpoint; a damaged message is refused with [ErrCorrupt] on the
// receiving side.
//
// maxDecoded limits a message before encoding and after decoding, in bytes; 0 means t's limit. It is the only guard
// against a small message that decodes to a large one. The decoded requests that a listener has not yet answered are
// bounded like requests in FastHTTP.MaxInFlight: beyond the bound requests wait, up to StallTimeout.
func Compressed(t Transport, c codec.Codec, maxDecoded int) Transport {
	return &compressed{t: t, limit: boundOf(t, maxDecoded), codec: c}
}

const (
	worthTrying = 1 << 10 // bytes; a smaller message is one packet anyway
	worthProbe  = 1 << 18 // bytes; of a larger message a sample is tried first
	probePiece  = 8 << 10
)

// pays reports whether encoding left less than 95 %.
func pays(encoded, raw int) bool { return encoded < raw/100*95 }

func boundOf(t Transport, maxDecoded int) int {
	bound := orDefault(maxDecoded, largestRaw)
	if limited, ok := t.(interface{ MessageLimit() int }); ok {
		bound = min(bound, limited.MessageLimit()-envelopeSize)
	}
	return bound
}

// compressed is a Transport around another. It adds an envelope of 16 bytes to each message, which the other side
// removes, with the encoding of the rest, its length before encoding, and its checksum. It relies only on the contract
// of the transport below.
//
// The length before encoding is checked against limit before anything is decoded, and a codec never writes past it. So
// a small message can't decode to a larger one, and room bounds everything that is decoded at a time.
type compressed struct {
	t          Transport
	limit      int
	codec      codec.Codec
	others     otherCodecs
	calls      callMeter  // of raw bytes, and of errors above t
	serves     serveMeter // the same
	room       budget     // of decoded requests
	complaints complaints
}

// MessageLimit is an optional method of [Transport].
func (z *compressed) MessageLimit() int { return z.limit }

// Stats implements [Metered]: the transport's below, with what happened above it.
func (z *compressed) Stats() (s Stats) {
	if t, ok := z.t.(Metered); ok {
		s = t.Stats()
	}
	s.RawSent, s.RawReceived = z.calls.sent.Load(), z.calls.received.Load()
	s.RawServedReceived, s.RawServedSent = z.serves.received.Load(), z.serves.sent.Load()
	s.Failed.TooLarge += z.calls.tooLarge.Load()
	s.Failed.Refused += z.calls.refused.Load()
	s.Failed.Corrupt += z.calls.corrupt.Load()
	s.Failed.Other += z.calls.otherwise.Load()
	s.Failed.Busy += z.calls.busy.Load()
	s.Refused.Busy += z.serves.busy.Load()
	s.Refused.TooLarge += z.serves.tooLarge.Load()
	s.Refused.Corrupt += z.serves.corrupt.Load()
	s.Refused.Version += z.serves.version.Load()
	return s
}

// CloseIdleConnections implements [IdleCloser].
func (z *compressed) CloseIdleConnections() {
	if t, ok := z.t.(IdleCloser); ok {
		t.CloseIdleConnections()
	}
}

func (z *compressed) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	size := sizeOf(req)
	if size > z.limit {
		z.calls.tooLarge.Add(1)
		return failed(endpoint, oversize("request", size, z.limit))
	}
	p := newPacket()
	defer p.release()
	p.pack(req, z.codec, z.codec.ID(), !guards(z.t, endpoint))
	return z.t.Call(ctx, endpoint, p.parts, func(message []byte) error {
		e, rest, err := openEnvelope(message, z.limit)
		answer, held := rest, (*buffer)(nil)
		if err == nil {
			answer, held, err = z.decode(e, rest)
		}
		if err != nil {
			z.calls.cause(err).Add(1)
			return failed(endpoint, err)
		}
		defer held.release()
		z.calls.sent.Add(int64(size))
		z.calls.received.Add(int64(len(answer)))
		return read(answer)
	})
}

// decode returns the payload of a message. It is in rest or in held, which the caller releases.
func (z *compressed) decode(e envelope, rest []byte) (payload []byte, held *buffer, err error) {
	switch e.codec {
	case plainCodec:
		return rest, nil, nil
	case refusalCodec:
		return nil, nil, refusedBy(e.want, rest)
	}
	c, err := z.codecOf(e)
	if err != nil {
		return nil, nil, err
	}
	held = newBuffer(e.raw)
	if err := unpack(c, held.B, rest); err != nil {
		held.release()
		return nil, nil, fmt.Errorf("a message of %d bytes should decode to %d: %w", len(rest), e.raw, err)
	}
	return held.B, held, nil
}

// unpack decodes a message, whose beginning is not encoded, into memory of the announced size.
func unpack(c codec.Codec, to, message []byte) error {
	if min(len(to), len(message)) < plainBytes {
		return codec.ErrCorrupt
	}
	copy(to, message[:plainBytes])
	room := to[plainBytes:]
	got, err := c.Decode(room[:0:len(room)], message[plainBytes:], len(room))
	if err == nil && len(got) != len(room) {
		err = codec.ErrCorrupt
	}
	if err == nil && len(got) > 0 && &got[0] != &room[0] {
		copy(room, got) // the codec has used its own memory
	}
	return err
}

// Listen implements [Transport].
func (z *compressed) Listen(endpoint string) (Listener, error) {
	l, err := z.t.Listen(endpoint)
	if err != nil {
		return nil, err
	}
	return &compressedListener{Listener: l, z: z}, nil
}

type compressedListener struct {
	Listener
	z *compressed
}

// Serve implements [Listener].
func (l *compressedListener) Serve(h Handler) error {
	return l.Listener.Serve(func(req []byte, reply *Reply) { l.z.handle(l.Endpoint(), h, nil, req, reply) })
}

// ServeScreened is what [ServeScreened] calls, where the listener below has it.
func (l *compressedListener) ServeScreened(h Handler, screen func(first []byte) error) error {
	handle := func(req []byte, reply *Reply) { l.z.handle(l.Endpoint(), h, screen, req, reply) }
	return ServeScreened(l.Listener, handle, func(first []byte) error { return l.z.screen(first, screen) })
}

// screen checks a message's envelope, and passes the plain bytes after it to show.
func (z *compressed) screen(first []byte, show func([]byte) error) error {
	e, err := readEnvelope(first, z.limit)
	if err != nil {
		return err
	}
	if e.codec == plainCodec {
		return show(first[envelopeSize:])
	}
	if _, err := z.codecOf(e); err != nil {
		return err
	}
	return show(first[envelopeSize:][:plainBytes])
}

// handle decodes a request, calls the handler, and encodes the answer as the client wants it.
func (z *compressed) handle(endpoint string, h Handler, screen func([]byte) error, req []byte, reply *Reply) {
	p := newPacket()
	reply.Done = p.finish // also if h panics
	e, payload, c, err := z.open(req, screen, p)
	if err != nil {
		z.turnedAway(endpoint, err)
	} else {
		p.inner.Broken, p.inner.First = reply.Broken, reply.First
		h(payload, &p.inner)
		err = z.fits(p.inner.Parts)
	}
	if err == nil {
		z.serves.answered(len(payload), sizeOf(p.inner.Parts))
		p.pack(p.inner.Parts, c, e.want, e.summed)
	} else {
		p.refuse(err, e.summed)
	}
	reply.Parts, reply.Stranger = p.parts, p.inner.Stranger
}

// open decodes a request into memory of p, and finds the codec of the answer: the client's, or none if the client has
// another. A request that decodes to much is screened first, however few bytes were sent.
func (z *compressed) open(req []byte, screen func([]byte) error, p *packet) (e envelope, payload []byte, c codec.Codec,
	err error) {
	e, rest, err := openEnvelope(req, z.limit)
	if err != nil {
		return e, nil, nil, err
	}
	if e.codec != plainCodec && e.codec != refusalCodec {
		if _, err := z.codecOf(e); err != nil {
			return e, nil, nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		if screen != nil && e.raw > smallMessage && len(rest) >= plainBytes {
			if err := screen(rest[:plainBytes]); err != nil {
				return e, nil, nil, fmt.Errorf("%w: %w", ErrRefused, err)
			}
		}
		if err := p.admit(&z.room, e.raw, z.t); err != nil {
			return e, nil, nil, err
		}
	}
	if payload, p.req, err = z.decode(e, rest); err != nil {
		return e, nil, nil, err
	}
	if e.want == z.codec.ID() {
		return e, payload, z.codec, nil
	}
	c, err = codec.ByName("none")
	return e, payload, c, err
}

// codecOf is the codec that decodes a message: our own, or any for a small message.
func (z *compressed) codecOf(e envelope) (codec.Codec, error) {
	if e.codec == z.codec.ID() {
		return z.codec, nil
	}
	c, err := z.others.find(e.codec)
	if err == nil && e.raw > smallMessage {
		err = fmt.Errorf("a message of %d bytes is encoded with %s, this side has %s: set the same codec on both",
			e.raw, c.Name(), z.codec.Name())
	}
	return c, err
}

// turnedAway counts a request that did not reach the handler, and logs the reason.
func (z *compressed) turnedAway(endpoint string, err error) {
	cause := z.cause(err)
	cause.Add(1)
	if f, ok := z.t.(*FastHTTP); ok {
		z.complaints.say(f.logger(), cause, endpoint, "", err.Error())
	}
}

func (z *compressed) cause(err error) *tally {
	switch {
	case errors.Is(err, ErrBusy):
		return &z.serves.busy
	case errors.Is(err, ErrTooLarge), errors.Is(err, codec.ErrTooLarge):
		return &z.serves.tooLarge
	case errors.Is(err, ErrRefused): // for another codec
		return &z.serves.version
	}
	return &z.serves.corrupt
}

func (z *compressed) fits(parts [][]byte) error {
	if size := sizeOf(parts); size > z.limit {
		return oversize("answer", size, z.limit)
	}
	return nil
}

// otherCodecs are made once for each Compressed, since they keep working memory.
type otherCodecs struct {
	mu   sync.Mutex
	byID map[byte]codec.Codec
}

func (o *otherCodecs) find(id byte) (codec.Codec, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.byID[id]; c != nil {
		return c, nil
	}
	c, err := codec.ByID(id)
	if err != nil {
		return nil, err
	}
	if o.byID == nil {
		o.byID = make(map[byte]codec.Codec)
	}
	o.byID[id] = c
	return c, nil
}
