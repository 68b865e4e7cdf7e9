package nn

import (
	"context"

	"github.com/gofleet/gofleet/optimizer"
)

// looking reads the rows that a training step looks up beside its loss, in a session of its own that only evaluates:
// the one that trains does just what it does without them.
type looking struct {
	session optimizer.Session
	step    optimizer.Step
}

// look brings the rows that the plan looks up beside its loss, to where the step has room for them.
func (e *Executor) look(ctx context.Context, p *plan, b *feedBatch) (err error) {
	if !p.looks {
		return nil
	}
	if e.looking == nil {
		e.looking, err = e.graph.look()
	}
	if err == nil {
		err = e.looking.read(ctx, e, b)
	}
	if err != nil {
		e.ended = err
	}
	return err
}

// look opens a session that works on copies of all parameters.
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

func (l *looking) read(ctx context.Context, e *Executor, b *feedBatch) error {
	l.step.Samples, l.step.Thread, l.step.Threads = b.rows, e.step.Thread, e.step.Threads
	for _, t := range e.tables {
		if t.inStep >= 0 {
			r := &l.step.Rows[t.inStep]
			r.IDs, r.W = b.tables[t.index].beside.unique, t.w[len(t.rows.W):]
		}
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
