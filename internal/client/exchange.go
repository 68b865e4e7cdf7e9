package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
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
	err     error
	version uint64 // of the dense weights that this worker has from the server
	read    uint64 // the version of the server's weights when it answered last; 0 before
	asked   []int  // the pulled embeddings that this server has rows of
	push    []cutRows
	pull    []cutRows
	pieces  [][]float32
}

// cutRows is one server's share of an embedding's ids, gathered where they are scattered in the batch.
type cutRows struct {
	share  layout.Share
	ids    []uint64
	rows   []float32
	counts []float32
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
	// all sends a frame to servers with nothing to do too.
	all bool
}

// rows are ids of an embedding, strictly increasing, and room for their rows.
type rows struct {
	ids  []uint64
	data []float32
	// counts are the shows and clicks of a push, two for each id; nil when nothing is said of them.
	counts []float32
}

// set makes r a copy of o, in its own memory.
func (r *rows) set(o rows) {
	r.ids, r.data = append(r.ids[:0], o.ids...), append(r.data[:0], o.data...)
	if o.counts == nil {
		r.counts = nil
		return
	}
	r.counts = append(r.counts[:0], o.counts...)
}

// want makes r a copy of ids and room for their rows, in its own memory.
func (r *rows) want(ids []uint64, dim int) {
	r.ids = append(r.ids[:0], ids...)
	r.data = slices.Grow(r.data[:0], len(ids)*dim)[:len(ids)*dim]
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

// cut divides ids among the lanes.
func (x *exchange) cut(batch []rows, of func(*lane) []cutRows) {
	shares := make([]layout.Share, len(x.lanes))
	for e := range batch {
		for s := range x.lanes {
			shares[s] = of(&x.lanes[s])[e].share
		}
		x.c.c.Layout.Cut(x.c.c.Layout.Embeddings[e], batch[e].ids, shares)
		for s := range x.lanes {
			of(&x.lanes[s])[e].share = shares[s]
		}
	}
}

// each does something for every server, all together, and returns the first error in the servers' order.
func (x *exchange) each(do func(s int) error) error {
	var wg sync.WaitGroup
	last := len(x.lanes) - 1
	for s := range last {
		wg.Go(func() { x.lanes[s].err = do(s) })
	}
	x.lanes[last].err = do(last)
	wg.Wait()
	for s := range x.lanes {
		if err := x.lanes[s].err; err != nil {
			return err
		}
	}
	return nil
}

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
	h.Round, h.Samples, h.Step, h.Acked = uint64(r.round), uint32(r.samples), r.step, r.acked
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

func (x *exchange) table(e int) uint32 { return uint32(x.c.c.Layout.Embeddings[e]) }

func (x *exchange) dim(e int) int { return x.c.c.Layout.Params[x.c.c.Layout.Embeddings[e]].Dim() }

// gather is a share's gradients: as they lie when they lie side by side, copied together otherwise.
func (x *exchange) gather(c *cutRows, e int, r rows) []float32 {
	dim := x.dim(e)
	if c.share.Run() {
		return r.data[c.share.Lo*dim : c.share.Hi*dim]
	}
	c.rows = slices.Grow(c.rows[:0], len(c.share.At)*dim)
	for _, at := range c.share.At {
		c.rows = append(c.rows, r.data[int(at)*dim:][:dim]...)
	}
	return c.rows
}

// take is the share's part of ids.
func (c *cutRows) take(ids []uint64) []uint64 {
	if c.share.Run() {
		return ids[c.share.Lo:c.share.Hi]
	}
	c.ids = c.ids[:0]
	for _, at := range c.share.At {
		c.ids = append(c.ids, ids[at])
	}
	return c.ids
}

// takeCounts is the share's part of counts; nil of nil.
func (c *cutRows) takeCounts(counts []float32) []float32 {
	if counts == nil {
		return nil
	}
	if c.share.Run() {
		return counts[2*c.share.Lo : 2*c.share.Hi]
	}
	c.counts = c.counts[:0]
	for _, at := range c.share.At {
		c.counts = append(c.counts, counts[2*at:][:2]...)
	}
	return c.counts
}

// putCounts adds the shows and clicks of the rows before them to a server's frame, if there are any.
func (x *exchange) putCounts(s, e int, counts []float32) {
	if counts != nil {
		x.lanes[s].build.Counts(x.table(e), counts)
	}
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

// readRows puts the rows [lo, hi) of a share where they belong among the batch's.
func (x *exchange) readRows(share *layout.Share, lo, hi, e int, sec wire.Section, dst []float32) error {
	w, err := sec.Rows()
	if err != nil {
		return err
	}
	dim := x.dim(e)
	if len(w) != (hi-lo)*dim {
		return fmt.Errorf("%d values came for %d rows of %q", len(w), hi-lo, x.c.c.Layout.Params[x.table(e)].Name)
	}
	if share.Run() {
		copy(dst[(share.Lo+lo)*dim:], w)
		return nil
	}
	for i, at := range share.At[lo:hi] {
		copy(dst[int(at)*dim:][:dim], w[i*dim:])
	}
	return nil
}
