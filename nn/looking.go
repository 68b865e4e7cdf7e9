package nn

import (
	"context"

	"github.com/gofleet/gofleet/optimizer"
)

// looking reads the rows that a training step looks up beside its loss, if its trainer is no [optimizer.Looker]: in a
// session of its own that only evaluates. The training session works as it would without them.
type looking struct {
	session optimizer.Session
	step    optimizer.Step
}

// look reads the rows that the plan looks up beside its loss into the step's memory.
func (e *engine) look(ctx context.Context, p *plan, b *feedBatch) (err error) {
	if !p.looks || e.looks {
		return nil
	}
	if e.looking == nil {
		e.looking, err = e.graph.look()
	}
	if err == nil {
		err = e.looking.read(ctx, e, b.rows)
	}
	if err != nil {
		e.ended = err
	}
	return err
}

// look opens a session that uses copies of all parameters.
func (g *Graph) look() (*looking, error) {
	objective, trainer := g.bound()
	l := &looking{step: optimizer.Step{Eval: true}}
	var params []*optimizer.Param
	for _, p := range objective.Params() {
		p = copyParam(p)
		if params = append(params, p); p.Embedding {
			l.step.Rows = append(l.step.Rows, optimizer.Rows{Param: p})
		}
	}
	var err error
	l.session, err = trainer.Open(params)
	return l, err
}

func (l *looking) read(ctx context.Context, e *engine, examples int) error {
	l.step.Samples, l.step.Thread, l.step.Threads = examples, e.step.Thread, e.step.Threads
	for i, r := range e.beside {
		l.step.Rows[i].IDs, l.step.Rows[i].W = r.IDs, r.W
	}
	if err := l.session.Begin(ctx, &l.step); err != nil {
		return err
	}
	return l.session.End(ctx, &l.step)
}

func (l *looking) close(ctx context.Context) error {
	if l == nil || l.session == nil {
		return nil
	}
	return l.session.Close(ctx)
}
