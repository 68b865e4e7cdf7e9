package exchange

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// Servers describes a worker's servers; all exchanges of the worker share it.
type Servers struct {
	Layout *layout.Layout
	// Payload is the encoding of pushed gradients.
	Payload wire.Encoding
	// MaxFrame bounds the frames of steps, in bytes.
	MaxFrame int
	// Workers is the number of workers in the job.
	Workers int
	// Header returns the header of a frame of the worker.
	Header func(wire.Op) wire.Header
	// Life, if set, returns the highest life of a server that this worker has seen.
	Life func(server int) uint32
	// Call sends a request to a server, repeats it until it is answered, and gives the answer to read, which may be
	// nil.
	Call func(ctx context.Context, server int, req [][]byte, read func(*wire.Frame) error) error
	// Counted, if set, is called for each numbered request that a server has acknowledged.
	Counted func(server int)
	// Linger is for how long a push under way continues after its context has ended.
	Linger time.Duration
	// Tally counts the outcomes of pushes.
	Tally Tally
	// IDs, if set, measures the size of ids in frames, by embedding.
	IDs []IDSize
	// Sequence numbers pushes and all other requests that servers carry out once.
	Sequence Sequence
}

// Exchange is one step's traffic with all servers, and its memory, which one goroutine reuses step after step.
type Exchange struct {
	s *Servers
	// Dense receives the dense weights of answers, by param; nil if they are not wanted.
	Dense [][]float32
	// Install, if set, is held while Dense is written.
	Install sync.Locker
	// Newest, if set, holds the version of the weights in Dense, by server: weights of older versions are dropped.
	// Install guards it.
	Newest []uint64
	// NoDense leaves dense weights out of requests.
	NoDense bool
	// Arrived counts the answers that had dense weights.
	Arrived atomic.Int32
	// feedback holds the rounding errors of narrow payloads; nil before the first such push.
	feedback *feedback
	lanes    []lane // by server
	shares   []layout.Share
	// longer, nil at first, is what the last context became whose requests linger; follows is that one's Done.
	longer  context.Context
	follows <-chan struct{}
	release func() bool // lets go of it
}

// New returns an exchange with servers.
func New(s *Servers) *Exchange {
	x := &Exchange{s: s, lanes: make([]lane, len(s.Layout.Parts)), shares: make([]layout.Share, len(s.Layout.Parts))}
	for i := range x.lanes {
		n := len(s.Layout.Embeddings)
		x.lanes[i].push, x.lanes[i].pull = make([]cutRows, n), make([]cutRows, 2*n)
	}
	return x
}

// send sends the frame built for a server; read may be nil.
func (x *Exchange) send(ctx context.Context, s int, read func(*wire.Frame) error) error {
	b := &x.lanes[s].build
	if x.s.Life != nil {
		b.Header().ServerLife = x.s.Life(s)
	}
	return x.s.Call(ctx, s, b.Parts(), read)
}

// Say sends every server a frame that has only a header.
func (x *Exchange) Say(ctx context.Context, h wire.Header) error {
	return x.Each(func(s int) error {
		x.lanes[s].build.Reset(h)
		return x.counted(s, h.Seq, x.send(ctx, s, nil))
	})
}

// Each calls do for every server, all at once, and returns the first error in the servers' order.
func (x *Exchange) Each(do func(s int) error) error { return peer.All(len(x.lanes), do) }

// Read sets versions to the version of each server's weights in its last answer, by server; 0 before any.
func (x *Exchange) Read(versions []uint64) {
	for s := range x.lanes {
		versions[s] = x.lanes[s].read
	}
}

// Forget makes the next request pull the dense weights even if they have not changed.
func (x *Exchange) Forget() {
	for s := range x.lanes {
		x.lanes[s].version = 0
	}
}

func (x *Exchange) header(r *Request) wire.Header {
	h := x.s.Header(r.Op)
	h.Round, h.Samples, h.Seq, h.Acked = uint64(r.Round), uint32(r.Push.Samples), r.Seq, r.Acked
	return h
}

// outcome counts the outcome of a push in a server's answer; it does nothing for other requests.
func (x *Exchange) outcome(s int, f *wire.Frame, r *Request) {
	if r.Push.Samples == 0 {
		return
	}
	from := x.lanes[s].read
	if r.From != nil {
		from = r.From[s]
	}
	x.s.Tally.count(f.Outcome(), from)
}

// counted calls Counted for a request with number seq that succeeded, and returns err. seq is 0 for a request without a
// number.
func (x *Exchange) counted(s int, seq uint64, err error) error {
	if err == nil && seq > 0 && x.s.Counted != nil {
		x.s.Counted(s)
	}
	return err
}
