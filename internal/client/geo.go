package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// geo is a worker's copy of the model in mode geo, which its sessions train together. Every k steps an exchange takes what
// has changed, sends it beside training, and takes over what came back.
type geo struct {
	c     *Client
	dense []*table.Dense  // by param; nil for embeddings and frozen params
	rows  []*table.Sparse // by embedding
	// version counts the changes of the dense weights, each after it was made.
	version atomic.Uint64

	exchanging sync.Mutex // held from an exchange's beginning to its end
	sending    sync.WaitGroup
	x          *exchange
	delta      [][]float32 // by param
	arrived    [][]float32
	push       []rows

	mu      sync.Mutex // guards what follows
	begun   bool
	steps   int // since the last exchange
	samples int
	total   int64
	touched []mode.IDs // rows of an embedding trained since the last exchange
	left    []mode.IDs // rows of which an exchange has left something
	err     error
}

func newGeo(c *Client) (*geo, error) {
	l := c.c.Layout
	g := &geo{c: c, dense: make([]*table.Dense, len(l.Params)), delta: make([][]float32, len(l.Params)), arrived: make([][]float32, len(l.Params)), x: newExchange(c)}
	for i, p := range l.Params {
		rule := mode.GeoRule{Rule: optimizer.RuleFor(c.c.Rule, p)}
		switch {
		case p.Frozen:
		case p.Embedding:
			t, err := table.NewSparse(p, rule, table.Options{})
			if err != nil {
				return nil, err
			}
			g.rows = append(g.rows, t)
			g.touched, g.left = append(g.touched, mode.IDs{}), append(g.left, mode.IDs{})
		default:
			g.dense[i] = table.NewDense(p.Size(), rule)
			if err := g.dense[i].Set(p.W); err != nil {
				return nil, err
			}
			g.delta[i], g.arrived[i] = make([]float32, p.Size()), make([]float32, p.Size())
		}
	}
	g.push = make([]rows, len(g.rows))
	g.x.dense = g.arrived
	return g, nil
}

// geoSession is one training thread's part in it.
type geoSession struct {
	g      *geo
	params []*optimizer.Param
	clean  cleaner
	has    uint64 // the version of the dense weights in params
}

// Begin implements [optimizer.Session].
func (s *geoSession) Begin(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(s.g.c, st); err != nil {
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

// begin brings, once, what servers had before this worker began.
func (g *geo) begin(ctx context.Context) error {
	g.exchanging.Lock()
	defer g.exchanging.Unlock()
	g.mu.Lock()
	begun, err := g.begun, g.err
	g.begun = true
	g.mu.Unlock()
	if begun || err != nil {
		return err
	}
	return g.fail(g.refresh(ctx))
}

// refresh takes over what the servers have, and sends nothing.
func (g *geo) refresh(ctx context.Context) error {
	if err := g.x.run(ctx, request{op: wire.OpStep}); err != nil {
		return describe(err, "bringing weights", g.c)
	}
	g.installDense()
	return g.receive(ctx)
}

// installDense takes over the dense weights that arrived last.
func (g *geo) installDense() {
	for i, d := range g.dense {
		if d != nil {
			d.Edit(func(at int, w, unsent []float32) { mode.Receive(w, unsent, g.arrived[i][at:at+len(w)]) })
		}
	}
	g.version.Add(1)
}

// End implements [optimizer.Session].
func (s *geoSession) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return nil
	}
	dense, push, err := s.clean.clean(s.params, st)
	if err != nil {
		return err
	}
	step := s.g.note(st.Samples, push)
	if err := s.pushDense(dense, step); err != nil {
		return err
	}
	for e, r := range push {
		if _, err := s.g.rows[e].Push(r.ids, r.data, step); err != nil {
			return err
		}
	}
	return s.g.due(ctx)
}

// note counts a step of this worker and returns its number.
func (g *geo) note(samples int, push []rows) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.steps++
	g.total++
	g.samples += samples
	for e := range push {
		g.touched[e].Add(push[e].ids...)
	}
	return g.total
}

// due begins an exchange when its time has come, beside training. If the last one is not over, the training loop waits.
func (g *geo) due(ctx context.Context) error {
	g.mu.Lock()
	due, err := g.steps >= g.c.c.Strategy.KSteps, g.err
	g.mu.Unlock()
	if !due || err != nil {
		return err
	}
	g.exchanging.Lock()
	samples, err := g.take(g.c.c.Workers)
	if err != nil {
		g.exchanging.Unlock()
		return g.fail(err)
	}
	g.sending.Go(func() {
		defer g.exchanging.Unlock()
		_ = g.fail(g.send(g.c.life, samples)) // the next step tells
	})
	return ctx.Err()
}

// settle sends all that is left, whole, and takes over what came back.
func (g *geo) settle(ctx context.Context) error {
	g.exchanging.Lock()
	defer g.exchanging.Unlock()
	g.mu.Lock()
	err, idle := g.err, g.total == 0
	g.mu.Unlock()
	if err != nil || idle || g.c.c.Strategy.GeoRest == strategy.GeoRestKeep {
		return err
	}
	samples, err := g.take(1)
	if err != nil {
		return g.fail(err)
	}
	return g.fail(g.send(ctx, samples))
}

// take takes the n-th part of what has changed: of dense params and of rows trained since the last exchange; and of other
// rows all that is left of them.
func (g *geo) take(n int) (samples int, err error) {
	g.mu.Lock()
	samples = max(g.samples, 1)
	g.samples, g.steps = 0, 0
	ids, whole := make([][]uint64, len(g.rows)), make([][]uint64, len(g.rows))
	for e := range g.rows {
		whole[e] = slices.DeleteFunc(g.left[e].Take(nil), g.touched[e].Has) // what is left of these goes on with their share
		ids[e] = g.touched[e].Take(nil)
	}
	g.mu.Unlock()
	for i, d := range g.dense {
		if d != nil {
			d.Edit(func(at int, _, unsent []float32) { mode.Take(g.delta[i][at:at+len(unsent)], unsent, n) })
		}
	}
	for e := range g.rows {
		if err := g.takeRows(e, ids[e], whole[e], n); err != nil {
			return 0, err
		}
	}
	return samples, nil
}

// takeRows takes the n-th part of some rows' change and the whole of others'. Both are ascending, and no row is in both.
func (g *geo) takeRows(e int, some, whole []uint64, n int) error {
	dim := g.rows[e].Param().Dim()
	push := &g.push[e]
	push.want(append(some, whole...), dim)
	slices.Sort(push.ids)
	var rest []uint64
	err := g.rows[e].Edit(push.ids, func(i int, _, unsent []float32) {
		share := n
		if _, ok := slices.BinarySearch(whole, push.ids[i]); ok {
			share = 1
		}
		if mode.Take(push.data[i*dim:][:dim], unsent, share) {
			rest = append(rest, push.ids[i])
		}
	})
	if err != nil || g.c.c.Strategy.GeoRest == strategy.GeoRestKeep {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left[e].Add(rest...)
	return nil
}

// send makes an exchange of what was taken.
func (g *geo) send(ctx context.Context, samples int) error {
	step, acked := g.c.steps.begin()
	err := g.x.run(ctx, request{op: wire.OpStep, samples: samples, dense: g.delta, push: g.push, step: step, acked: acked, all: true})
	g.c.steps.end(step)
	if err != nil {
		return describe(err, "exchanging", g.c)
	}
	g.c.counts.steps.Add(1)
	g.installDense()
	return g.receive(ctx)
}

// receive takes over the rows that have changed at the servers.
func (g *geo) receive(ctx context.Context) error {
	err := g.x.each(func(s int) error {
		for more := true; more; {
			var err error
			if more, err = g.page(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	return describe(err, "bringing what has changed", g.c)
}

// page brings as many changed rows of a server as one frame holds.
func (g *geo) page(ctx context.Context, s int) (more bool, err error) {
	if len(g.rows) == 0 {
		return false, nil
	}
	step, acked := g.c.steps.begin()
	defer g.c.steps.end(step)
	b := &g.x.lanes[s].build
	b.Reset(g.x.header(&request{op: wire.OpStep, step: step, acked: acked}))
	for e := range g.rows {
		b.Changed(g.x.table(e))
	}
	err = g.x.send(ctx, s, func(f *wire.Frame) error {
		more = false
		for _, sec := range f.Sections {
			switch sec.Kind {
			case wire.KindChanged:
				more = true
			case wire.KindRows:
				if err := g.install(sec); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return more, err
}

func (g *geo) install(sec wire.Section) error {
	e := slices.Index(g.c.c.Layout.Embeddings, int(sec.Table))
	if e < 0 {
		return wire.ErrFrame
	}
	ids, err := sec.IDs(nil)
	if err != nil {
		return err
	}
	w, err := sec.Rows()
	if err != nil {
		return err
	}
	dim := g.rows[e].Param().Dim()
	if len(w) != len(ids)*dim {
		return fmt.Errorf("%d values came for %d rows of %q", len(w), len(ids), g.rows[e].Param().Name)
	}
	return g.rows[e].Edit(ids, func(i int, latest, unsent []float32) { mode.Receive(latest, unsent, w[i*dim:][:dim]) })
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
	s.g.c.closed(s)
	return s.g.fail(nil)
}

// drain waits for the exchange on its way.
func (s *geoSession) drain(context.Context) error {
	s.g.exchanging.Lock()
	defer s.g.exchanging.Unlock()
	return s.g.fail(nil)
}

// stop waits for it too, when the client's life has ended.
func (s *geoSession) stop() { s.g.sending.Wait() }
