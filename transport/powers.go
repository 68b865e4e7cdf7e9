package transport

import "time"

// LimitOf returns the largest message of t's Call and Reply in bytes: by its optional method MessageLimit, or 1 GiB.
func LimitOf(t Transport) int {
	if l, ok := t.(interface{ MessageLimit() int }); ok {
		return l.MessageLimit()
	}
	return defaultMaxMessage
}

// IdleCloser is an optional interface of a [Transport] that keeps connections between calls. [FastHTTP] and
// [Compressed] implement it.
type IdleCloser interface {
	// CloseIdleConnections closes the connections that no call uses. Later calls open new ones.
	CloseIdleConnections()
}

// ServeScreened is l.Serve, but first passes the beginning of each request over 64 KiB (as received or decoded), at
// least 64 bytes, to screen, once or twice, before memory for all of it is allocated. If screen returns an error, it is
// the answer, and the request is neither read nor decoded. A listener without such a method serves unscreened.
func ServeScreened(l Listener, h Handler, screen func(first []byte) error) error {
	if s, ok := l.(screener); ok {
		return s.ServeScreened(h, screen)
	}
	return l.Serve(h)
}

type screener interface {
	ServeScreened(h Handler, screen func(first []byte) error) error
}

// guards reports whether t says, by its optional method Guards, that messages to the endpoint, and the answers, are
// delivered unchanged or not at all.
func guards(t Transport, endpoint string) bool {
	guarded, ok := t.(interface{ Guards(endpoint string) bool })
	return ok && guarded.Guards(endpoint)
}

const defaultMaxMessage = 1 << 30

func orDefault[T int | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}
