package local

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// Trainer keeps the weights of an objective. It implements [optimizer.Trainer]; all methods may be called from many
// goroutines at once.
type Trainer struct {
	rule    optimizer.Rule
	params  []*optimizer.Param
	limits  map[string]float32 // the largest gradients of their rules, by name
	store   table.Store
	version atomic.Int64 // of the dense weights: the number of their changes
	frozen  atomic.Int64 // of frozen params, which version does not count
	still   sync.RWMutex // read-locked while weights change
}

var _ optimizer.Trainer = (*Trainer)(nil)

// Minimize makes a trainer for the objective's params and binds the objective to it.
func Minimize(o optimizer.Objective, rule optimizer.Rule) (*Trainer, error) {
	if err := rules.CheckObjective(o); err != nil {
		return nil, fmt.Errorf("local: Minimize: %w", err)
	}
	for _, p := range o.Params() {
		if p.Evict.By != "" && p.MaxBytes == 0 {
			return nil, fmt.Errorf("local: Minimize: Evict of %q makes room within MaxBytes: set that too", p.Name)
		}
	}
	t, err := New(o.Params(), rule)
	if err != nil {
		return nil, err
	}
	o.Bind(t)
	return t, nil
}

// New returns a trainer for params with the weights that they begin with, as [optimizer.Param] says. [Trainer.SetDense]
// and [Trainer.SetRows] give others.
func New(params []*optimizer.Param, rule optimizer.Rule) (*Trainer, error) {
	if err := optimizer.CheckRule(rule, params...); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	t := &Trainer{rule: rule, params: params, limits: rules.Limits(rule, params)}
	for _, p := range params {
		if err := t.add(p); err != nil {
			return nil, fmt.Errorf("local: %w", err)
		}
	}
	return t, nil
}

func (t *Trainer) add(p *optimizer.Param) error {
	if err := p.Check(); err != nil {
		return err
	}
	rule := rules.For(t.rule, p)
	if p.Embedding {
		rows, err := table.NewSparse(p, rule, table.Options{Spread: true})
		if err == nil {
			err = table.Filler{Table: rows}.Begin(context.Background())
		}
		if err != nil {
			return err
		}
		rows.ByPush()
		return t.store.AddTable(rows)
	}
	w := make([]float32, p.Size())
	p.First(w)
	values := table.NewDense(len(w), rule)
	if err := values.Set(w); err != nil {
		return err
	}
	return t.store.AddBlock(table.Block{Param: p, Name: p.Name, Values: values})
}

// Store returns the store of the weights, for saving and loading. A caller that changes weights in it must call
// Changed, while no session is within a step.
func (t *Trainer) Store() *table.Store { return &t.store }

// Still calls do between two updates: steps that end meanwhile wait. Rows may still be created.
func (t *Trainer) Still(do func() error) error {
	t.still.Lock()
	defer t.still.Unlock()
	return do()
}

// makeRoom drops rows of tables that are nearly full, between two updates.
func (t *Trainer) makeRoom() error {
	return t.Still(func() error {
		if !t.store.Pressed() { // another session has done it
			return nil
		}
		_, err := t.store.EndPeriod(table.Shrink{Evict: true})
		return err
	})
}

// Changed tells the trainer that weights in the store were changed: open sessions read them again at their next step.
func (t *Trainer) Changed() {
	t.version.Add(1)
	t.frozen.Add(1)
}

// Changes returns how often weights were changed, by updates or otherwise; an update may count several times.
func (t *Trainer) Changes() int64 { return t.version.Load() + t.frozen.Load() }

// Step is the number of updates so far.
func (t *Trainer) Step() int64 { return t.store.Step() }

// EndEpoch implements [optimizer.Trainer]: there is no other worker to wait for.
func (t *Trainer) EndEpoch(context.Context) error { return nil }

// SetRate changes the learning rate of the rule from the next update on, replacing its LR (see [optimizer.Rated]);
// rules of an [optimizer.PerParam] keep their proportion to it.
func (t *Trainer) SetRate(rate float64) error {
	factor, err := rules.RateFactor(t.rule, rate)
	if err != nil {
		return fmt.Errorf("local: SetRate: %w", err)
	}
	return t.setRateFactor("SetRate", factor)
}

// SetRateFactor multiplies the rates of all rules, constant or from a schedule, from the next update on. It replaces an
// earlier factor.
func (t *Trainer) SetRateFactor(factor float64) error {
	return t.setRateFactor("SetRateFactor", factor)
}

func (t *Trainer) setRateFactor(call string, factor float64) error {
	if err := rules.CheckRateFactor(t.rule, t.params, factor); err != nil {
		return fmt.Errorf("local: %s: %w", call, err)
	}
	t.store.SetRateFactor(factor)
	return nil
}

// RateFactor is the factor on the rates of all rules, 1 if none was set.
func (t *Trainer) RateFactor() float64 { return t.store.RateFactor() }

// SetDense gives a dense param explicit weights.
func (t *Trainer) SetDense(name string, w []float32) error {
	return t.SetAllDense([]string{name}, [][]float32{w})
}

// SetAllDense gives several dense params explicit weights, as one change for readers by
// [Trainer.Still].
func (t *Trainer) SetAllDense(names []string, w [][]float32) error {
	t.still.RLock()
	defer t.still.RUnlock()
	for i, name := range names {
		if err := t.setDense(name, w[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *Trainer) setDense(name string, w []float32) error {
	b, err := t.block(name)
	if err != nil {
		return err
	}
	if b.Param.Frozen {
		defer t.frozen.Add(1)
	} else {
		defer t.version.Add(1)
	}
	return wrap(name, b.Values.Set(w))
}

// Dense returns a copy of a dense param's weights.
func (t *Trainer) Dense(name string) ([]float32, error) {
	b, err := t.block(name)
	if err != nil {
		return nil, err
	}
	w := make([]float32, b.Values.Len())
	return w, wrap(name, b.Values.Pull(w))
}

// SetRows gives rows of an embedding explicit weights, len(ids) rows of dim floats, and the rule's initial state.
func (t *Trainer) SetRows(name string, ids []uint64, w []float32) error {
	rows, err := t.table(name)
	if err != nil {
		return err
	}
	t.still.RLock()
	defer t.still.RUnlock()
	return wrap(name, rows.Set(ids, w, t.Step()))
}

// Rows returns a copy of rows of an embedding, len(ids) rows of dim floats, as an evaluation sees them: a missing row
// has its initial value if the embedding has a height and is zero if not.
func (t *Trainer) Rows(name string, ids []uint64) ([]float32, error) {
	rows, err := t.table(name)
	if err != nil {
		return nil, err
	}
	w := make([]float32, len(ids)*rows.Param().Dim())
	return w, wrap(name, rows.Peek(ids, w, t.Step()))
}

func (t *Trainer) block(name string) (table.Block, error) {
	b, ok := t.store.Block(name)
	if !ok {
		return b, fmt.Errorf("local: unknown dense param %q", name)
	}
	return b, nil
}

func (t *Trainer) table(name string) (*table.Sparse, error) {
	rows, ok := t.store.Table(name)
	if !ok {
		return nil, fmt.Errorf("local: unknown embedding %q", name)
	}
	return rows, nil
}

func wrap(name string, err error) error {
	if err != nil {
		return fmt.Errorf("local: param %q: %w", name, err)
	}
	return nil
}
