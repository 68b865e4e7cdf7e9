package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// session is one training thread. It is used by one goroutine.
type session struct {
	trainer *Trainer
	params  []*optimizer.Param
	dense   []variable
	version int64 // of the weights in the params' W
	frozen  int64 // of frozen params
	begun   bool
	dropped int   // rows that the tables dropped in the last step
	err     error // why the session has ended
}

// variable is a dense param of the thread and the weights that it trains.
type variable struct {
	param  *optimizer.Param
	values *table.Dense
}

var errClosed = errors.New("local: the session is closed")

// Open implements [optimizer.Trainer].
func (t *Trainer) Open(params []*optimizer.Param) (optimizer.Session, error) {
	s := &session{trainer: t, params: params, version: -1, frozen: -1}
	for _, p := range params {
		if err := s.add(p); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *session) add(p *optimizer.Param) error {
	if err := p.Check(); err != nil {
		return fmt.Errorf("local: %w", err)
	}
	var own *optimizer.Param
	if p.Embedding {
		rows, err := s.trainer.table(p.Name)
		if err != nil {
			return err
		}
		own = rows.Param()
	} else {
		b, err := s.trainer.block(p.Name)
		if err != nil {
			return err
		}
		own = b.Param
		s.dense = append(s.dense, variable{p, b.Values})
	}
	if !slices.Equal(own.Shape, p.Shape) || own.Frozen != p.Frozen {
		return fmt.Errorf("local: param %q: the session has shape %v (frozen: %t), the trainer %v (frozen: %t)", p.Name,
			p.Shape, p.Frozen, own.Shape, own.Frozen)
	}
	return nil
}

// Begin implements [optimizer.Session].
func (s *session) Begin(ctx context.Context, step *optimizer.Step) error {
	if s.err == nil && s.begun {
		s.err = errors.New("local: Begin follows Begin: the step before was not ended")
	}
	if s.err == nil {
		s.err = errors.Join(ctx.Err(), s.pullDense(), s.pullRows(step))
	}
	s.begun = s.err == nil
	return s.err
}

// pullDense copies the weights, unless the params have them already.
func (s *session) pullDense() error {
	now, frozen := s.trainer.version.Load(), s.trainer.frozen.Load()
	for _, v := range s.dense {
		held := s.version == now
		if v.param.Frozen {
			held = s.frozen == frozen
		}
		if held {
			continue
		}
		if err := v.values.Pull(v.param.W); err != nil {
			return wrap(v.param.Name, err)
		}
	}
	s.version, s.frozen = now, frozen
	return nil
}

func (s *session) pullRows(step *optimizer.Step) error {
	done := s.trainer.Step()
	for _, r := range step.Rows {
		rows, err := s.trainer.table(r.Param.Name)
		if err != nil {
			return err
		}
		read := rows.Pull
		if step.Eval {
			read = rows.Peek
		}
		if err := read(r.IDs, r.W, done); err != nil {
			return wrap(r.Param.Name, err)
		}
	}
	return nil
}

// End implements [optimizer.Session].
func (s *session) End(ctx context.Context, step *optimizer.Step) error {
	if s.err == nil && !s.begun {
		s.err = errors.New("local: End without Begin")
	}
	if s.err == nil && !step.Eval {
		if s.err = s.apply(ctx, step); s.err == nil && s.trainer.store.Pressed() {
			s.err = s.trainer.makeRoom()
		}
	}
	s.begun = false
	return s.err
}

// apply makes one update of everything.
func (s *session) apply(ctx context.Context, step *optimizer.Step) error {
	if err := errors.Join(ctx.Err(), s.check(step)); err != nil {
		return err
	}
	rules.ClipGradients(s.trainer.rule, s.params, step.Rows)
	s.trainer.still.RLock()
	defer s.trainer.still.RUnlock()
	number := s.trainer.store.Advance()
	s.dropped = 0
	defer s.trainer.store.Finish(number)
	var errs [2]error
	hands := 1
	if len(step.Rows) > 0 {
		hands = min(2, runtime.GOMAXPROCS(0))
	}
	err := table.Share(hands, 2, func(_, part int) {
		if part == 0 {
			errs[0] = s.pushRows(step, number) // waits for memory, dense weights for more of it
		} else {
			errs[1] = s.pushDense(number)
		}
	})
	if err := errors.Join(err, errs[1], errs[0]); err != nil {
		return err
	}
	// The params now have the newest weights, unless another session changed them since this session read them.
	if s.trainer.version.Add(1) == s.version+1 {
		s.version++
	}
	return nil
}

// check returns an error for a step that would be applied in part, or would spoil the weights.
func (s *session) check(step *optimizer.Step) error {
	for _, r := range step.Rows {
		if _, err := s.trainer.table(r.Param.Name); err != nil {
			return err
		}
		if len(r.G) != len(r.IDs)*r.Param.Dim() {
			return fmt.Errorf("local: %d gradients for %d rows of %q, which has %d columns", len(r.G), len(r.IDs),
				r.Param.Name, r.Param.Dim())
		}
		if err := r.CheckCounts(); err != nil {
			return fmt.Errorf("local: %w", err)
		}
	}
	return s.checkFinite(step)
}

// checkFinite returns an error for gradients that are not finite, or so large that their rule's numbers would not be,
// whether the loss is finite or not: all weights that they reach would be lost.
func (s *session) checkFinite(step *optimizer.Step) error {
	for _, p := range s.params {
		if i := kernels.FirstBeyond(p.G, s.trainer.limits[p.Name]); i >= 0 && !p.Frozen {
			return notFinite(fmt.Sprintf("%q is %v at element %d", p.Name, p.G[i], i), step)
		}
	}
	for _, r := range step.Rows {
		if i := kernels.FirstBeyond(r.G, s.trainer.limits[r.Param.Name]); i >= 0 && !r.Param.Frozen {
			return notFinite(fmt.Sprintf("row %d of %q is %v", r.IDs[i/r.Param.Dim()], r.Param.Name, r.G[i]), step)
		}
	}
	return nil
}

// notFinite is the error for a gradient, with the loss if the objective has set it.
func notFinite(gradient string, step *optimizer.Step) error {
	loss := ""
	if step.Loss != 0 {
		loss = fmt.Sprintf(", and the loss %v", step.Loss)
	}
	return fmt.Errorf("local: the gradient of %s%s: lower the learning rate or look at the batch", gradient, loss)
}

func (s *session) pushDense(number int64) error {
	for _, v := range s.dense {
		if v.param.Frozen {
			continue
		}
		if err := v.values.PushPull(v.param.G, v.param.W, number); err != nil {
			return wrap(v.param.Name, err)
		}
	}
	return nil
}

func (s *session) pushRows(step *optimizer.Step, number int64) error {
	for _, r := range step.Rows {
		if err := s.push(r, number); err != nil {
			return wrap(r.Param.Name, err)
		}
	}
	return nil
}

func (s *session) push(r optimizer.Rows, number int64) error {
	rows, err := s.trainer.table(r.Param.Name)
	if err != nil || rows.Rule() == nil {
		return err
	}
	res, err := rows.PushClicks(r.IDs, r.G, table.Clicks{Show: r.Show, Click: r.Click, Pushes: r.Pushes}, number)
	s.dropped += res.Waiting + res.Full
	return err
}

// Dropped returns the number of rows of the last step that were not applied: an entry policy did not admit them, or the
// table's budget was spent.
func (s *session) Dropped() int { return s.dropped }

// Close implements [optimizer.Session]. It may be called twice.
func (s *session) Close(context.Context) error {
	s.err = errClosed
	return nil
}
