package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// exchange is one step's traffic with all servers, and the memory for it, used again step after step by one goroutine.
type exchange struct {
	c *Client
	// dense is where arriving dense weights go, by param; nil when they are not wanted.
	dense [][]float32
	// install, if set, is held while dense is written.
	install sync.Locker
	// newest, if set, has the version of the dense weights in place, by server: older ones are left alone. install guards it.
	newest []uint64
	// noDense leaves the dense weights out.
	noDense bool
	// arrived counts the answers that brought dense weights.
	arrived atomic.Int32
	// feedback holds what the rounding of narrow payloads took away; nil before the first such push.
	feedback *feedback
	lanes    []lane // by server
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

// request is what a step wants of the servers.
type request struct {
	op      wire.Op
	round   mode.Round
	samples int
	step    uint64
	acked   uint64
	// push are the gradients, by dense param and by embedding; dense is nil when nothing is pushed.
	dense [][]float32
	push  []rows
	// from are the versions of the weights that the gradients were computed on, by server; nil are those of the exchange's
	// last answers.
	from []uint64
	// pull are the rows wanted, by embedding.
	pull []rows
	// all sends a frame to servers with nothing to do too, as every push does: rounds and saves go by steps on all servers.
	all bool
}

func newExchange(c *Client) *exchange {
	x := &exchange{c: c, lanes: make([]lane, len(c.c.Servers))}
	for i := range x.lanes {
		n := len(c.c.Layout.Embeddings)
		x.lanes[i].push, x.lanes[i].pull = make([]cutRows, n), make([]cutRows, n)
	}
	return x
}

// run sends a request and returns when all its answers are in place.
func (x *exchange) run(ctx context.Context, r request) error {
	if r.samples > 0 && x.c.payload != wire.Float32 {
		return x.narrowly(ctx, r)
	}
	return x.exchange(ctx, r)
}

func (x *exchange) exchange(ctx context.Context, r request) error {
	x.cut(r.push, func(l *lane) []cutRows { return l.push })
	x.cut(r.pull, func(l *lane) []cutRows { return l.pull })
	x.arrived.Store(0)
	return x.each(func(s int) error {
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
func (x *exchange) note(s int, f *wire.Frame, r *request) {
	from := x.lanes[s].read
	if r.from != nil {
		from = r.from[s]
	}
	x.c.counts.note(f, r, from)
}

// send sends the frame that was built for a server; read may be nil.
func (x *exchange) send(ctx context.Context, s int, read func(*wire.Frame) error) error {
	return x.c.call(ctx, x.c.patience(), s, x.lanes[s].build.Parts(), read)
}

// say sends every server a frame that is a header alone.
func (x *exchange) say(ctx context.Context, h wire.Header) error {
	return x.each(func(s int) error {
		x.lanes[s].build.Reset(h)
		return x.send(ctx, s, nil)
	})
}

// each does something for every server, all together, and returns the first error in the servers' order.
func (x *exchange) each(do func(s int) error) error { return peer.All(len(x.lanes), do) }

// write builds the frame for a server and says whether there is anything to send.
func (x *exchange) write(s int, r *request) bool {
	l := &x.lanes[s]
	b := &l.build
	h := x.header(r)
	if x.wantsDense(s) {
		h.Version = l.version
	}
	b.Reset(h)
	useful := r.all || h.Version != wire.NoDense
	if r.dense != nil {
		x.putDense(s, r.dense, 0, x.floats(s))
	}
	for e := range r.push {
		if c := &l.push[e]; c.share.Len() > 0 {
			g := x.gather(c, e, r.push[e])
			x.putRows(s, e, c.take(r.push[e].ids), g)
			x.putCounts(s, e, c.takeCounts(r.push[e].counts))
			x.ungather(c, e, g, r.push[e])
			useful = true
		}
	}
	l.asked = l.asked[:0]
	for e := range r.pull {
		if c := &l.pull[e]; c.share.Len() > 0 {
			b.IDs(x.table(e), c.take(r.pull[e].ids))
			l.asked = append(l.asked, e)
			useful = true
		}
	}
	return useful
}

// forget makes the next request bring the dense weights whatever came before.
func (x *exchange) forget() {
	for s := range x.lanes {
		x.lanes[s].version = 0
	}
}

func (x *exchange) header(r *request) wire.Header {
	h := x.c.header(r.op)
	h.Round, h.Samples, h.Seq, h.Acked = uint64(r.round), uint32(r.samples), r.step, r.acked
	return h
}

// floats is how many dense values live on a server.
func (x *exchange) floats(s int) int { return x.c.c.Layout.Parts[s].Floats }

func (x *exchange) wantsDense(s int) bool { return x.dense != nil && !x.noDense && x.floats(s) > 0 }

// span is the values [from, to) of a server's dense blocks, in the order they travel.
func (x *exchange) span(s int, dense [][]float32, from, to int) [][]float32 {
	l := &x.lanes[s]
	l.pieces = l.pieces[:0]
	for _, b := range x.c.c.Layout.Parts[s].Blocks {
		if lo, hi := max(from, b.At), min(to, b.At+b.Size); lo < hi {
			l.pieces = append(l.pieces, dense[b.Param][b.Offset:][lo-b.At:hi-b.At])
		}
	}
	return l.pieces
}

// read puts a server's answer where it belongs.
func (x *exchange) read(s int, f *wire.Frame, r *request) error {
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
			if err := x.readRows(share, 0, share.Len(), e, sec, r.pull[e].data); err != nil {
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
func (x *exchange) readDense(s int, version uint64, sec wire.Section, from, to int) error {
	w, err := sec.Dense()
	if err != nil {
		return err
	}
	if len(w) != to-from || x.dense == nil {
		return fmt.Errorf("%d dense weights came, %d were asked for", len(w), to-from)
	}
	if x.install != nil {
		x.install.Lock()
		defer x.install.Unlock()
		x.arrived.Add(1)
		if version < x.newest[s] {
			return nil // another request was faster
		}
		x.newest[s] = version
	}
	for _, p := range x.span(s, x.dense, from, to) {
		w = w[copy(p, w):]
	}
	return nil
}
