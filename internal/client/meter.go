package client

import (
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/wire"
)

var _ backend.Metered = (*Client)(nil)

// meter is what a worker's requests take, by op, and what they carry, by server.
type meter struct {
	took           []*count.Histogram
	sent, received []atomic.Int64
}

func newMeter(servers int) *meter {
	return &meter{wire.Times(), make([]atomic.Int64, servers), make([]atomic.Int64, servers)}
}

// asked counts a request that has ended, whatever became of it.
func (m *meter) asked(req [][]byte, began time.Time) { m.took[wire.OpOf(req[0])].Since(began) }

// tried counts an attempt at a server.
func (m *meter) tried(server int, req [][]byte) {
	n := 0
	for _, part := range req {
		n += len(part)
	}
	m.sent[server].Add(int64(n))
}

// Traffic implements [backend.Metered].
func (c *Client) Traffic() backend.Traffic {
	m := c.link.meter
	t := backend.Traffic{Took: wire.Took(m.took), Stale: c.servers.Tally.Staleness(), Open: c.servers.Sequence.Open()}
	for s := range m.sent {
		t.Sent, t.Received = append(t.Sent, m.sent[s].Load()), append(t.Received, m.received[s].Load())
	}
	return t
}
