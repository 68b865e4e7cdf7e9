package twin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// gate is shut while a role stands still.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed while it is open
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

// close shuts the gate for so long.
func (g *gate) close(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		return // it is shut
	}
	open := make(chan struct{})
	g.open = open
	time.AfterFunc(d, func() { close(open) })
}

// pass waits until the gate is open.
func (g *gate) pass(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// gated is a role's way to the network, which stands still when it does, or who it calls.
type gated struct {
	transport.Transport
	role  string
	gates map[string]*gate
}

// Call implements [transport.Transport].
func (t gated) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	time.Sleep(time.Millisecond)
	if err := errors.Join(t.gates[t.role].pass(ctx), t.gates[roleAt(endpoint)].pass(ctx)); err != nil {
		return err
	}
	return t.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		if err := errors.Join(t.gates[t.role].pass(ctx), t.gates[roleAt(endpoint)].pass(ctx)); err != nil {
			return err
		}
		return read(body)
	})
}

// roleAt is the role at an endpoint, "server-0:1".
func roleAt(endpoint string) string {
	var kind string
	var i int
	for _, kind = range []string{"server", "worker"} {
		if n, _ := fmt.Sscanf(endpoint, kind+"-%d:1", &i); n == 1 {
			return fmt.Sprintf("%s %d", kind, i)
		}
	}
	return ""
}
