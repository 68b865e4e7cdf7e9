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

// Tap is a network on which a test listens, or does worse.
type Tap struct {
	transport.Transport
	// Before sees every call; if it fails, so does the call, which is not delivered.
	Before func(endpoint string, req [][]byte) error
	// Answer sees every answer; nil sees none.
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

// Requests says which requests to an endpoint, "" for any, have a name that begins so, or a text if it begins with a
// quote; see [Met].
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

// Met is is. The test fails if that was said of no request: what is to happen at one has not happened, and the test
// shows nothing of it.
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

// Size is how many bytes a request has.
func Size(req [][]byte) (n int) {
	for _, part := range req {
		n += len(part)
	}
	return n
}

// Latent makes every call take so long, of virtual time.
func Latent(d time.Duration) func(transport.Transport) transport.Transport {
	return func(below transport.Transport) transport.Transport {
		return &Tap{Transport: below, Before: func(string, [][]byte) error { time.Sleep(d); return nil }}
	}
}
