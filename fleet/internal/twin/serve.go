package twin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
)

// Beside a job services score what it publishes: one takes each delta that it is given, one looks for deltas where all
// is published. Both must predict what a model does that is loaded anew, to the bit.

// services are those of a chain of a base and its deltas.
type services struct {
	told, looks *serve.Scorer
}

// served has all bases and deltas.
const served = "published"

// chainOf is the chain that a checkpoint knows, none where some params alone are taken of it.
func (r *run) chainOf(dir string, only []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(only) > 0 {
		return nil
	}
	return slices.Clone(r.chains[dir])
}

// base begins a chain.
func (r *role) base(ctx context.Context, dir string, m optimizer.Model, c Call) error {
	saved, err := r.f.SaveModel(ctx, dir, r.p.Net.serves(fleet.SaveBase, m, r.at(served), c))
	if r.unknown(err) {
		return r.base(ctx, dir+"-again", m, c)
	}
	if r.chain, r.newest = []string{dir}, dir; err == nil && c.Mode == "base" && !r.l.blind() {
		r.see([]float64{float64(saved.Rows), float64(saved.Left)}, "%s saves rows", c.At)
	}
	return err
}

// unknown says whether a server died when a model was whole, so that not all servers may know of it: a base is to
// follow.
func (r *role) unknown(err error) bool {
	return r.l.returns() && err != nil && strings.Contains(err.Error(), "not all servers know of it")
}

// delta goes on with the chain, or is refused and saves a base in its place where another was published since, or none
// is known.
func (r *role) delta(ctx context.Context, dir string, m optimizer.Model) error {
	follows := len(r.chain) > 0 && r.chain[len(r.chain)-1] == r.newest
	switch _, err := r.f.SaveModel(ctx, dir, r.p.Net.serves(fleet.SaveDelta, m, r.at(served), Call{})); {
	case errors.Is(err, fleet.ErrNoBase) && !follows:
		return r.base(ctx, dir, m, Call{})
	case r.unknown(err):
		return r.base(ctx, dir+"-again", m, Call{})
	case err == nil && !follows:
		return fmt.Errorf("a delta follows %v, though %s was published since", r.chain, r.newest)
	case err != nil:
		return err
	}
	r.chain, r.newest = append(r.chain, dir), dir
	return nil
}

// scored has services take up what was published last, the base or the last delta of the chain, and compares what they
// predict.
func (r *role) scored(ctx context.Context, want []float64) (err error) {
	s, last := &r.services, r.chain[len(r.chain)-1]
	if len(r.chain) == 1 || s.told == nil {
		r.unserve()
		s.told, err = serve.OpenScorer(r.chain[0], serve.ScorerOptions{})
		for _, delta := range r.chain[1:] {
			if err == nil {
				err = s.told.TakeDelta(delta)
			}
		}
		if err == nil {
			s.looks, err = serve.OpenScorer(r.chain[0], serve.ScorerOptions{Deltas: r.at(served)})
		}
	} else {
		var changed bool
		changed, err = s.looks.Reload()
		if err = errors.Join(s.told.TakeDelta(last), err); err == nil && !changed {
			err = fmt.Errorf("a service that looks for deltas finds none in %s", last)
		}
	}
	if err != nil {
		return err
	}
	for _, s := range []*serve.Scorer{s.told, s.looks} {
		y, err := s.Score(ctx, r.p.feed(firstFew(), false))
		if err != nil {
			return err
		}
		if got := wide(y.Values[0]); !slices.Equal(got, want) {
			return fmt.Errorf("behind %d deltas a service predicts %v, the model loaded anew %v", len(r.chain)-1, got,
				want)
		}
	}
	return nil
}

// unserve ends what services do beside calls.
func (r *role) unserve() {
	for _, s := range []*serve.Scorer{r.services.told, r.services.looks} {
		if s != nil {
			s.Close()
		}
	}
	r.services = services{}
}

// has compares the rows of a table as the job has them with those that were saved. Some says that not all of them are
// to be there.
func (r *role) has(ctx context.Context, table string, all map[uint64][]float32, some bool) error {
	for row, err := range r.f.Rows(ctx, table) {
		switch {
		case err != nil:
			return err
		case some && all[row.ID] == nil:
			continue
		case !slices.Equal(all[row.ID], row.W):
			return fmt.Errorf("row %d of %s is %v, and elsewhere %v", row.ID, table, row.W, all[row.ID])
		}
		delete(all, row.ID)
	}
	if left := slices.Sorted(maps.Keys(all)); len(left) > 0 {
		return fmt.Errorf("rows %v of %s are elsewhere, and the job has none of them", left, table)
	}
	return nil
}

// inspect notes what a checkpoint that was saved says that it holds, as fleetrun inspect shows it, and looks whether it
// is whole.
func (r *role) inspect(ctx context.Context, at, name string) error {
	r.mu.Lock()
	r.chains[name] = slices.Clone(r.chain)
	r.mu.Unlock()
	dir := r.at(name)
	d, err := checkpoint.Describe(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(whole(ctx, dir), r.l.Rules.described(d)); err != nil {
		return err
	}
	if r.l.rounds() || r.l.copies() {
		r.see([]float64{float64(d.Step)}, "%s is of step", at)
	}
	if r.l.blind() {
		return nil
	}
	for _, p := range d.Params {
		if p.Embedding {
			r.see([]float64{float64(p.Rows), float64(p.Waiting)}, "%s has saved of %s", at, p.Name)
		}
	}
	return nil
}

// described says where a checkpoint is described as of other rules.
func (r Rules) described(d checkpoint.Description) error {
	if d.Rule != r.All.called() {
		return fmt.Errorf("the rule of %s is called %q, want %q", d.Dir, d.Rule, r.All.called())
	}
	for _, p := range d.Params {
		if want := r.Of(p.Name).called(); p.Rule != "" && p.Rule != want {
			return fmt.Errorf("the rule of %s in %s is called %q, want %q", p.Name, d.Dir, p.Rule, want)
		}
	}
	return nil
}

// whole says what is wrong with a checkpoint, a model or a delta.
func whole(ctx context.Context, dir string) error {
	found, err := checkpoint.Examine(ctx, dir)
	return errors.Join(err, found.Err, found.Damage())
}

// rounds says whether all servers make the same number of updates.
func (l Leg) rounds() bool { return !l.ordered() && !l.copies() && !l.drifts() }

// serving is what a base has that a call saves, and of how many rows it has none.
func (s *state) serving(c Call) (some *state, left int) {
	some = s.clone()
	for _, t := range s.p.Net.Tables {
		for id, r := range s.rows[t.Name] {
			if t.Score > 0 && (c.Least > 0 && r.score() < c.Least || c.Unseen > 0 && s.clock-r.seen > c.Unseen) {
				delete(some.rows[t.Name], id)
				left++
			}
		}
	}
	return some, left
}

// serves notes how many rows a base should have.
func (m *model) serves(at string, left int) {
	rows := 0
	for _, t := range m.p.Net.Tables {
		rows += len(m.now.rows[t.Name])
	}
	if !m.l.blind() {
		m.saw.see([]float64{float64(rows), float64(left)}, "%s saves rows", at)
	}
}

// saved notes what a checkpoint should hold.
func (m *model) saved(at string) {
	if m.l.rounds() || m.l.copies() {
		m.saw.see([]float64{float64(m.now.steps + m.sent/m.l.Workers)}, "%s is of step", at)
	}
	if m.l.blind() {
		return
	}
	for _, t := range m.p.Net.tables() {
		m.saw.see([]float64{float64(len(m.now.rows[t.Name])), float64(len(m.now.waiting[t.Name]))},
			"%s has saved of %s", at, t.Name)
	}
}
