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

// Servers is what exchanges know of a worker's servers.
type Servers struct {
	Layout *layout.Layout
	// Payload is how pushed gradients travel.
	Payload wire.Encoding
	// MaxFrame bounds the frames of steps, in bytes.
	MaxFrame int
	// Workers is how many train together.
	Workers int
	// Header begins a frame of the worker.
	Header func(wire.Op) wire.Header
	// Life, if set, is the highest life that is known of a server.
	Life func(server int) uint32
	// Call sends a request to a server, as often as it takes, and gives the answer to read, which may be nil.
	Call func(ctx context.Context, server int, req [][]byte, read func(*wire.Frame) error) error
	// Counted, if set, is told of each request with a number that a server has answered as one that counts.
	Counted func(server int)
	// Linger is for how long a push that is under way is not given up when its context ends.
	Linger time.Duration
	// Tally counts what became of pushes.
	Tally Tally
	// IDs, if set, measures how ids travel, by embedding.
	IDs []IDSize
	// Sequence numbers pushes, and everything else that servers do once.
	Sequence Sequence
}

// Exchange is one step's traffic with all servers, and the memory for it, used again step after step by one goroutine.
type Exchange struct {
	s *Servers
	// Dense is where arriving dense weights go, by param; nil when they are not wanted.
	Dense [][]float32
	// Install, if set, is held while Dense is written.
	Install sync.Locker
	// Newest, if set, has the version of the dense weights in place, by server: older ones are left alone. Install
	// guards it.
	Newest []uint64
	// NoDense leaves the dense weights out.
	NoDense bool
	// Arrived counts the answers that brought dense weights.
	Arrived atomic.Int32
	// feedback holds what the rounding of narrow payloads took away; nil before the first such push.
	feedback *feedback
	lanes    []lane // by server
	shares   []layout.Share
}

// New is an exchange with servers.
func New(s *Servers) *Exchange {
	x := &Exchange{s: s, lanes: make([]lane, len(s.Layout.Parts)), shares: make([]layout.Share, len(s.Layout.Parts))}
	for i := range x.lanes {
		n := len(s.Layout.Embeddings)
		x.lanes[i].push, x.lanes[i].pull = make([]cutRows, n), make([]cutRows, 2*n)
	}
	return x
}

// send sends the frame that was built for a server; read may be nil.
func (x *Exchange) send(ctx context.Context, s int, read func(*wire.Frame) error) error {
	b := &x.lanes[s].build
	if x.s.Life != nil {
		b.Header().ServerLife = x.s.Life(s)
	}
	return x.s.Call(ctx, s, b.Parts(), read)
}

// Say sends every server a frame that is a header alone.
func (x *Exchange) Say(ctx context.Context, h wire.Header) error {
	return x.Each(func(s int) error {
		x.lanes[s].build.Reset(h)
		return x.counted(s, h.Seq, x.send(ctx, s, nil))
	})
}

// Each does something for every server, all together, and returns the first error in the servers' order.
func (x *Exchange) Each(do func(s int) error) error { return peer.All(len(x.lanes), do) }

// Read sets versions to the servers' weights' versions of their last answers, by server; 0 before.
func (x *Exchange) Read(versions []uint64) {
	for s := range x.lanes {
		versions[s] = x.lanes[s].read
	}
}

// Forget makes the next request bring the dense weights whatever came before.
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

// outcome counts what a server's answer says of a push, if the request was one.
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

// counted takes note of how a request ended that has a number, unless that is 0, and returns the same error.
func (x *Exchange) counted(s int, seq uint64, err error) error {
	if err == nil && seq > 0 && x.s.Counted != nil {
		x.s.Counted(s)
	}
	return err
}
