package session

import (
	"context"
	"sync"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/optimizer"
)

// geo is training in mode geo: the sessions of a worker train its copy of the model together. Every k steps an exchange
// takes what has changed, sends it beside training, and takes over what came back. Steps of all threads train one copy,
// each under the copy's locks. An exchange is one at a time.
type geo struct {
	w *Worker
	// model has locks of its own.
	model *modelCopy

	// Who has put something into it may exchange, until it takes that out: enter and leave do so.
	exchanging chan struct{} // holds one thing from an exchange's beginning to its end
	sending    sync.WaitGroup
	// x, delta, made and at belong to the holder of exchanging.
	x *exchange.Exchange
	// delta has room for all dense params from the start, and grows with rows.
	delta gradient.Step       // what an exchange takes, in a gradient's place
	made  int                 // updates that it is made of
	at    []progress.Position // of the threads, with all that they had changed when it was taken

	mu sync.Mutex // guards what follows
	// begun says that the copy has what servers had when this worker joined.
	begun bool
	// steps and samples count what no exchange has taken.
	steps   int // since the last exchange
	samples int
	settled bool // servers have all that was trained
	// err is the first failure, for good.
	err error
}

// The copy begins with the params' weights; join brings the servers'.
func newGeo(w *Worker) (*geo, error) {
	model, err := newModelCopy(w.Layout, w.Rule)
	if err != nil {
		return nil, err
	}
	g := &geo{w: w, model: model, exchanging: make(chan struct{}, 1), x: exchange.New(w.Servers), settled: true}
	model.store.SetStep(w.updates)
	g.delta = gradient.Step{Dense: make([][]float32, len(w.Layout.Params)),
		Rows: make([]gradient.Rows, len(w.Layout.Embeddings))}
	g.x.Dense = make([][]float32, len(w.Layout.Params))
	for i, p := range w.Layout.Params {
		if model.dense[i] != nil {
			g.delta.Dense[i], g.x.Dense[i] = make([]float32, p.Size()), make([]float32, p.Size())
		}
	}
	return g, nil
}

// geoSession is one training thread's part in it. It has arrays of its own, which it fills from the copy.
type geoSession struct {
	g      *geo
	params []*optimizer.Param
	intake intake
	has    uint64 // the version of the dense weights in params
}

// Begin implements [optimizer.Session]. It makes no request but the first: rows and weights are the copy's.
func (s *geoSession) Begin(ctx context.Context, st *optimizer.Step) (err error) {
	if err := checkStep(s.g.w, st); err != nil {
		return err
	}
	if err := s.g.join(ctx); err != nil {
		return err
	}
	if err := s.g.model.pullRows(st); err != nil {
		return err
	}
	s.has, err = s.g.model.pullDense(s.params, s.has)
	return err
}

// End implements [optimizer.Session]. It may wait for the exchange before, when the next is due.
func (s *geoSession) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return nil
	}
	own, err := s.intake.Take(st)
	if err != nil {
		return err
	}
	number := func() int64 { return s.g.count(st) }
	if s.has, err = s.g.model.train(own, number, s.params, s.has); err != nil {
		return err
	}
	return s.g.due(ctx)
}

// count counts a step of this worker and returns its number. train calls it with the copy's read lock, so that an
// exchange finds a step counted and made, or neither.
func (g *geo) count(st *optimizer.Step) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.steps++
	g.samples += st.Samples
	g.settled = false
	g.w.trained(st)
	return g.model.store.Advance()
}

// Close implements [optimizer.Session]. What it has trained stays in the copy, and goes with the next exchange of the
// worker.
func (s *geoSession) Close(context.Context) error {
	s.g.w.closed(s)
	return s.g.fail(nil)
}

// drain waits for the exchange on its way. It keeps others from beginning for a moment.
func (s *geoSession) drain(ctx context.Context) error {
	if err := s.g.enter(ctx); err != nil {
		return err
	}
	defer s.g.leave()
	return s.g.fail(nil)
}

// stop waits for it too, when the client's life has ended.
func (s *geoSession) stop() { s.g.sending.Wait() }
