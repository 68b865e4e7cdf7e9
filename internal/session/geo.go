package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/gradient"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// geo is a worker's copy of the model in mode geo, which its sessions train together. Every k steps an exchange takes what
// has changed, sends it beside training, and takes over what came back.
type geo struct {
	w     *Worker
	store table.Store    // of what follows: it numbers this worker's updates, and has their rate
	dense []*table.Dense // by param; nil for embeddings and frozen params
	old   [][]float32    // by param, of dense ones: what the servers had after the last exchange
	rows  []geoRows      // by embedding
	// version counts the changes of the dense weights, each after it was made.
	version atomic.Uint64
	// whole is read-locked by a step while it trains the copy, and locked while an exchange takes what has changed: it takes steps whole.
	whole sync.RWMutex

	exchanging chan struct{} // holds one thing from an exchange's beginning to its end
	sending    sync.WaitGroup
	x          *exchange.Exchange
	delta      gradient.Step // what an exchange takes, in a gradient's place
	arrived    [][]float32   // by param
	taken      gradient.Rows // of one embedding, in no order
	sorter     kernels.Uniquer

	mu      sync.Mutex // guards what follows
	begun   bool
	steps   int // since the last exchange
	samples int
	err     error
}

// geoRows are the worker's rows of an embedding.
type geoRows struct {
	*table.Sparse
	old *table.Old
}

func newGeo(w *Worker) (*geo, error) {
	l := w.Layout
	perParam := func() [][]float32 { return make([][]float32, len(l.Params)) }
	g := &geo{
		w:          w,
		dense:      make([]*table.Dense, len(l.Params)),
		old:        perParam(),
		delta:      gradient.Step{Dense: perParam()},
		arrived:    perParam(),
		exchanging: make(chan struct{}, 1),
		x:          exchange.New(w.Servers),
	}
	for i, p := range l.Params {
		rule := optimizer.RuleFor(w.Rule, p)
		switch {
		case p.Embedding:
			t, err := table.NewSparse(p, rule, table.Options{Numbered: true})
			if err != nil {
				return nil, err
			}
			old, err := t.KeepOld()
			if err != nil {
				return nil, err
			}
			if err := g.store.AddTable(t); err != nil {
				return nil, err
			}
			g.rows = append(g.rows, geoRows{t, old})
		case p.Frozen:
		default:
			g.dense[i] = table.NewDense(p.Size(), rule)
			if err := g.store.AddBlock(table.Block{Param: p, Name: p.Name, Values: g.dense[i]}); err != nil {
				return nil, err
			}
			if err := g.dense[i].Set(p.W); err != nil {
				return nil, err
			}
			g.old[i], g.delta.Dense[i], g.arrived[i] = slices.Clone(p.W), make([]float32, p.Size()), make([]float32, p.Size())
		}
	}
	g.delta.Rows = make([]gradient.Rows, len(g.rows))
	g.x.Dense = g.arrived
	return g, nil
}

// geoSession is one training thread's part in it.
type geoSession struct {
	g      *geo
	params []*optimizer.Param
	intake intake
	has    uint64 // the version of the dense weights in params
}

// Begin implements [optimizer.Session].
func (s *geoSession) Begin(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(s.g.w, st); err != nil {
		return err
	}
	if err := s.g.begin(ctx); err != nil {
		return err
	}
	for e := range st.Rows {
		read := s.g.rows[e].Pull
		if st.Eval {
			read = s.g.rows[e].Peek
		}
		if err := read(st.Rows[e].IDs, st.Rows[e].W, 0); err != nil {
			return err
		}
	}
	return s.pullDense()
}

// pullDense copies the dense weights, unless the session's last push has done so and nobody has changed them since.
func (s *geoSession) pullDense() error {
	version := s.g.version.Load()
	if s.has == version {
		return nil
	}
	for i, d := range s.g.dense {
		if d == nil {
			continue
		}
		if err := d.Pull(s.params[i].W); err != nil {
			return err
		}
	}
	s.has = version
	return nil
}

// pushDense trains the dense weights and copies them.
func (s *geoSession) pushDense(dense [][]float32, step int64) error {
	for i, d := range s.g.dense {
		if d == nil {
			continue
		}
		if err := d.PushPull(dense[i], s.params[i].W, step); err != nil {
			return err
		}
	}
	if s.g.version.Add(1) == s.has+1 {
		s.has++ // they are all its own
	}
	return nil
}

// begin brings, once, what servers had before this worker began. Later it waits for nothing: exchanges go on beside training.
func (g *geo) begin(ctx context.Context) error {
	if begun, err := g.state(); begun || err != nil {
		return err
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.leave()
	if begun, err := g.state(); begun || err != nil {
		return err // another session was first
	}
	if err := g.fail(g.refresh(ctx)); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun = true
	return nil
}

func (g *geo) state() (begun bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.begun, g.err
}

// enter waits until no exchange is on its way, and keeps others from beginning until leave.
func (g *geo) enter(ctx context.Context) error {
	select {
	case g.exchanging <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for an exchange on its way: %w", ctx.Err())
	}
}

func (g *geo) leave() { <-g.exchanging }

// End implements [optimizer.Session].
func (s *geoSession) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return nil
	}
	own, err := s.intake.Take(st)
	if err != nil {
		return err
	}
	if err := s.train(own); err != nil {
		return err
	}
	return s.g.due(ctx)
}

// train makes a step on the worker's copy.
func (s *geoSession) train(own gradient.Step) error {
	s.g.whole.RLock()
	defer s.g.whole.RUnlock()
	step := s.g.note(own.Samples)
	defer s.g.store.Finish(step)
	if err := s.pushDense(own.Dense, step); err != nil {
		return err
	}
	for e, r := range own.Rows {
		if len(r.IDs) == 0 {
			continue
		}
		if _, err := s.g.rows[e].Push(r.IDs, r.G, step); err != nil {
			return err
		}
	}
	return nil
}

// note counts a step of this worker and returns its number.
func (g *geo) note(samples int) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.steps++
	g.samples += samples
	return g.store.Advance()
}

// fail remembers the first error: the worker's copy can't be trusted after it.
func (g *geo) fail(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
	return g.err
}

// Close implements [optimizer.Session].
func (s *geoSession) Close(context.Context) error {
	s.g.w.closed(s)
	return s.g.fail(nil)
}

// drain waits for the exchange on its way.
func (s *geoSession) drain(ctx context.Context) error {
	if err := s.g.enter(ctx); err != nil {
		return err
	}
	defer s.g.leave()
	return s.g.fail(nil)
}

// stop waits for it too, when the client's life has ended.
func (s *geoSession) stop() { s.g.sending.Wait() }
