package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gofleet/gofleet/transport/codec"
)

// Compressed returns t with messages encoded by c where that pays: from 1 KiB on, if less than 95 % are left. What does not
// pay is sent as it is, without a copy. Both sides must be Compressed, but not with the same codec: a listener decodes what
// any client sends and answers with that client's codec. A codec from outside package codec must be given to both sides.
//
// A message carries a checksum unless t is [Guarded], and one that was damaged is refused with [ErrCorrupt] on the side that
// reads it.
//
// maxDecoded bounds a message before encoding and after decoding, in bytes; 0 means what t can carry. It is the only guard
// against a small message that decodes to a large one. All that a listener has decoded and not yet answered is bounded as
// FastHTTP.MaxInFlight bounds what arrives: beyond it requests wait, up to StallTimeout.
func Compressed(t Transport, c codec.Codec, maxDecoded int) Transport {
	return &compressed{t: t, limit: boundOf(t, maxDecoded), codecs: codecSet{mine: c}}
}

const (
	worthTrying = 1 << 10 // bytes; below, a message is one packet anyway
	worthProbe  = 1 << 18 // bytes; from here on a sample is tried first
	probePiece  = 8 << 10
)

// pays says whether encoding left less than 95 %.
func pays(encoded, raw int) bool { return encoded < raw/100*95 }

func boundOf(t Transport, maxDecoded int) int {
	bound := orDefault(maxDecoded, largestRaw)
	if limited, ok := t.(Limited); ok {
		bound = min(bound, limited.MessageLimit()-envelopeSize)
	}
	return bound
}

// compressed is a Transport around another. What it adds to a message it takes off again on the other side: an envelope of 16 bytes, which
// says how the rest is encoded, how long it was before, and its checksum. Nothing of the transport below is assumed but its contract.
//
// The length before encoding is checked against limit before anything is decoded, and a codec never writes past it. So a small
// message can't make a large one of itself, and room bounds all that is decoded at a time.
type compressed struct {
	t      Transport
	limit  int
	codecs codecSet
	calls  callMeter  // of raw bytes, and what went wrong above t
	serves serveMeter // the same
	room   budget     // of requests that are decoded
}

// MessageLimit implements [Limited].
func (z *compressed) MessageLimit() int { return z.limit }

// Stats implements [Metered]: those of the transport below, with what happened above it.
func (z *compressed) Stats() (s Stats) {
	if t, ok := z.t.(Metered); ok {
		s = t.Stats()
	}
	s.RawSent, s.RawReceived = z.calls.sent.Load(), z.calls.received.Load()
	s.RawServedReceived, s.RawServedSent = z.serves.received.Load(), z.serves.sent.Load()
	s.Failed.TooLarge += z.calls.tooLarge.Load()
	s.Failed.Refused += z.calls.refused.Load()
	s.Failed.Corrupt += z.calls.corrupt.Load()
	s.Failed.Other += z.calls.failedOtherwise.Load()
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
	p.pack(req, z.codecs.mine, z.codecs.mine.ID(), !guards(z.t, endpoint))
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

// decode gives the payload of a message. It lies in rest or in held, which the caller releases.
func (z *compressed) decode(e envelope, rest []byte) (payload []byte, held *buffer, err error) {
	switch e.codec {
	case codec.NoneID:
		return rest, nil, nil
	case refusalCodec:
		return nil, nil, refusedBy(e.want, rest)
	}
	c, err := z.codecs.find(e.codec)
	if err != nil {
		return nil, nil, err
	}
	held = newBuffer(e.raw)
	payload, err = c.Decode(held.B[:0], rest, e.raw)
	if err == nil && len(payload) != e.raw {
		err = codec.ErrCorrupt
	}
	if err != nil {
		held.release()
		return nil, nil, fmt.Errorf("a message of %d bytes should decode to %d: %w", len(rest), e.raw, err)
	}
	return payload, held, nil
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
	return l.Listener.Serve(func(req []byte, reply *Reply) { l.z.handle(h, req, reply) })
}

// handle decodes a request, has it answered, and encodes the answer as the client wants it.
func (z *compressed) handle(h Handler, req []byte, reply *Reply) {
	p := newPacket()
	reply.Done = p.finish // also if h panics
	e, payload, c, err := z.open(req, p)
	if err != nil {
		z.turnedAway(err)
	} else {
		h(payload, &p.inner)
		err = z.fits(p.inner.Parts)
	}
	if err == nil {
		z.serves.answered(len(payload), sizeOf(p.inner.Parts))
		p.pack(p.inner.Parts, c, e.want, e.summed)
	} else {
		p.refuse(err, e.summed)
	}
	reply.Parts = p.parts
}

// open decodes a request into what p holds, and finds the codec of the answer.
func (z *compressed) open(req []byte, p *packet) (e envelope, payload []byte, c codec.Codec, err error) {
	e, rest, err := openEnvelope(req, z.limit)
	if err != nil {
		return e, nil, nil, err
	}
	if e.codec != codec.NoneID && e.codec != refusalCodec {
		if err := p.admit(&z.room, e.raw, z.t); err != nil {
			return e, nil, nil, err
		}
	}
	if payload, p.req, err = z.decode(e, rest); err != nil {
		return e, nil, nil, err
	}
	c, err = z.codecs.find(e.want)
	return e, payload, c, err
}

// turnedAway counts a request that the handler did not see.
func (z *compressed) turnedAway(err error) {
	switch {
	case errors.Is(err, ErrBusy):
		z.serves.busy.Add(1)
	case errors.Is(err, ErrTooLarge), errors.Is(err, codec.ErrTooLarge):
		z.serves.tooLarge.Add(1)
	case errors.Is(err, ErrRefused): // a codec that we do not know
		z.serves.version.Add(1)
	default:
		z.serves.corrupt.Add(1)
	}
}

func (z *compressed) fits(parts [][]byte) error {
	if size := sizeOf(parts); size > z.limit {
		return oversize("answer", size, z.limit)
	}
	return nil
}

// codecSet finds codecs by number. They are made once for each Compressed, for they keep working memory.
type codecSet struct {
	mine   codec.Codec
	mu     sync.Mutex
	others map[byte]codec.Codec
}

func (s *codecSet) find(id byte) (codec.Codec, error) {
	if id == s.mine.ID() {
		return s.mine, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.others[id]; c != nil {
		return c, nil
	}
	c, err := codec.ByID(id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if s.others == nil {
		s.others = make(map[byte]codec.Codec)
	}
	s.others[id] = c
	return c, nil
}
