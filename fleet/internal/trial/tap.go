package trial

import (
	"context"
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
