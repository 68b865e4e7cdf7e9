package exchange

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
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
	// Header begins a frame of the worker.
	Header func(wire.Op) wire.Header
	// Call sends a request to a server, as often as it takes, and gives the answer to read, which may be nil.
	Call func(ctx context.Context, server int, req [][]byte, read func(*wire.Frame) error) error
	// Tally counts what became of pushes.
	Tally Tally
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
	// Newest, if set, has the version of the dense weights in place, by server: older ones are left alone. Install guards it.
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

// lane is the traffic with one server.
type lane struct {
	build   wire.Builder
	version uint64 // of the dense weights that this worker has from the server
	read    uint64 // the version of the server's weights when it answered last; 0 before
	asked   []int  // the pulled embeddings that this server has rows of
	push    []cutRows
	pull    []cutRows
	pieces  [][]float32
}

// Request is what a step wants of the servers.
type Request struct {
	Op      wire.Op
	Round   mode.Round
	Samples int
	Seq     uint64
	Acked   uint64
	// Dense and Push are the gradients, by param and by embedding; Dense is nil when nothing is pushed.
	Dense [][]float32
	Push  []gradient.Rows
	// From are the versions of the weights that the gradients were computed on, by server; nil are those of the exchange's
	// last answers.
	From []uint64
	// Pull are the rows wanted, by embedding.
	Pull []Rows
	// All sends a frame to servers with nothing to do too, as every push does: rounds and saves go by steps on all servers.
	All bool
}

// New is an exchange with servers.
func New(s *Servers) *Exchange {
	x := &Exchange{s: s, lanes: make([]lane, len(s.Layout.Parts)), shares: make([]layout.Share, len(s.Layout.Parts))}
	for i := range x.lanes {
		n := len(s.Layout.Embeddings)
		x.lanes[i].push, x.lanes[i].pull = make([]cutRows, n), make([]cutRows, n)
	}
	return x
}

// Run sends a request and returns when all its answers are in place.
func (x *Exchange) Run(ctx context.Context, r Request) error {
	if r.Samples > 0 && x.s.Payload != wire.Float32 {
		return x.narrowly(ctx, r)
	}
	return x.exchange(ctx, r)
}

func (x *Exchange) exchange(ctx context.Context, r Request) error {
	x.cutPush(r.Push)
	x.cutPull(r.Pull)
	x.Arrived.Store(0)
	return x.Each(func(s int) error {
		if !x.fits(s, &r) {
			return x.inPieces(ctx, s, &r)
		}
		if !x.write(s, &r) {
			return nil
		}
		return x.send(ctx, s, func(f *wire.Frame) error {
			x.note(s, f, &r)
			x.lanes[s].read = f.Version
			return x.read(s, f, &r)
		})
	})
}

// note counts what a server's answer says of a push.
func (x *Exchange) note(s int, f *wire.Frame, r *Request) {
	from := x.lanes[s].read
	if r.From != nil {
		from = r.From[s]
	}
	x.s.Tally.note(f, r, from)
}

// send sends the frame that was built for a server; read may be nil.
func (x *Exchange) send(ctx context.Context, s int, read func(*wire.Frame) error) error {
	return x.s.Call(ctx, s, x.lanes[s].build.Parts(), read)
}

// Say sends every server a frame that is a header alone.
func (x *Exchange) Say(ctx context.Context, h wire.Header) error {
	return x.Each(func(s int) error {
		x.lanes[s].build.Reset(h)
		return x.send(ctx, s, nil)
	})
}

// Each does something for every server, all together, and returns the first error in the servers' order.
func (x *Exchange) Each(do func(s int) error) error { return peer.All(len(x.lanes), do) }

// write builds the frame for a server and says whether there is anything to send.
func (x *Exchange) write(s int, r *Request) bool {
	l := &x.lanes[s]
	b := &l.build
	h := x.header(r)
	if x.wantsDense(s) {
		h.Version = l.version
	}
	b.Reset(h)
	useful := r.All || h.Version != wire.NoDense
	if r.Dense != nil {
		x.putDense(s, r.Dense, 0, x.floats(s))
	}
	for e := range r.Push {
		if c := &l.push[e]; c.share.Len() > 0 {
			g := x.gather(c, e, r.Push[e])
			x.putRows(s, e, c.take(r.Push[e].IDs), g)
			x.putCounts(s, e, c.takeCounts(r.Push[e].Clicks))
			x.ungather(c, e, g, r.Push[e])
			useful = true
		}
	}
	l.asked = l.asked[:0]
	for e := range r.Pull {
		if c := &l.pull[e]; c.share.Len() > 0 {
			b.IDs(x.table(e), c.take(r.Pull[e].IDs))
			l.asked = append(l.asked, e)
			useful = true
		}
	}
	return useful
}

// Read sets versions to those of the servers' weights when they answered last, by server; 0 before.
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
	h.Round, h.Samples, h.Seq, h.Acked = uint64(r.Round), uint32(r.Samples), r.Seq, r.Acked
	return h
}

// floats is how many dense values live on a server.
func (x *Exchange) floats(s int) int { return x.s.Layout.Parts[s].Floats }

func (x *Exchange) wantsDense(s int) bool { return x.Dense != nil && !x.NoDense && x.floats(s) > 0 }

// span is the values [from, to) of a server's dense blocks, in the order they travel.
func (x *Exchange) span(s int, dense [][]float32, from, to int) [][]float32 {
	l := &x.lanes[s]
	l.pieces = l.pieces[:0]
	for _, b := range x.s.Layout.Parts[s].Blocks {
		if lo, hi := max(from, b.At), min(to, b.At+b.Size); lo < hi {
			l.pieces = append(l.pieces, dense[b.Param][b.Offset:][lo-b.At:hi-b.At])
		}
	}
	return l.pieces
}

// read puts a server's answer where it belongs.
func (x *Exchange) read(s int, f *wire.Frame, r *Request) error {
	l := &x.lanes[s]
	answers := 0
	for _, sec := range f.Sections {
		switch sec.Kind {
		case wire.KindDense:
			if err := x.readDense(s, f.Version, sec, 0, x.floats(s)); err != nil {
				return err
			}
			l.version = f.Version
		case wire.KindRows:
			if answers == len(l.asked) {
				return fmt.Errorf("%d embeddings answered, %d were asked for", answers+1, len(l.asked))
			}
			e := l.asked[answers]
			answers++
			share := &l.pull[e].share
			if err := x.readRows(share, 0, share.Len(), e, sec, r.Pull[e].W); err != nil {
				return err
			}
		}
	}
	if answers != len(l.asked) {
		return fmt.Errorf("%d embeddings answered, %d were asked for", answers, len(l.asked))
	}
	return nil
}

// readDense puts the dense values [from, to) of a server where they belong.
func (x *Exchange) readDense(s int, version uint64, sec wire.Section, from, to int) error {
	w, err := sec.Dense()
	if err != nil {
		return err
	}
	if len(w) != to-from || x.Dense == nil {
		return fmt.Errorf("%d dense weights came, %d were asked for", len(w), to-from)
	}
	if x.Install != nil {
		x.Install.Lock()
		defer x.Install.Unlock()
		x.Arrived.Add(1)
		if version < x.Newest[s] {
			return nil // another request was faster
		}
		x.Newest[s] = version
	}
	for _, p := range x.span(s, x.Dense, from, to) {
		w = w[copy(p, w):]
	}
	return nil
}
