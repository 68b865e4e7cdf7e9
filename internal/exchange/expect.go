package exchange

import (
	"math"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Traffic is what a worker and a server are expected to exchange for a step, on average over many: messages as they are
// before compression, without what the transport adds.
type Traffic struct {
	// Floats is how many dense values live on the server.
	Floats int
	// Rows are the embeddings' that a step touches there.
	Rows float64
	// Pushed and Pulled are bytes from the worker to the server, and back.
	Pushed, Pulled float64
	// Trips are requests, each with its answer.
	Trips float64
}

// pace is how often, in a step, what travels travels.
type pace struct {
	push       float64 // gradients, or what changed
	dense      float64 // pulls of dense weights
	rows       float64 // pulls of rows
	joint      float64 // of these, in the frame of a push
	trips      float64
	apart      float64 // trips that bring dense weights and nothing else
	rate       float64 // trips to server 0, which knows the learning rate
	everywhere float64 // trips that a server with no part of the step has too
}

// Expect is the traffic of one of so many workers with each server when a step touches so many ids of each embedding,
// by name. ahead says that the next batch is known when a step begins, as in nn's TrainFrom.
func Expect(l *layout.Layout, s strategy.Strategy, workers int, ids map[string]int, ahead bool) []Traffic {
	p := paceOf(s, len(l.Embeddings) > 0, ahead)
	payload := Payloads[s.Payload]
	x := New(&Servers{Layout: l, Payload: payload, MaxFrame: s.MaxFrame, Workers: workers})
	all := make([]Traffic, len(l.Parts))
	for i := range all {
		t := &all[i]
		t.Floats = l.Parts[i].Floats
		if t.Trips = p.trips; t.Floats > 0 {
			t.Trips += p.apart
		}
		n := make([]int, 0, len(l.Embeddings)) // rows
		up := p.push * float64(payload.DenseSize(t.Floats))
		down := p.dense * 4 * float64(t.Floats)
		for _, e := range l.Embeddings {
			rows, gap := share(l, i, e.Param, ids)
			dim, id := e.Dim(), varint(gap)
			t.Rows += rows
			n = append(n, int(math.Round(rows)))
			up += rows * (p.push*(float64(payload.RowSize(dim))+id) + p.rows*id)
			down += rows * p.rows * float64(4*dim)
		}
		if t.Floats == 0 && t.Rows == 0 {
			t.Trips = p.everywhere
		}
		more := p.joint*x.more(i, n, true, true) + (p.push-p.joint)*x.more(i, n, true,
			false) + (p.rows-p.joint)*x.more(i, n, false, true)
		t.Trips += more
		if i == 0 {
			t.Trips += p.rate
		}
		t.Pushed, t.Pulled = up+more*pieceBytes+t.Trips*frameBytes, down+t.Trips*frameBytes
	}
	return all
}

// more is how many frames beyond one a push to a server takes, a pull of so many rows of each embedding, or both in
// one.
func (x *Exchange) more(s int, rows []int, push, pull bool) float64 {
	up, down, pieces := 0, 0, 0
	if push {
		up, down = x.s.Payload.DenseSize(x.floats(s)), 4*x.floats(s)
		pieces = len(x.cutDense(s, x.s.Payload)) + len(x.cutDense(s, wire.Float32))
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

// frameBytes is a frame's header and the head of a section or two, pieceBytes what one of several says of its place
// among them.
const (
	frameBytes = 96
	pieceBytes = 48
)

func paceOf(s strategy.Strategy, embeddings, ahead bool) pace {
	m := mode.Of(s.Mode)
	every := 1 / float64(max(1, s.GradientMerge.KSteps))
	p := pace{push: every, dense: every, rows: 1, trips: every}
	switch {
	case m.Copies:
		k := 1 / float64(max(1, s.KSteps))
		p = pace{push: k, dense: k, rows: k, trips: k, rate: k, everywhere: k}
		if embeddings {
			p.trips += k // what others have changed is asked for after
			p.everywhere += k
		}
		return p
	case m.Queues:
		p.dense /= float64(max(1, s.MinSendGradNumBeforeRecv))
		if s.IndependentRecvThread {
			p.apart = p.dense
		}
	case m.Lockstep:
		p.everywhere = every
	}
	if embeddings {
		p.trips = 1 + every // a pull, and a push
		if ahead && !m.Threads && !(m.Queues && mode.SendOptionsOf(s).Apart()) {
			p.trips, p.joint = 1, every // which travel together
		}
	}
	return p
}

// share is how many of a step's rows of an embedding live on a server, and how far apart their ids are, on average.
func share(l *layout.Layout, server int, p *optimizer.Param, ids map[string]int) (rows, gap float64) {
	n := float64(ids[p.Name])
	v, ok := l.Plan.Variable(p.Name)
	if !ok || n == 0 {
		return 0, 1
	}
	if p.Height() == 0 { // spread by a hash; ids are taken for hashes too
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

// varint is how many bytes a difference of that size takes.
func varint(gap float64) float64 { return math.Ceil(math.Log2(gap+1) / 7) }
