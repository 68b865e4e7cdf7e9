package trial

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// Arrival is a worker's transport that records the generation of the job which the worker has joined.
type Arrival struct {
	transport.Transport
	generation atomic.Int64
}

// Generation returns the number of the process of server 0 that began the generation, if these processes are pinned to
// numbers below 100; 0 means that the worker has joined none.
func (a *Arrival) Generation() int { return int(a.generation.Load()) }

// Call implements [transport.Transport].
func (a *Arrival) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	all := bytes.Join(req, nil)
	if len(all) < Envelope {
		return a.Transport.Call(ctx, endpoint, req, read)
	}
	h, err := wire.ParseHeader(all[Envelope:])
	if err != nil || h.Op != wire.OpJoin {
		return a.Transport.Call(ctx, endpoint, req, read)
	}
	return a.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		a.welcomed(h, body)
		return read(body)
	})
}

// welcomed records the answer to a join: only one of the possible generations proves the answer's life.
func (a *Arrival) welcomed(join wire.Header, body []byte) {
	var f wire.Frame
	var w wire.Welcome
	if len(body) < Envelope || f.Parse(body[Envelope:]) != nil || f.Refusal() != nil || f.JSON(&w) != nil {
		return
	}
	for process := range 100 {
		if roster.NewGeneration(uint64(process), join.Job).Life(join.Worker, w.Life) == w.Job {
			a.generation.Store(int64(process))
		}
	}
}
