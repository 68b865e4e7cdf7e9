package transport

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gofleet/gofleet/internal/count"
)

// Metered is an optional interface of a [Transport] with counters. [FastHTTP], [Memory] and [Compressed] implement it.
type Metered interface {
	Stats() Stats
}

// Stats are the counters of a transport since it was made, and gauges of requests in flight. Bytes are those of
// messages, without the overhead of HTTP, TLS and TCP. Logged with slog, it shows the values that are not zero, and raw
// bytes if a codec saved some:
//
//	slog.Info("transport", "stats", t.Stats())
type Stats struct {
	Calls    int64 `count:"calls"` // that have returned
	Failed   Failures
	Sent     int64 `count:"sent"`     // bytes of requests that were answered
	Received int64 `count:"received"` // bytes of answers
	Dials    int64 `count:"dials"`    // connections that were made; calls in a row share one
	// Waited is how long calls, all together, have waited for MaxInFlight.
	Waited time.Duration `count:"waited"`

	Served         int64 `count:"served"`          // requests that a handler has answered
	ServedReceived int64 `count:"served_received"` // bytes of these requests
	ServedSent     int64 `count:"served_sent"`     // bytes of their answers
	Refused        Refusals
	// ServedWaited is how long requests, all together, have waited to be read because of MaxInFlight.
	ServedWaited time.Duration `count:"served_waited"`

	// Under way now: calls that have not returned and their bytes, and requests that are read or handled and theirs.
	InFlight      int64 `count:"in_flight"`
	InFlightBytes int64 `count:"in_flight_bytes"`
	Serving       int64 `count:"serving"`
	ServingBytes  int64 `count:"serving_bytes"`

	// RawSent and RawReceived are the bytes of requests before encoding and of answers after decoding;
	// RawServedReceived and RawServedSent the same for served requests. Only Compressed counts them.
	RawSent           int64 `count:"raw_sent" name:"transport_raw_bytes_total" by:"of=sent" help:"Before compression."`
	RawReceived       int64 `count:"raw_received" name:"transport_raw_bytes_total" by:"of=received"`
	RawServedReceived int64 `count:"raw_served_received" name:"transport_raw_bytes_total" by:"of=served_received"`
	RawServedSent     int64 `count:"raw_served_sent" name:"transport_raw_bytes_total" by:"of=served_sent"`
}

// Failures are calls that returned an error of the transport, by what the error wraps.
type Failures struct {
	Unreachable int64 `count:"unreachable"`      // ErrUnreachable: no server saw the request
	Busy        int64 `count:"busy"`             // ErrBusy, which is ErrUnreachable too and not counted there
	Refused     int64 `count:"was_refused"`      // ErrRefused
	TooLarge    int64 `count:"too_large"`        // ErrTooLarge
	Corrupt     int64 `count:"corrupt"`          // ErrCorrupt
	Ended       int64 `count:"ended"`            // the end of ctx
	Other       int64 `count:"failed_otherwise"` // a connection that broke, a handler that panicked
}

// Refusals counts connections and requests that listeners have refused, by cause. Each got an error, and none reached
// the handler.
type Refusals struct {
	Certificate int64 `count:"refused_certificate"` // TLS handshakes that failed: no certificate, or one of another CA
	Plaintext   int64 `count:"refused_plaintext"`   // clients that do not speak TLS where it is spoken
	Token       int64 `count:"refused_token"`
	Version     int64 `count:"refused_version"` // of the protocol
	Cluster     int64 `count:"refused_cluster"`
	Stranger    int64 `count:"refused_stranger"`  // HTTP of another protocol
	TooLarge    int64 `count:"refused_too_large"` // requests over the bound
	Busy        int64 `count:"refused_busy"`      // requests for which there was no room in time (MaxInFlight)
	Corrupt     int64 `count:"refused_corrupt"`   // requests that were damaged on their way
}

// LogValue implements [slog.LogValuer].
func (s Stats) LogValue() slog.Value {
	shown := func(raw *int64, encoded int64) {
		if *raw <= encoded {
			*raw = 0
		}
	}
	shown(&s.RawSent, s.Sent)
	shown(&s.RawReceived, s.Received)
	shown(&s.RawServedReceived, s.ServedReceived)
	shown(&s.RawServedSent, s.ServedSent)
	return slog.GroupValue(count.Attrs(s)...)
}

var _ = count.Register(new(callMeter), new(serveMeter))

// tally is a counter that many goroutines increment.
type tally = count.Counter

// callMeter counts what a transport does as a client.
type callMeter struct {
	calls    tally `count:"calls" name:"transport_calls_total" help:"Calls that have returned."`
	sent     tally `count:"sent" name:"transport_sent_bytes_total" help:"Requests that were answered."`
	received tally `count:"received" name:"transport_received_bytes_total" help:"Answers."`
	dials    tally `count:"dials" name:"transport_dials_total" help:"Connections made."`
	waited   tally `count:"waited" name:"transport_waited_seconds_total" help:"Waits for room."`

	inFlight      tally `count:"in_flight" name:"transport_in_flight_calls" help:"Calls under way."`
	inFlightBytes tally `count:"in_flight_bytes" name:"transport_in_flight_bytes" help:"Calls under way."`

	unreachable tally `count:"unreachable" name:"transport_failed_total" by:"cause=unreachable" help:"Failed."`
	busy        tally `count:"busy" name:"transport_failed_total" by:"cause=busy"`
	refused     tally `count:"was_refused" name:"transport_failed_total" by:"cause=refused"`
	tooLarge    tally `count:"too_large" name:"transport_failed_total" by:"cause=too_large"`
	corrupt     tally `count:"corrupt" name:"transport_failed_total" by:"cause=corrupt"`
	ended       tally `count:"ended" name:"transport_failed_total" by:"cause=ended"`
	otherwise   tally `count:"failed_otherwise" name:"transport_failed_total" by:"cause=other"`
}

// enter counts the beginning of a call, and end its end.
func (m *callMeter) enter(size int) {
	m.inFlight.Add(1)
	m.inFlightBytes.Add(int64(size))
}

// end counts the end of a call; err is the transport's error, nil for a call that was answered.
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
	return &m.otherwise
}

// serveMeter counts what a transport's listeners do.
type serveMeter struct {
	served   tally `count:"served" name:"transport_served_total" help:"Requests answered by a handler."`
	received tally `count:"served_received" name:"transport_served_received_bytes_total" help:"Requests answered."`
	sent     tally `count:"served_sent" name:"transport_served_sent_bytes_total" help:"Their answers."`
	waited   tally `count:"served_waited" name:"transport_served_waited_seconds_total" help:"Waits for room."`

	serving      tally `count:"serving" name:"transport_serving_requests" help:"Requests under way."`
	servingBytes tally `count:"serving_bytes" name:"transport_serving_bytes" help:"Requests under way."`

	certificate tally `count:"refused_certificate" name:"transport_refused_total" by:"cause=handshake" help:"Refused."`
	plaintext   tally `count:"refused_plaintext" name:"transport_refused_total" by:"cause=plaintext"`
	token       tally `count:"refused_token" name:"transport_refused_total" by:"cause=token"`
	version     tally `count:"refused_version" name:"transport_refused_total" by:"cause=version"`
	cluster     tally `count:"refused_cluster" name:"transport_refused_total" by:"cause=cluster"`
	stranger    tally `count:"refused_stranger" name:"transport_refused_total" by:"cause=stranger"`
	tooLarge    tally `count:"refused_too_large" name:"transport_refused_total" by:"cause=too_large"`
	busy        tally `count:"refused_busy" name:"transport_refused_total" by:"cause=busy"`
	corrupt     tally `count:"refused_corrupt" name:"transport_refused_total" by:"cause=corrupt"`
}

func (m *serveMeter) enter(size int) {
	m.serving.Add(1)
	m.servingBytes.Add(int64(size))
}

func (m *serveMeter) end(size int) {
	m.serving.Add(-1)
	m.servingBytes.Add(int64(-size))
}

// answered counts a request that a handler has answered, and the bytes of both messages.
func (m *serveMeter) answered(request, answer int) {
	m.served.Add(1)
	m.received.Add(int64(request))
	m.sent.Add(int64(answer))
}
