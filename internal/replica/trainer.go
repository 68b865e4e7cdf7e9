package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/solo"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Config is what a trainer is made of.
type Config struct {
	Params []*optimizer.Param
	Rule   optimizer.Rule
	// Strategy has its defaults filled in.
	Strategy strategy.Strategy
	// Fingerprint is what all workers must have in common.
	Fingerprint layout.Fingerprint
	// Group says how the workers meet; its times are the strategy's.
	Group collective.Config
}

// Trainer is one worker's copy of the weights, with which it does by itself what does not change them: what it is embedded for.
type Trainer struct {
	*solo.Trainer
	c Config
	// origin is what the weights were loaded from, in words.
	origin string
	mu     sync.Mutex // guards what follows
	group  *collective.Group
	// claimed says that group is there or in the making.
	claimed bool
	joined  bool
	left    bool
	trains  *opened // the session that trains
	parker  session // takes part in others' steps; made when it is first needed
	drift   *drift  // with LocalSGD
	// wanted is the factor on learning rates that rank 0 is to tell the others of; 0 for none.
	wanted float64
}

var _ backend.Trainer = (*Trainer)(nil)

var (
	// ErrClosed says that the worker has left.
	ErrClosed = errors.New("worker has left the job")
	// errGivenUp is what the other workers are told of one that was closed.
	errGivenUp = errors.New("the worker was closed before StopWorker")
)

// New makes a trainer that has yet to Join.
func New(c Config) (*Trainer, error) {
	for _, p := range c.Params {
		if p.MaxBytes > 0 {
			return nil, fmt.Errorf("replica: embedding %q has MaxBytes: workers would fill it with different rows; servers can bound it", p.Name)
		}
		if r := optimizer.RuleFor(c.Rule, p); r != nil && optimizer.IsRandom(r) {
			return nil, fmt.Errorf("replica: rule %s of %q draws lots, and every worker would draw its own: their weights would come apart; train with servers",
				r.Name(), p.Name)
		}
	}
	if _, drifts := driftsBy(c.Strategy); drifts {
		if err := checkLocalSGD(c); err != nil {
			return nil, err
		}
	}
	s := c.Strategy
	own, err := solo.New(c.Params, c.Rule, s.NotFinite)
	if err != nil {
		return nil, err
	}
	if c.Group.Logger == nil {
		c.Group.Logger = slog.Default()
	}
	c.Group.Bucket = s.FuseGradSizeInMB << 20
	c.Group.StartTimeout, c.Group.WaitTimeout = s.StartTimeout.Std(), s.WaitTimeout.Std()
	c.Group.SilenceTimeout, c.Group.ProbeInterval = s.WorkerTimeout.Std(), s.HeartbeatInterval.Std()
	return &Trainer{Trainer: own, c: c}, nil
}

// Restore implements [backend.Trainer]: what weights are loaded from, one load after the other, must be the same on every worker.
func (t *Trainer) Restore(ctx context.Context, dir string, what checkpoint.Selection) error {
	t.mu.Lock()
	claimed := t.claimed
	t.mu.Unlock()
	if claimed {
		return backend.ErrJoined
	}
	origin, err := t.Load(ctx, dir, what)
	if err != nil {
		return err
	}
	if t.origin != "" {
		origin = t.origin + ", then from " + origin
	}
	t.origin = origin
	return nil
}

// Join implements [backend.Trainer]: it finds the other workers, compares with them what is trained, and takes the dense weights of rank 0.
func (t *Trainer) Join(ctx context.Context) error {
	if err := t.Whole(); err != nil {
		return err
	}
	g, err := t.claim(ctx)
	if err != nil {
		return t.named(err)
	}
	if err = g.Join(ctx); err == nil {
		err = t.agree(ctx, g)
	}
	if err == nil {
		err = t.takeWeights(ctx, g)
	}
	if err != nil {
		return t.named(errors.Join(err, t.fail(ctx, err)))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.joined = true
	return nil
}

// named says whose error it is.
func (t *Trainer) named(err error) error {
	if err != nil {
		err = fmt.Errorf("worker %d: %w", t.c.Group.Rank, err)
	}
	return err
}

// claim makes the group, once. That may take as long as StartTimeout.
func (t *Trainer) claim(ctx context.Context) (*collective.Group, error) {
	t.mu.Lock()
	claimed := t.claimed
	t.claimed = true
	t.mu.Unlock()
	if claimed {
		return nil, backend.ErrJoined
	}
	g, err := collective.New(ctx, t.c.Group)
	t.mu.Lock()
	t.group, t.claimed = g, err == nil
	left := t.left
	t.mu.Unlock()
	if err == nil && left { // Close came meanwhile, and had nothing to close
		return nil, errors.Join(ErrClosed, g.Close(ctx, ErrClosed))
	}
	return g, err
}

// agree compares this worker's model, rule and strategy with the others', and how far each has come.
func (t *Trainer) agree(ctx context.Context, g *collective.Group) error {
	mine := append(layout.Fingerprint{}, t.c.Fingerprint...)
	mine = append(mine, layout.Fact("beginning", t.begins()), layout.Fact("step (of the checkpoint that was loaded, 0 without one)", t.Local().Step()))
	data, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	all, err := g.AllGather(ctx, data)
	if err != nil {
		return err
	}
	for rank, data := range all {
		var theirs layout.Fingerprint
		if err := json.Unmarshal(data, &theirs); err != nil {
			return fmt.Errorf("replica: fingerprint of worker %d: %w", rank, err)
		}
		if d := mine.Difference(fmt.Sprintf("worker %d", t.c.Group.Rank), theirs, fmt.Sprintf("worker %d", rank)); d != "" {
			return fmt.Errorf("replica: worker %d builds another job: %s", rank, d)
		}
	}
	return nil
}

// begins says from what this worker begins.
func (t *Trainer) begins() string {
	if t.origin == "" {
		return "nothing, without Restore or LoadModel"
	}
	return t.origin
}

// takeWeights sets every dense param, the frozen ones too, to what rank 0 has.
func (t *Trainer) takeWeights(ctx context.Context, g *collective.Group) error {
	var names []string
	var all [][]float32
	for _, p := range t.c.Params {
		if p.Embedding {
			continue
		}
		w, err := t.Local().Dense(p.Name)
		if err != nil {
			return err
		}
		names, all = append(names, p.Name), append(all, w)
	}
	if err := collective.Broadcast(ctx, g, 0, all...); err != nil {
		return err
	}
	for i, name := range names {
		if err := t.Local().SetDense(name, all[i]); err != nil {
			return err
		}
	}
	return nil
}

// Meet has do talk to the other workers between steps. It ends the epoch first, so that workers with more batches go on until they
// come to the same call.
func (t *Trainer) Meet(ctx context.Context, do func(*collective.Group) error) error {
	if err := t.EndEpoch(ctx); err != nil {
		return err
	}
	return t.named(do(t.group))
}

// Barrier implements [backend.Trainer].
func (t *Trainer) Barrier(ctx context.Context) error {
	return t.Meet(ctx, func(g *collective.Group) error { return g.Barrier(ctx) })
}

// Gather implements [backend.Trainer]. The group compares the workers' calls.
func (t *Trainer) Gather(ctx context.Context, _ string, data []byte) (all [][]byte, err error) {
	err = t.Meet(ctx, func(g *collective.Group) error { all, err = g.AllGather(ctx, data); return err })
	return all, err
}

// Save implements [backend.Trainer]: the copies are the same, and rank 0 writes its own when it calls.
func (t *Trainer) Save(ctx context.Context, dir string) error {
	if t.c.Group.Rank != 0 {
		return nil
	}
	return t.WriteCheckpoint(ctx, dir, t.rate())
}

// Shrink implements [backend.Trainer]: all end the day of their copies behind a barrier.
func (t *Trainer) Shrink(ctx context.Context, o table.Shrink) ([]table.Shrunk, error) {
	if err := t.Barrier(ctx); err != nil {
		return nil, err
	}
	return t.Trainer.Shrink(ctx, o)
}

// ready is the group between Join and Leave.
func (t *Trainer) ready() (*collective.Group, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.left:
		return nil, t.named(ErrClosed)
	case !t.joined:
		return nil, t.named(backend.ErrNotJoined)
	}
	return t.group, nil
}

// Open implements [optimizer.Trainer].
func (t *Trainer) Open(params []*optimizer.Param) (optimizer.Session, error) {
	if _, err := t.ready(); err != nil {
		return nil, err
	}
	s, err := t.session(params)
	if err != nil {
		return nil, err
	}
	return &opened{s, t}, nil
}

// opened is a session that the trainer hears of when it trains: one that only evaluates concerns nobody else.
type opened struct {
	session
	t *Trainer
}

// Begin implements [optimizer.Session].
func (o *opened) Begin(ctx context.Context, st *optimizer.Step) error {
	if !st.Eval {
		if err := o.t.admit(o); err != nil {
			return err
		}
	}
	return o.session.Begin(ctx, st)
}

// admit lets one session train.
func (t *Trainer) admit(o *opened) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trains != nil && t.trains != o {
		return errors.New("a worker of a collective job trains with one session: close the other one first")
	}
	t.trains = o
	return nil
}

// Close implements [optimizer.Session].
func (o *opened) Close(ctx context.Context) error {
	o.t.mu.Lock()
	if o.t.trains == o {
		o.t.trains = nil
	}
	o.t.mu.Unlock()
	return o.session.Close(ctx)
}

// EndEpoch implements [optimizer.Trainer]: this worker takes part in the steps of the others, with nothing of its own, until all
// have ended their epoch.
func (t *Trainer) EndEpoch(ctx context.Context) error {
	if _, err := t.ready(); err != nil {
		return err
	}
	t.mu.Lock()
	s := t.parker
	t.mu.Unlock()
	if s == nil {
		var err error
		if s, err = t.session(t.c.Params); err != nil {
			return err
		}
		t.mu.Lock()
		t.parker = s
		t.mu.Unlock()
	}
	return s.park(ctx)
}

// Leave implements [backend.Trainer]: it waits until all workers have come here.
func (t *Trainer) Leave(ctx context.Context) error {
	g, err := t.ready()
	switch {
	case errors.Is(err, ErrClosed):
		return nil
	case err != nil:
		return err
	}
	err = t.EndEpoch(ctx)
	t.mu.Lock()
	t.left = true
	t.mu.Unlock()
	if err != nil {
		return errors.Join(err, t.fail(ctx, err))
	}
	return t.named(g.Leave(ctx))
}

// Close implements [backend.Trainer]: the other workers are told.
func (t *Trainer) Close() {
	if err := t.fail(context.Background(), errGivenUp); err != nil {
		t.c.Group.Logger.Warn("replica: closing", "error", err)
	}
}

// fail ends this worker's part at once and tells the others why.
func (t *Trainer) fail(ctx context.Context, reason error) error {
	t.mu.Lock()
	t.left = true
	g := t.group
	t.mu.Unlock()
	if g == nil {
		return nil
	}
	return g.Close(ctx, reason)
}
