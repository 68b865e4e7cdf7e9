package exchange

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/wire"
)

// A request larger than the strategy's frames is sent in pieces: a push as several frames that the server puts together
// before any of it counts, a pull as several pulls. Pieces follow one another, so that a server holds one frame of a
// worker's session at a time.

// piece is a part of a push or pull: the values [from, to) of the server's dense values, or the rows [from, to) of its
// share of embedding e, or nothing, with bare.
type piece struct {
	dense    bool
	bare     bool
	e        int
	from, to int
}

const (
	frameOverhead = wire.FrameOverhead
	idBytes       = 10 // of the longest id in a frame
	countBytes    = 8  // of shows and clicks
)

// Pieces of dense values are smaller than pieces of rows, since servers hold the pieces of all workers at once.
const (
	piecesAtOnce  = 64 << 20 // bytes of all workers
	largestPiece  = 8 << 20
	smallestPiece = 256 << 10
	mostBegun     = 1000 // times that a push is begun; it begins again when another worker is lost
)

// limit returns the most bytes of values in a frame.
func (x *Exchange) limit() int { return x.s.MaxFrame - frameOverhead }

// fits reports whether one frame holds the request to a server, and one the answer.
func (x *Exchange) fits(s int, r *Request) bool {
	l := &x.lanes[s]
	up, down := wire.PositionsSize(r.Positions), 0
	if r.Push.Dense != nil {
		up += x.s.Payload.DenseSize(x.floats(s))
	}
	if x.wantsDense(s) {
		down += 4 * x.floats(s)
	}
	for e := range r.Push.Rows {
		up += l.push[e].share.Len() * x.pushBytes(e)
	}
	for e := range r.Pull {
		n := l.pull[e].share.Len()
		up, down = up+n*idBytes, down+n*4*x.dim(e)
	}
	return up <= x.limit() && down <= x.limit()
}

// pushBytes returns the most bytes of an embedding's row in a push.
func (x *Exchange) pushBytes(e int) int {
	n := x.s.Payload.RowSize(x.dim(e)) + idBytes
	if x.s.Layout.Params[x.table(e)].Entry.Counts() {
		n += countBytes
	}
	return n
}

// inPieces makes an exchange with one server in several frames.
func (x *Exchange) inPieces(ctx context.Context, s int, r *Request) error {
	after := *r
	if r.Push.Samples > 0 {
		if err := x.pushPieces(ctx, s, r); err != nil {
			return err
		}
		after.Push.Samples, after.Seq, after.Acked, after.Positions = 0, 0, 0, nil
		after.Round++ // the pull reflects the push
	}
	return x.pullPieces(ctx, s, &after)
}

// pushPieces sends all pieces but the last as OpPiece, which the server keeps, and the last as the step.
func (x *Exchange) pushPieces(ctx context.Context, s int, r *Request) error {
	l := &x.lanes[s]
	gathered := make([][]float32, len(r.Push.Rows))
	var all []piece
	if r.Push.Dense != nil {
		all = append(all, x.cutDense(s, x.s.Payload)...)
	}
	for e := range r.Push.Rows {
		gathered[e] = x.gather(&l.push[e], e, r.Push.Rows[e])
		all = append(all, x.cutShare(e, l.push[e].share.Len(), x.pushBytes(e))...)
	}
	if len(all) == 0 {
		all = []piece{{dense: true}} // an empty push, since the round waits for this worker
	} else if wire.PositionsSize(r.Positions) > frameOverhead/2 {
		all = append(all, piece{bare: true}) // for the positions
	}
	begun := 1
	for i := 0; i < len(all); i++ {
		p, h := all[i], x.header(r)
		if i < len(all)-1 {
			h.Op = wire.OpPiece
		}
		l.build.Reset(h)
		l.build.Piece(wire.Piece{Number: i, Of: len(all)})
		if h.Op == wire.OpStep {
			l.build.Positions(r.Positions)
		}
		switch {
		case p.bare:
		case p.dense:
			l.build.Span(p.from, p.to)
			x.putDense(s, r.Push.Dense, p.from, p.to)
		default:
			dim := x.dim(p.e)
			x.putRows(s, p.e, l.push[p.e].partOf(r.Push.Rows[p.e].IDs)[p.from:p.to], gathered[p.e][p.from*dim:p.to*dim])
			if clicks := l.push[p.e].takeClicks(r.Push.Rows[p.e].Clicks); clicks != nil {
				x.putClicks(s, p.e, clicks[2*p.from:2*p.to])
			}
		}
		var note func(*wire.Frame) error
		if h.Op == wire.OpStep {
			note = func(f *wire.Frame) error { x.outcome(s, f, r); return nil }
		}
		err := x.send(ctx, s, note)
		if errors.Is(err, wire.ErrAgain) && begun < mostBegun {
			x.restore(s, r, gathered)
			i, begun = -1, begun+1
		} else if err != nil {
			return fmt.Errorf("piece %d of %d: %w", i+1, len(all), err)
		}
	}
	for e := range r.Push.Rows {
		x.ungather(&l.push[e], e, gathered[e], r.Push.Rows[e])
	}
	return x.counted(s, r.Seq, nil)
}

// pullPieces pulls the dense weights, if the server has newer ones, and the rows.
func (x *Exchange) pullPieces(ctx context.Context, s int, r *Request) error {
	l := &x.lanes[s]
	if x.wantsDense(s) {
		if err := x.pullDense(ctx, s, r); err != nil {
			return err
		}
	}
	for e := range r.Pull {
		for _, p := range x.cutShare(e, l.pull[e].share.Len(), 4*x.dim(e)) {
			l.build.Reset(x.header(r))
			x.ask(s, e, l.pull[e].partOf(r.Pull[e].IDs)[p.from:p.to])
			err := x.send(ctx, s, func(f *wire.Frame) error {
				sec, err := only(f, wire.KindRows)
				if err != nil {
					return err
				}
				return x.readRows(&l.pull[e].share, p.from, p.to, e, sec, r.Pull[e].W)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// pullDense pulls a server's dense weights span by span. In a mode without rounds spans may be of different versions;
// the version of the first, the oldest, is recorded.
func (x *Exchange) pullDense(ctx context.Context, s int, r *Request) error {
	l := &x.lanes[s]
	version := l.version
	for i, p := range x.cutDense(s, wire.Float32) {
		h := x.header(r)
		h.Version = l.version
		l.build.Reset(h)
		l.build.Span(p.from, p.to)
		err := x.send(ctx, s, func(f *wire.Frame) error {
			if i == 0 {
				version = f.Version
			}
			if f.Version == l.version {
				return nil
			}
			sec, err := only(f, wire.KindDense)
			if err != nil {
				return err
			}
			return x.readDense(s, f.Version, sec, p.from, p.to)
		})
		if err != nil {
			return err
		}
	}
	l.version, l.read = version, version
	return nil
}

// Publish sends the dense weights w to the servers, by param. Servers that have dense weights keep theirs.
func (x *Exchange) Publish(ctx context.Context, w [][]float32) error {
	return x.Each(func(s int) error {
		pieces := x.cutDense(s, wire.Float32)
		if len(pieces) == 0 {
			pieces = []piece{{}} // a server without dense values gets a frame too
		}
		for i, p := range pieces {
			b := &x.lanes[s].build
			b.Reset(x.s.Header(wire.OpPublish))
			b.Piece(wire.Piece{Number: i, Of: len(pieces)})
			b.Span(p.from, p.to)
			b.Dense(x.span(s, w, p.from, p.to)...)
			if err := x.send(ctx, s, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// only returns the section of an answer that must have exactly one, of that kind.
func only(f *wire.Frame, kind wire.Kind) (wire.Section, error) {
	if len(f.Sections) != 1 || f.Sections[0].Kind != kind {
		return wire.Section{}, fmt.Errorf("an answer of %d sections, one was asked for", len(f.Sections))
	}
	return f.Sections[0], nil
}

// cutDense cuts a server's dense values into pieces that fit a frame in an encoding.
func (x *Exchange) cutDense(s int, e wire.Encoding) (all []piece) {
	most := min(x.limit(), max(smallestPiece, min(largestPiece, piecesAtOnce/max(1, x.s.Workers)))-frameOverhead)
	for from, to := range Runs(x.floats(s), e.DenseFit(most)) {
		all = append(all, piece{dense: true, from: from, to: to})
	}
	return all
}

func (x *Exchange) cutShare(e, n, rowBytes int) (all []piece) {
	for from, to := range Runs(n, max(1, x.limit()/rowBytes)) {
		all = append(all, piece{e: e, from: from, to: to})
	}
	return all
}

// Runs iterates over [0, n) in runs of at most size.
func Runs(n, size int) func(yield func(from, to int) bool) {
	return func(yield func(from, to int) bool) {
		for from := 0; from < n && yield(from, min(from+size, n)); from += size {
		}
	}
}
