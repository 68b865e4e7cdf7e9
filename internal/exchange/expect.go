package exchange

import (
	"math"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Traffic is the expected traffic between a worker and a server for a step, on average over many: messages before
// compression, without the transport's overhead.
type Traffic struct {
	// Floats is the number of dense values on the server.
	Floats int
	// Rows is the number of rows of embeddings on the server that a step touches.
	Rows float64
	// Pushed is the bytes from the worker to the server, Pulled those back.
	Pushed, Pulled float64
	// Trips is the number of requests, each with its answer.
	Trips float64
}

// pace is how often each kind of message is sent, per step.
type pace struct {
	push       float64 // gradients, or differences of copies
	dense      float64 // pulls of dense weights
	rows       float64 // pulls of rows
	joint      float64 // pulls of rows in the frame of a push
	trips      float64
	apart      float64 // trips for dense weights alone
	rate       float64 // trips to server 0 for the learning rate
	everywhere float64 // trips to a server without rows of the step
	asks       float64 // requests for rows that other workers have changed
	copied     bool    // these rows come with their ids
	looks      bool    // a pull of rows also brings newer dense weights
}

// Expect returns the expected traffic of one of the given number of workers with each server. ids is the number of ids
// of each embedding that a step touches, by name. ahead says that the next batch is known when a step begins, as in
// nn's TrainFrom. sizes holds the measured bytes of an id, by embedding, 0 or absent if not measured.
func Expect(l *layout.Layout, s strategy.Strategy, workers int, ids map[string]int, sizes []float64,
	ahead bool) []Traffic {
	p := paceOf(s, workers, len(l.Embeddings) > 0, ahead)
	payload := Payloads[s.Payload]
	x := New(&Servers{Layout: l, Payload: payload, MaxFrame: s.MaxFrame, Workers: workers})
	all := make([]Traffic, len(l.Parts))
	for i := range all {
		t := &all[i]
		t.Floats = l.Parts[i].Floats
		up, down := p.push*float64(wire.PositionsSize(make([]progress.Position, 1))), 0.0
		if t.Floats > 0 {
			up += p.push * section(float64(payload.DenseSize(t.Floats)))
			down += p.dense * section(4*float64(t.Floats))
		}
		n := make([]int, len(l.Embeddings)) // rows
		for e, emb := range l.Embeddings {
			rows, gap := share(l, i, emb.Param, ids)
			size := varint(gap)
			if e < len(sizes) && sizes[e] > 0 {
				size = sizes[e]
			}
			t.Rows += rows
			n[e] = int(math.Round(rows))
			asked, values := section(listHead+padded(rows*size)), 4*rows*float64(emb.Dim())
			if p.copied {
				up, down = up+p.asks*section(0), down+p.rows*(asked+padded(values))
			} else if rows > 0 {
				up, down = up+p.rows*asked, down+p.rows*section(values)
			}
			if rows > 0 {
				up += p.push * (asked + padded(rows*float64(payload.RowSize(emb.Dim()))))
			}
		}
		if t.Trips = p.trips; t.Rows == 0 && !(p.looks && t.Floats > 0) {
			t.Trips = p.everywhere
		}
		if t.Floats > 0 {
			t.Trips += p.apart
		}
		more := p.joint*x.more(i, n, true, true, true) + (p.push-p.joint)*x.more(i, n, true, false, true) +
			max(0, p.rows-p.joint)*x.more(i, n, false, true, p.looks)
		t.Trips += more
		if i == 0 {
			t.Trips, up, down = t.Trips+p.rate, up+p.rate*rateBytes, down+p.rate*rateBytes
		}
		t.Pushed, t.Pulled = up+more*pieceBytes+t.Trips*headerBytes, down+t.Trips*headerBytes
	}
	return all
}

// more returns how many frames beyond one a push to a server takes, a pull of so many rows of each embedding, or both
// in one. dense says that the dense weights are pulled too.
func (x *Exchange) more(s int, rows []int, push, pull, dense bool) float64 {
	up, down, pieces := 0, 0, 0
	if push {
		up = x.s.Payload.DenseSize(x.floats(s))
		pieces = len(x.cutDense(s, x.s.Payload))
	}
	if dense {
		down = 4 * x.floats(s)
		pieces += len(x.cutDense(s, wire.Float32))
	}
	for e, n := range rows {
		if push {
			up += n * x.pushBytes(e)
			pieces += len(x.cutShare(e, n, x.pushBytes(e)))
		}
		if pull {
			up, down = up+n*idBytes, down+n*4*x.dim(e)
			pieces += len(x.cutShare(e, n, 4*x.dim(e)))
		}
	}
	if up <= x.limit() && down <= x.limit() {
		return 0
	}
	return float64(pieces - 1)
}

// headerBytes is the size of a frame's header, listHead of what precedes a list of ids, pieceBytes of the place of one
// of several frames together with its section's head, and rateBytes of a learning rate or the request for it.
const (
	headerBytes = 64
	listHead    = 8
	pieceBytes  = 48
	rateBytes   = 32
)

// section returns the bytes of a payload in a frame, padded the size up to which it is filled.
func section(bytes float64) float64 { return 16 + padded(bytes) }

func padded(bytes float64) float64 { return math.Ceil(bytes/8) * 8 }

func paceOf(s strategy.Strategy, workers int, embeddings, ahead bool) pace {
	m := mode.Of(s.Mode)
	every := 1 / float64(max(1, s.GradientMerge.KSteps))
	p := pace{push: every, dense: every, rows: 1, trips: every, everywhere: every}
	switch {
	case m.Copies:
		k := 1 / float64(max(1, s.KSteps))
		p = pace{push: k, dense: k, trips: k, rate: k, everywhere: k, copied: true}
		if embeddings { // rows that others have changed take a second trip
			p.trips, p.everywhere, p.asks = 2*k, 2*k, k
		}
		if workers > 1 {
			p.rows = k
		}
		return p
	case m.Queues:
		p.dense /= float64(max(1, s.MinSendGradNumBeforeRecv))
		if s.IndependentRecvThread {
			p.apart = p.dense
		}
	case m.Lockstep: // a step after which nothing came asks whether others have changed weights
		p.looks = true
		if !embeddings {
			p.trips, p.joint = 1, every
		}
	}
	if embeddings {
		p.trips = 1 + every // a pull and a push
		if ahead && !m.Threads && !(m.Queues && mode.SendOptionsOf(s).Apart()) {
			p.trips, p.joint = 1, every // both in one request
		}
	}
	return p
}

// share returns how many of a step's rows of an embedding live on a server, and the mean difference between their ids.
func share(l *layout.Layout, server int, p *optimizer.Param, ids map[string]int) (rows, gap float64) {
	n := float64(ids[p.Name])
	v, ok := l.Plan.Variable(p.Name)
	if !ok || n == 0 {
		return 0, 1
	}
	if p.Height() == 0 { // spread by a hash; ids are assumed to be hashes too
		n /= float64(len(l.Parts))
		return n, math.MaxUint64 / n
	}
	here := 0
	for _, b := range l.Plan.BlocksOf(v) {
		if b.Server == server {
			here += b.Shape[0]
		}
	}
	return n * float64(here) / float64(p.Height()), float64(p.Height()) / n
}

// varint returns the bytes of a difference of that size.
func varint(gap float64) float64 { return math.Ceil(math.Log2(gap+1) / 7) }
