package transport

import "time"

// Limited is an optional power of a [Transport]: it knows its bound. [Memory], [FastHTTP] and [Compressed] have it.
type Limited interface {
	// MessageLimit is the number of bytes up to which Call and Reply take a message.
	MessageLimit() int
}

// LimitOf is the bound of t's messages, in bytes, or DefaultMaxMessage if t does not tell.
func LimitOf(t Transport) int {
	if l, ok := t.(Limited); ok {
		return l.MessageLimit()
	}
	return DefaultMaxMessage
}

// IdleCloser is an optional power of a [Transport] that keeps connections between calls. [FastHTTP] and [Compressed]
// have it.
type IdleCloser interface {
	// CloseIdleConnections closes the connections that no call uses. Later calls open new ones.
	CloseIdleConnections()
}

// Guarded is an optional power of a [Transport] that delivers every message as it was sent, or an error. [Compressed]
// adds a checksum to what goes over any other. [Memory] has it, and [FastHTTP] where TLS proves every byte or where the
// bytes never leave this machine: TCP's own checksum, of 16 bits, is too weak for the gradients of a long training.
type Guarded interface {
	// Guards says whether messages to the endpoint, and the answers, are safe from damage.
	Guards(endpoint string) bool
}

// Screener is an optional power of a [Listener] that looks at how a large request begins before there is room for all
// of it. The listeners of [FastHTTP], and of [Compressed] around it, have it.
type Screener interface {
	// ServeScreened is Serve. Of a request over 64 KiB, as it arrives or decoded, screen is given the first bytes, at
	// least 64, once or twice. What it refuses is answered with the error, and neither read nor decoded.
	ServeScreened(h Handler, screen func(first []byte) error) error
}

// ServeScreened is l's, or Serve where it has none.
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

// DefaultMaxMessage is the bound of a message, in bytes, where no other is set: 1 GiB.
const DefaultMaxMessage = 1 << 30

func orDefault[T int | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}
