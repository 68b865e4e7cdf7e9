package trial

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// Tap is a network with functions that see its messages.
type Tap struct {
	transport.Transport
	// Before is called with every call; its error fails the call, which is then not delivered.
	Before func(endpoint string, req [][]byte) error
	// Answer is called with every answer; nil means no function.
	Answer func(body []byte)
}

// Call implements [transport.Transport].
func (n *Tap) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if err := n.Before(endpoint, req); err != nil {
		return err
	}
	return n.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		if n.Answer != nil {
			n.Answer(body)
		}
		return read(body)
	})
}

// Requests returns a function that reports the requests to an endpoint, "" for any, whose name begins with what, or
// whose text does if what begins with a quote; see [Met].
func Requests(t testing.TB, to, what string) func(endpoint string, req [][]byte) bool {
	t.Helper()
	return Met(t, what, func(endpoint string, req [][]byte) bool {
		switch {
		case to != "" && endpoint != to:
			return false
		case what[0] == '"':
			return bytes.Contains(bytes.Join(req, nil), []byte(what))
		}
		return strings.HasPrefix(NameOf(req), what)
	})
}

// Met returns is, and fails the test if is was true for no request: otherwise the test would show nothing.
func Met(t testing.TB, what string, is func(endpoint string, req [][]byte) bool) func(endpoint string,
	req [][]byte) bool {
	t.Helper()
	var met atomic.Bool
	t.Cleanup(func() {
		if !met.Load() && !t.Failed() && !t.Skipped() {
			t.Errorf("no request was %s: what the test does then has not happened", what)
		}
	})
	return func(endpoint string, req [][]byte) bool {
		if !is(endpoint, req) {
			return false
		}
		met.Store(true)
		return true
	}
}

// Size is the number of bytes of a request.
func Size(req [][]byte) (n int) {
	for _, part := range req {
		n += len(part)
	}
	return n
}

// Latent delays every call by d, in virtual time.
func Latent(d time.Duration) func(transport.Transport) transport.Transport {
	return func(below transport.Transport) transport.Transport {
		return &Tap{Transport: below, Before: func(string, [][]byte) error { time.Sleep(d); return nil }}
	}
}
