package trial

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// network is a memory network with latency, which records its messages.
type network struct {
	*transport.Memory
	latency time.Duration

	mu           sync.Mutex
	most, pushes int
	to           map[string]int
	dead         string // an endpoint whose messages are not delivered
}

// fallSilent stops all messages to an endpoint, unless it is "", and lets its process run for some hours.
func (n *network) fallSilent(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	n.mu.Lock()
	n.dead = endpoint
	n.mu.Unlock()
	time.Sleep(hours)
	return nil
}

func (n *network) note(endpoint string, size int) (dead bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.most = max(n.most, size)
	n.to[endpoint] += size
	if size > 20_000 && endpoint == "server-0:1" {
		n.pushes++
	}
	return endpoint == n.dead
}

// Call implements transport.Transport.
func (n *network) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	wait := n.latency
	if n.note(endpoint, Size(req)) {
		wait = math.MaxInt64
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return n.Memory.Call(ctx, endpoint, req, func(answer []byte) error {
		n.note("", len(answer))
		return read(answer)
	})
}
