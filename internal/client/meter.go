package client

import (
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/wire"
)

var _ backend.Metered = (*Client)(nil)

// meter measures a worker's requests, by op, and its links to servers.
type meter struct {
	// took holds, by op, the nanoseconds of a whole request, with all its attempts.
	took []*count.Histogram
	// links holds a meter for each server.
	links []linkMeter
}

// linkMeter counts bytes sent and received, requests that carry weights or gradients, and the nanoseconds until these
// were answered.
type linkMeter struct{ sent, received, calls, waited atomic.Int64 }

func newMeter(servers int) *meter { return &meter{wire.Times(), make([]linkMeter, servers)} }

// asked counts a request to a server that has ended, successful or not.
func (m *meter) asked(server int, req [][]byte, began time.Time) {
	op, took := wire.OpOf(req[0]), int64(time.Since(began))
	m.took[op].Observe(took)
	if op == wire.OpStep || op == wire.OpPeek || op == wire.OpPiece {
		m.links[server].calls.Add(1)
		m.links[server].waited.Add(took)
	}
}

// tried counts an attempt at a server. A request that is sent twice counts its bytes twice.
func (m *meter) tried(server int, req [][]byte) {
	n := 0
	for _, part := range req {
		n += len(part)
	}
	m.links[server].sent.Add(int64(n))
}

// answered counts an answer.
func (m *meter) answered(server int, f *wire.Frame) { m.links[server].received.Add(int64(f.Size)) }

// Traffic implements [backend.Metered].
func (c *Client) Traffic() backend.Traffic {
	m := c.link.meter
	t := backend.Traffic{Took: wire.Took(m.took), Stale: c.servers.Tally.Staleness(), Open: c.servers.Sequence.Open()}
	for s := range m.links {
		l := &m.links[s]
		t.Links = append(t.Links, backend.Link{Sent: l.sent.Load(), Received: l.received.Load(), Calls: l.calls.Load(),
			Waited: time.Duration(l.waited.Load())})
	}
	return t
}
