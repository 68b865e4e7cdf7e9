package transport

import "time"

// Limited is an optional interface of a [Transport] with a message limit. [Memory], [FastHTTP] and [Compressed]
// implement it.
type Limited interface {
	// MessageLimit is the largest message of Call and Reply, in bytes.
	MessageLimit() int
}

// LimitOf returns the limit of t's messages in bytes, or DefaultMaxMessage if t is not Limited.
func LimitOf(t Transport) int {
	if l, ok := t.(Limited); ok {
		return l.MessageLimit()
	}
	return DefaultMaxMessage
}

// IdleCloser is an optional interface of a [Transport] that keeps connections between calls. [FastHTTP] and
// [Compressed] implement it.
type IdleCloser interface {
	// CloseIdleConnections closes the connections that no call uses. Later calls open new ones.
	CloseIdleConnections()
}

// Guarded is an optional interface of a [Transport] that delivers every message unchanged or returns an error. Over
// other transports [Compressed] adds a checksum. [Memory] implements it, and [FastHTTP] guards endpoints with TLS and
// endpoints on this machine: TCP's own 16-bit checksum is too weak for the gradients of a long training.
type Guarded interface {
	// Guards says whether messages to the endpoint, and the answers, are safe from damage.
	Guards(endpoint string) bool
}

// Screener is an optional interface of a [Listener] that checks the beginning of a large request before memory for all
// of it is allocated. The listeners of [FastHTTP], and of [Compressed] around it, implement it.
type Screener interface {
	// ServeScreened is Serve, but first passes the beginning of each request over 64 KiB (as received or decoded), at
	// least 64 bytes, to screen, once or twice. If screen returns an error, it is the answer, and the request is
	// neither read nor decoded.
	ServeScreened(h Handler, screen func(first []byte) error) error
}

// ServeScreened calls l's method ServeScreened, or Serve if it has none.
func ServeScreened(l Listener, h Handler, screen func(first []byte) error) error {
	if s, ok := l.(Screener); ok {
		return s.ServeScreened(h, screen)
	}
	return l.Serve(h)
}

func guards(t Transport, endpoint string) bool {
	guarded, ok := t.(Guarded)
	return ok && guarded.Guards(endpoint)
}

// DefaultMaxMessage is the default limit of a message in bytes: 1 GiB.
const DefaultMaxMessage = 1 << 30

func orDefault[T int | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}
