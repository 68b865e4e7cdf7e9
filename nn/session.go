package nn

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/optimizer"
)

// open makes the executor ready for a step: it takes parameters to work on, and opens the session when the graph is
// bound to a trainer.
func (e *Executor) open(train bool) error {
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

func (e *Executor) openSession(objective *Node, trainer optimizer.Trainer) error {
	e.forget() // cells may hold the graph's weights from before it was bound
	e.borrow()
	params := objective.Params()
	own := make([]*optimizer.Param, len(params))
	for i, p := range params {
		own[i] = e.adopt(p)
	}
	s, err := trainer.Open(own)
	if err != nil {
		e.giveBack()
		return err
	}
	l, is := trainer.(optimizer.Looker)
	e.session, e.minimised, e.looks = s, own, is && l.Looks()
	e.openTables(params)
	return nil
}

// borrow takes the graph's own parameters to work on if no other executor has them.
func (e *Executor) borrow() {
	g := e.graph
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.lent {
		g.lent, e.borrowed = true, true
	}
}

// lend keeps the graph's own parameters as they are for good, so that what trains it works on copies. It reports
// whether it did: a graph that is bound to a trainer already keeps none.
func (g *Graph) lend() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.trainer != nil {
		return false
	}
	g.lent = true
	return true
}

func (e *Executor) giveBack() {
	g := e.graph
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.borrowed {
		g.lent, e.borrowed = false, false
	}
	e.forget()
}

// forget drops everything that holds parameters.
func (e *Executor) forget() {
	clear(e.params)
	e.cells, e.plans, e.tables, e.step.Rows = nil, nil, nil, nil
}

// adopt gives the executor a param of the session to work on: the graph's, or a copy when another executor works on the
// graph's.
func (e *Executor) adopt(p *optimizer.Param) *optimizer.Param {
	o := p
	if !e.borrowed {
		o = copyParam(p)
	}
	e.params[p] = o
	return o
}

// own is the param that this executor works on. Nothing writes to a param that no session has brought, so that all
// may read the graph's.
func (e *Executor) own(p *optimizer.Param) *optimizer.Param {
	if o := e.params[p]; o != nil {
		return o
	}
	return p
}

func (e *Executor) beginStep(ctx context.Context) error {
	if e.session == nil {
		return nil
	}
	if err := e.session.Begin(ctx, &e.step); err != nil {
		e.ended = err
		return err
	}
	return nil
}

// abandon gives up a step that has begun. An evaluation just ends; the trainer waits for gradients that will not come,
// so that the session is over.
func (e *Executor) abandon(ctx context.Context, cause error) error {
	e.ran = nil
	if e.step.Eval {
		return errors.Join(cause, e.end(ctx))
	}
	e.ended = cause
	return cause
}

func (e *Executor) end(ctx context.Context) error {
	if e.session == nil {
		return nil
	}
	if err := e.session.End(ctx, &e.step); err != nil {
		e.ended = err
		return err
	}
	return nil
}
