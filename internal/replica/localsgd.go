package replica

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// localSGD is a session that updates this worker's own copy, and sets it to the mean of all copies when [mode.LocalSGD]
// says so:
//
//	d = snapshot − w;  w = snapshot − (Σ over workers d)/N;  snapshot = w
//
// At the end of an epoch all copies are set to the mean too, with the state of their rule, so that a checkpoint between
// epochs is of one model, and a job goes on from it as if it had not ended.
type localSGD struct {
	optimizer.Session
	t      *Trainer
	intake *gradient.Intake
	*drift
}

// drift is the distance of this worker's copy from the others'. All sessions of a trainer share it.
type drift struct {
	names    []string    // of the dense params that are trained
	snapshot [][]float32 // the params when all copies were the same
	d        [][]float32
	states   [][]float32 // of the rule, by block, when all copies had the same
	ds       [][]float32
	loss     []float32         // of this worker's last step, and 1; zeros if no step was made since the last meeting
	at       progress.Position // of this worker, after its last step
	turns    mode.LocalSGD
}

// driftsBy reports whether workers' copies differ for some steps, and when they meet.
func driftsBy(s strategy.Strategy) (mode.LocalSGD, bool) {
	if a := s.AdaptiveLocalSGD; a.InitKSteps > 0 {
		return mode.LocalSGD{K: a.InitKSteps, Begin: a.BeginStep, Adaptive: true}, true
	}
	return mode.LocalSGD{K: s.LocalSGD.KSteps, Begin: s.LocalSGD.BeginStep}, s.LocalSGD.KSteps > 0
}

// checkLocalSGD refuses rules and params that copies which differ for some steps can't train.
func checkLocalSGD(c Config) error {
	if name := c.Rule.Name(); name != (optimizer.SGD{}).Name() && name != (optimizer.Momentum{}).Name() {
		return fmt.Errorf("replica: localsgd with rule %s: it is for SGD and Momentum", name)
	}
	for _, p := range c.Params {
		if p.Embedding {
			return fmt.Errorf("replica: localsgd with embedding %q: workers would not touch the same rows; leave "+
				"localsgd out", p.Name)
		}
	}
	return nil
}

// drifting returns the trainer's drift, beginning with the common weights.
func (t *Trainer) drifting() (*drift, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drift != nil {
		return t.drift, nil
	}
	turns, _ := driftsBy(t.c.Strategy)
	turns.Resume(int(t.Local().Step()), mode.Pace(t.Pace()))
	d := &drift{loss: []float32{0, 0}, turns: turns}
	for _, p := range t.c.Params {
		if p.Frozen {
			continue
		}
		w, err := t.Local().Dense(p.Name)
		if err != nil {
			return nil, err
		}
		d.names, d.snapshot, d.d = append(d.names, p.Name), append(d.snapshot, w), append(d.d, make([]float32, len(w)))
	}
	t.eachState(func(_, at int, state []float32) {
		if at == 0 {
			d.states = append(d.states, nil)
		}
		last := len(d.states) - 1
		d.states[last] = append(d.states[last], state...)
	})
	for _, s := range d.states {
		d.ds = append(d.ds, make([]float32, len(s)))
	}
	t.drift = d
	return d, nil
}

// eachState calls do with every piece of the rule's state of a dense param's block: block counts the blocks from 0, and
// at is where the piece begins in the block's state.
func (t *Trainer) eachState(do func(block, at int, state []float32)) {
	n := 0
	for _, b := range t.Store().Blocks {
		at := 0
		b.Values.Edit(func(_ int, _, state []float32) {
			if len(state) > 0 {
				do(n, at, state)
				at += len(state)
			}
		})
		if at > 0 {
			n++
		}
	}
}

// End implements [optimizer.Session].
func (s *localSGD) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return s.Session.End(ctx, st)
	}
	if _, err := s.intake.Take(st); err != nil {
		err = s.t.named(err)
		s.t.group.Fail(ctx, err)
		return err
	}
	own := s.t.trained(st)
	if err := s.t.Steps.Count(func() error { return s.Session.End(ctx, st) },
		func() { s.t.movedTo(s.t.c.Group.Rank, own) }); err != nil {
		return err
	}
	s.at = own
	s.t.Tally.Applied(s.Session, 0)
	s.loss[0], s.loss[1] = float32(st.Loss), 1
	if !s.turns.Step() {
		return nil
	}
	_, err := s.exchange(ctx, false)
	return err
}

// exchange sets all copies to their mean. ended reports that this worker has ended its epoch, and all that every worker
// has.
func (s *localSGD) exchange(ctx context.Context, ended bool) (all bool, err error) {
	for i, name := range s.names {
		w, err := s.t.Local().Dense(name)
		if err != nil {
			return false, err
		}
		mode.Drift(s.d[i], s.snapshot[i], w)
	}
	loss := slices.Clone(s.loss) // becomes the mean
	clear(s.loss)
	var first settled
	p := collective.Part{Weight: 1, Ended: ended, News: s.t.hasNews(), At: s.at}
	m, err := s.t.group.Mean(ctx, p, append(slices.Clone(s.d), loss)...)
	if err == nil && m.News {
		err = s.t.takeRate(ctx)
	}
	if err != nil {
		return false, s.t.named(err)
	}
	if all = m.Ended == s.t.group.Ranks(); all {
		if first, err = s.settle(ctx); err != nil {
			return false, s.t.named(err)
		}
	}
	for i := range s.names {
		mode.Return(s.snapshot[i], s.d[i])
	}
	become := func() error { return s.become(all, first, loss) }
	return all, s.t.Steps.Count(become, func() { s.t.moved(m.At) })
}

// become sets this copy to the common state: the mean of the weights, and everything else that a checkpoint has, so
// that no checkpoint has half of it.
func (s *localSGD) become(all bool, first settled, loss []float32) error {
	if err := s.t.Local().SetAllDense(s.names, s.snapshot); err != nil {
		return err
	}
	if all {
		s.turns.Resume(int(first.Step), first.Pace)
	}
	if loss[1] > 0 { // else no worker has made a step since, as between two barriers, and there is no loss
		rate := s.t.rateOf(s.t.c.Rule, s.turns.Steps())
		if err := s.turns.Met(rate, float64(loss[0])/float64(loss[1])); err != nil {
			return err
		}
		s.t.SetPace(checkpoint.Pace(s.turns.Pace()))
	}
	if all {
		s.t.Store().SetStep(first.Step)
		s.t.eachState(func(block, at int, state []float32) { copy(state, s.states[block][at:]) })
	}
	return nil
}

// settled is what all workers take from worker 0 at the end of an epoch, as a job that goes on from its checkpoint
// does: the number of updates, and when to meet.
type settled struct {
	Step int64
	mode.Pace
}

// settle makes the rest of a checkpoint the same on all workers: the rule's state becomes the mean of all.
func (s *localSGD) settle(ctx context.Context) (first settled, err error) {
	p := s.turns.Pace()
	of := []int64{s.t.Local().Step(), int64(p.K), int64(math.Float64bits(p.LR)), int64(math.Float64bits(p.Loss))}
	err = collective.Broadcast(ctx, s.t.group, 0, of)
	first = settled{of[0], mode.Pace{K: int(of[1]), LR: math.Float64frombits(uint64(of[2])),
		Loss: math.Float64frombits(uint64(of[3]))}}
	if err != nil || len(s.states) == 0 {
		return first, err
	}
	s.t.eachState(func(block, at int, state []float32) {
		mode.Drift(s.ds[block][at:][:len(state)], s.states[block][at:][:len(state)], state)
	})
	if _, err := s.t.group.Mean(ctx, collective.Part{Weight: 1, Ended: true, At: s.at}, s.ds...); err != nil {
		return first, err
	}
	for i := range s.states {
		mode.Return(s.states[i], s.ds[i])
	}
	return first, nil
}

// park takes part in exchanges until every worker has ended its epoch.
func (s *localSGD) park(ctx context.Context) error {
	for {
		all, err := s.exchange(ctx, true)
		if all || err != nil {
			return err
		}
	}
}
