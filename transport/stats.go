package transport

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// Metered is an optional power of a [Transport] that counts. [FastHTTP], [Memory] and [Compressed] have it.
type Metered interface {
	Stats() Stats
}

// Stats are the counters of a transport: since it was made, except for the gauges of what is under way now. Bytes are
// messages' bytes, without what HTTP, TLS and TCP add. As a value of slog it shows what is not zero, and raw bytes
// where a codec saved some:
//
//	slog.Info("transport", "stats", t.Stats())
type Stats struct {
	Calls    int64 // that have returned
	Failed   Failures
	Sent     int64 // bytes of requests that were answered
	Received int64 // bytes of answers
	Dials    int64 // connections that were made; calls in a row share one
	// Waited is how long calls, all together, have waited for MaxInFlight.
	Waited time.Duration

	Served         int64 // requests that a handler has answered
	ServedReceived int64 // bytes of these requests
	ServedSent     int64 // bytes of their answers
	Refused        Refusals
	// ServedWaited is how long requests, all together, have waited to be read because of MaxInFlight.
	ServedWaited time.Duration

	// Under way now: calls that have not returned and their bytes, and requests that are read or handled and theirs.
	InFlight, InFlightBytes, Serving, ServingBytes int64

	// RawSent and RawReceived are the bytes of requests and answers before encoding and after decoding,
	// RawServedReceived and RawServedSent the same of what was served. Only Compressed counts them.
	RawSent, RawReceived, RawServedReceived, RawServedSent int64
}

// Failures are calls that returned an error of the transport, by what the error wraps.
type Failures struct {
	Unreachable int64 // ErrUnreachable: no server saw the request
	Busy        int64 // ErrBusy, which is ErrUnreachable too and not counted there
	Refused     int64 // ErrRefused
	TooLarge    int64 // ErrTooLarge
	Corrupt     int64 // ErrCorrupt
	Ended       int64 // the end of ctx
	Other       int64 // a connection that broke, a handler that panicked
}

// Refusals are connections and requests that listeners have turned away, by cause. Each was told, and the handler saw
// none.
type Refusals struct {
	Certificate int64 // TLS handshakes that failed: no certificate, or one of another CA
	Plaintext   int64 // clients that do not speak TLS where it is spoken
	Token       int64
	Version     int64 // of the protocol
	Cluster     int64
	Stranger    int64 // what is HTTP and not ours
	TooLarge    int64 // requests over the bound
	Busy        int64 // requests for which there was no room in time (MaxInFlight)
	Corrupt     int64 // requests that were damaged on their way
}

// LogValue implements [slog.LogValuer].
func (s Stats) LogValue() slog.Value {
	var attrs []slog.Attr
	count := func(name string, n int64) {
		if n != 0 {
			attrs = append(attrs, slog.Int64(name, n))
		}
	}
	wait := func(name string, d time.Duration) {
		if d != 0 {
			attrs = append(attrs, slog.Duration(name, d))
		}
	}
	raw := func(name string, n, encoded int64) {
		if n > encoded {
			count(name, n)
		}
	}
	count("calls", s.Calls)
	count("unreachable", s.Failed.Unreachable)
	count("busy", s.Failed.Busy)
	count("was_refused", s.Failed.Refused)
	count("too_large", s.Failed.TooLarge)
	count("corrupt", s.Failed.Corrupt)
	count("ended", s.Failed.Ended)
	count("failed_otherwise", s.Failed.Other)
	count("sent", s.Sent)
	raw("raw_sent", s.RawSent, s.Sent)
	count("received", s.Received)
	raw("raw_received", s.RawReceived, s.Received)
	count("dials", s.Dials)
	wait("waited", s.Waited)
	count("served", s.Served)
	count("served_received", s.ServedReceived)
	raw("raw_served_received", s.RawServedReceived, s.ServedReceived)
	count("served_sent", s.ServedSent)
	raw("raw_served_sent", s.RawServedSent, s.ServedSent)
	wait("served_waited", s.ServedWaited)
	count("refused_certificate", s.Refused.Certificate)
	count("refused_plaintext", s.Refused.Plaintext)
	count("refused_token", s.Refused.Token)
	count("refused_version", s.Refused.Version)
	count("refused_cluster", s.Refused.Cluster)
	count("refused_stranger", s.Refused.Stranger)
	count("refused_too_large", s.Refused.TooLarge)
	count("refused_busy", s.Refused.Busy)
	count("refused_corrupt", s.Refused.Corrupt)
	count("in_flight", s.InFlight)
	count("in_flight_bytes", s.InFlightBytes)
	count("serving", s.Serving)
	count("serving_bytes", s.ServingBytes)
	return slog.GroupValue(attrs...)
}

// tally is a number that many goroutines add to.
type tally = atomic.Int64

// callMeter counts what a transport does as a client.
type callMeter struct {
	calls, sent, received, dials, waited, inFlight, inFlightBytes         tally
	unreachable, busy, refused, tooLarge, corrupt, ended, failedOtherwise tally
}

// begin counts a call in, and end out again.
func (m *callMeter) begin(size int) {
	m.inFlight.Add(1)
	m.inFlightBytes.Add(int64(size))
}

// end takes the transport's error, nil for a call that was answered.
func (m *callMeter) end(size int, err error) {
	m.inFlight.Add(-1)
	m.inFlightBytes.Add(int64(-size))
	m.calls.Add(1)
	if err != nil {
		m.cause(err).Add(1)
	}
}

func (m *callMeter) cause(err error) *tally {
	switch {
	case errors.Is(err, ErrBusy):
		return &m.busy
	case errors.Is(err, ErrRefused):
		return &m.refused
	case errors.Is(err, ErrTooLarge):
		return &m.tooLarge
	case errors.Is(err, ErrCorrupt):
		return &m.corrupt
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &m.ended
	case errors.Is(err, ErrUnreachable):
		return &m.unreachable
	}
	return &m.failedOtherwise
}

func (m *callMeter) into(s *Stats) {
	s.Calls, s.Sent, s.Received, s.Dials = m.calls.Load(), m.sent.Load(), m.received.Load(), m.dials.Load()
	s.Waited = time.Duration(m.waited.Load())
	s.InFlight, s.InFlightBytes = m.inFlight.Load(), m.inFlightBytes.Load()
	s.Failed = Failures{Unreachable: m.unreachable.Load(), Busy: m.busy.Load(), Refused: m.refused.Load(),
		TooLarge: m.tooLarge.Load(),
		Corrupt:  m.corrupt.Load(), Ended: m.ended.Load(), Other: m.failedOtherwise.Load()}
}

// serveMeter counts what a transport's listeners do.
type serveMeter struct {
	served, received, sent, waited, serving, servingBytes                              tally
	certificate, plaintext, token, version, cluster, stranger, tooLarge, busy, corrupt tally
}

func (m *serveMeter) begin(size int) {
	m.serving.Add(1)
	m.servingBytes.Add(int64(size))
}

func (m *serveMeter) end(size int) {
	m.serving.Add(-1)
	m.servingBytes.Add(int64(-size))
}

// answered counts a request that a handler has answered, and the sizes of both.
func (m *serveMeter) answered(request, answer int) {
	m.served.Add(1)
	m.received.Add(int64(request))
	m.sent.Add(int64(answer))
}

func (m *serveMeter) into(s *Stats) {
	s.Served, s.ServedReceived, s.ServedSent = m.served.Load(), m.received.Load(), m.sent.Load()
	s.ServedWaited = time.Duration(m.waited.Load())
	s.Serving, s.ServingBytes = m.serving.Load(), m.servingBytes.Load()
	s.Refused = Refusals{Certificate: m.certificate.Load(), Plaintext: m.plaintext.Load(), Token: m.token.Load(),
		Version: m.version.Load(),
		Cluster: m.cluster.Load(), Stranger: m.stranger.Load(), TooLarge: m.tooLarge.Load(), Busy: m.busy.Load(),
		Corrupt: m.corrupt.Load()}
}
