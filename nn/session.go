package nn

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// open makes the executor ready for a step: it takes parameters, and opens the session if the graph is bound to a
// trainer.
func (e *engine) open(train bool) error {
	if err := e.graph.Err(); err != nil {
		return err
	}
	if e.ended != nil {
		return fmt.Errorf("nn: the session ended with an earlier error; Close the executor to begin another: %w",
			e.ended)
	}
	if e.session != nil || e.asLoaded {
		return nil
	}
	objective, trainer := e.graph.bound()
	if trainer == nil {
		if train {
			return errors.New("nn: nothing to train: no loss of this graph was minimised yet")
		}
		return nil
	}
	return e.openSession(objective, trainer)
}

func (e *engine) openSession(objective *Node, trainer optimizer.Trainer) error {
	e.forget() // cells may have the weights that the graph had before it was bound
	e.held.borrow()
	params := objective.Params()
	own := make([]*optimizer.Param, len(params))
	for i, p := range params {
		own[i] = e.held.adopt(p)
	}
	s, err := trainer.Open(own)
	if err != nil {
		e.giveBack()
		return err
	}
	l, is := trainer.(interface{ Looks() bool })
	e.session, e.minimised, e.looks = s, own, is && l.Looks()
	e.late = is && !e.looks
	e.openTables(params)
	return nil
}

// holding is the parameters of an executor: the graph's own, or copies while another executor has these.
type holding struct {
	graph    *Graph
	borrowed bool // the graph's own are in use
	params   map[*optimizer.Param]*optimizer.Param
	tables   []*table // in order of construction
}

// borrow takes the graph's own parameters if no other executor has them.
func (h *holding) borrow() {
	h.graph.mu.Lock()
	defer h.graph.mu.Unlock()
	if !h.graph.lent {
		h.graph.lent, h.borrowed = true, true
	}
}

// giveBack is the inverse of borrow.
func (h *holding) giveBack() {
	h.graph.mu.Lock()
	defer h.graph.mu.Unlock()
	if h.borrowed {
		h.graph.lent, h.borrowed = false, false
	}
}

// lend freezes the graph's own parameters for good, so that trainers use copies. It reports whether it did: not for a
// graph that is already bound to a trainer.
func (g *Graph) lend() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.trainer != nil {
		return false
	}
	g.lent = true
	return true
}

func (e *engine) giveBack() {
	e.held.giveBack()
	e.forget()
}

// forget drops everything that refers to parameters.
func (e *engine) forget() {
	clear(e.held.params)
	e.cells, e.plans, e.held.tables, e.step.Rows = nil, nil, nil, nil
}

// adopt returns a param of the session for the executor: the graph's, or a copy if another executor uses the graph's.
func (h *holding) adopt(p *optimizer.Param) *optimizer.Param {
	o := p
	if !h.borrowed {
		o = copyParam(p)
	}
	h.params[p] = o
	return o
}

// own returns this executor's param. A param outside any session is never written, so all executors may read the
// graph's.
func (h *holding) own(p *optimizer.Param) *optimizer.Param {
	if o := h.params[p]; o != nil {
		return o
	}
	return p
}

func (e *engine) beginStep(ctx context.Context) error {
	if e.session == nil {
		return nil
	}
	if err := e.session.Begin(ctx, &e.step); err != nil {
		e.ended = err
		return err
	}
	return nil
}

// abandon ends a step that has begun. An evaluation just ends; for a training step the session is over, since the
// trainer waits for gradients that will not come.
func (e *engine) abandon(ctx context.Context, cause error) error {
	if e.step.Eval {
		return errors.Join(cause, e.end(ctx))
	}
	e.ended = cause
	return cause
}

func (e *engine) end(ctx context.Context) error {
	if e.session == nil {
		return nil
	}
	if err := e.session.End(ctx, &e.step); err != nil {
		e.ended = err
		return err
	}
	return nil
}

// denseSetter is a trainer that stores values which training computes without gradients.
type denseSetter interface {
	SetDense(name string, w []float32) error
}

// move updates element i of a moving average, a frozen parameter, with one more value. The executor changes a copy
// until a trainer has taken it.
func (c *cell) move(i int, v, momentum float32) {
	if !c.news {
		c.moved = append(c.moved[:0], c.value...)
		c.value, c.news = c.moved, true
	}
	c.moved[i] = c.moved[i]*momentum + v*(1-momentum)
}

// publish passes the moving averages of a step to a trainer that stores them, whose sessions return what was last set:
// by other executors, by a meeting of all workers, or by a load.
func (e *engine) publish() error {
	_, trainer := e.graph.bound()
	s, ok := trainer.(denseSetter)
	if !ok {
		return nil
	}
	for _, c := range e.cells {
		if c == nil || !c.news {
			continue
		}
		if err := s.SetDense(c.param.Name, c.moved); err != nil {
			return err
		}
		copy(c.param.W, c.moved)
		c.value, c.news = c.param.W, false
	}
	return nil
}

// key is the seed of a node's draws in the step. The first thread of worker 0 has the keys of a process alone.
func (t turn) key(n *Node) uint64 {
	key := kernels.Stream(n.graph.seed+t.number-1, n.name)
	if who := uint64(t.worker)<<32 | uint64(t.thread); who > 0 {
		key = kernels.Mix(key ^ kernels.Mix(who))
	}
	return key
}

// turn returns the next step of a thread. Executors that train as the same thread share its count.
func (g *Graph) turn(thread, threads int) turn {
	seat := [2]int{thread, max(threads, 1)}
	g.mu.Lock()
	last, ok := g.turns[seat]
	g.mu.Unlock()
	if !ok {
		last = g.begun(thread, threads)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if now, ok := g.turns[seat]; ok {
		last = now
	}
	last.number++
	if g.turns == nil {
		g.turns = turns{}
	}
	g.turns[seat] = last
	return last
}

// begun returns the last step of a thread that has made none in this process: the trainer's count, and at least the
// steps made with other numbers of threads.
func (g *Graph) begun(thread, threads int) turn {
	last := turn{thread: thread}
	_, trainer := g.bound()
	if c, ok := trainer.(interface{ Made(_, _ int) (int, uint64) }); ok {
		last.worker, last.number = c.Made(thread, threads)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for seat, t := range g.turns {
		if seat[1] != max(threads, 1) {
			last.number = max(last.number, t.number)
		}
	}
	return last
}
