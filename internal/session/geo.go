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
// takes the changes, sends them beside training, and stores the answers. Steps of all threads train one copy, under the
// copy's locks. There is one exchange at a time.
type geo struct {
	w *Worker
	// model has locks of its own.
	model *modelCopy

	// exchanging is a semaphore, used by enter and leave.
	exchanging chan struct{} // has an element while an exchange is under way
	sending    sync.WaitGroup
	// x, delta, made and at belong to the holder of exchanging.
	x *exchange.Exchange
	// delta has room for all dense params from the start, and grows with rows.
	delta gradient.Step       // the changes that an exchange sends, in the form of a gradient
	made  int                 // number of updates in delta
	at    []progress.Position // positions of the threads, with all their changes when delta was taken

	mu sync.Mutex // guards what follows
	// begun reports that the copy has what servers had when this worker joined.
	begun bool
	// steps and samples count what no exchange has taken.
	steps   int // since the last exchange
	samples int
	settled bool // servers have all that was trained
	// err is the first failure, for good.
	err error
}

// newGeo makes a copy with the params' weights; join fetches the servers'.
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

// geoSession is one training thread's part in geo. It has arrays of its own, which it fills from the copy.
type geoSession struct {
	g      *geo
	params []*optimizer.Param
	intake intake
	has    uint64 // the version of the dense weights in params
}

// Begin implements [optimizer.Session]. Only the first call makes requests: rows and weights are the copy's.
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

// End implements [optimizer.Session]. If an exchange is due, it may wait for the one before.
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
// exchange finds a step both counted and made, or neither.
func (g *geo) count(st *optimizer.Step) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.steps++
	g.samples += st.Samples
	g.settled = false
	g.w.trained(st)
	return g.model.store.Advance()
}

// Close implements [optimizer.Session]. What the session has trained stays in the copy, and is sent with the worker's
// next exchange.
func (s *geoSession) Close(context.Context) error {
	s.g.w.closed(s)
	return s.g.fail(nil)
}

// drain waits for the exchange under way. It keeps others from beginning meanwhile.
func (s *geoSession) drain(ctx context.Context) error {
	if err := s.g.enter(ctx); err != nil {
		return err
	}
	defer s.g.leave()
	return s.g.fail(nil)
}

// stop waits for the exchange too, after the client's life has ended.
func (s *geoSession) stop() { s.g.sending.Wait() }
