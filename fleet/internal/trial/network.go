package trial

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// network is memory on which calls take a while, and which notes what passes.
type network struct {
	*transport.Memory
	latency time.Duration

	mu           sync.Mutex
	most, pushes int
	to           map[string]int
	dead         string // an endpoint that nothing reaches
}

// fallSilent lets nothing through to an endpoint any more, unless it is "", whose process goes on for some hours.
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
