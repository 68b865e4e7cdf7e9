package exchange

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// Run sends a request and returns when all answers are stored.
func (x *Exchange) Run(ctx context.Context, r Request) error {
	if r.Seq > 0 {
		ctx = x.Linger(ctx, x.s.Linger)
	}
	if r.Push.Samples > 0 && x.s.Payload != wire.Float32 {
		return x.narrowly(ctx, r)
	}
	return x.exchange(ctx, r)
}

// Linger returns a context that ends later than ctx, by d; it serves all requests with ctx. If ctx has ended already,
// or is such a context, it returns ctx.
func (x *Exchange) Linger(ctx context.Context, d time.Duration) context.Context {
	if d == 0 || ctx == x.longer || ctx.Err() != nil {
		return ctx
	}
	if done := ctx.Done(); x.longer == nil || x.follows != done {
		x.Release()
		longer, end := context.WithCancelCause(context.WithoutCancel(ctx))
		x.release = context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { end(context.Cause(ctx)) }) })
		x.longer, x.follows = longer, done
	}
	return x.longer
}

// Release lets go of the context of the last request.
func (x *Exchange) Release() {
	if x.longer != nil {
		x.release()
		x.longer = nil
	}
}

func (x *Exchange) exchange(ctx context.Context, r Request) error {
	x.cutPush(r.Push.Rows)
	x.cutPull(r.Pull)
	if wire.PositionsSize(r.Positions) > x.limit() {
		r.Positions = slices.Clone(r.Positions)
		for i := range r.Positions { // the checkpoint has those of the worker that saves
			r.Positions[i].Frozen = ""
		}
	}
	x.Arrived.Store(0)
	return x.Each(func(s int) error {
		if !x.fits(s, &r) {
			return x.inPieces(ctx, s, &r)
		}
		if !x.write(s, &r) {
			return nil
		}
		return x.counted(s, r.Seq, x.send(ctx, s, func(f *wire.Frame) error {
			x.outcome(s, f, &r)
			x.lanes[s].read = f.Version
			return x.read(s, f, &r)
		}))
	})
}

// write builds the frame for a server and reports whether it must be sent.
func (x *Exchange) write(s int, r *Request) bool {
	l := &x.lanes[s]
	b := &l.build
	h := x.header(r)
	if x.wantsDense(s) {
		h.Version = l.version
	}
	b.Reset(h)
	useful := r.All || h.Version != wire.NoDense
	b.Positions(r.Positions)
	if r.Push.Dense != nil {
		x.putDense(s, r.Push.Dense, 0, x.floats(s))
	}
	for e := range r.Push.Rows {
		if c := &l.push[e]; c.share.Len() > 0 {
			g := x.gather(c, e, r.Push.Rows[e])
			x.putRows(s, e, c.partOf(r.Push.Rows[e].IDs), g)
			x.putClicks(s, e, c.takeClicks(r.Push.Rows[e].Clicks))
			x.ungather(c, e, g, r.Push.Rows[e])
			useful = true
		}
	}
	l.asked = l.asked[:0]
	for e := range r.Pull {
		if c := &l.pull[e]; c.share.Len() > 0 {
			x.ask(s, e, c.partOf(r.Pull[e].IDs))
			l.asked = append(l.asked, e)
			useful = true
		}
	}
	return useful
}

// read stores a server's answer.
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
