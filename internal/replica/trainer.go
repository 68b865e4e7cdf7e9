package replica

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/solo"
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

// Trainer is one worker's copy of the weights. The solo in it keeps the copy, and answers what takes no other worker:
// reading, counting, restoring. Whatever changes weights is this type's own, since all copies must change alike.
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
	// at is how far each rank's threads are in their data with what this copy has of them. The holder of an update's
	// turn has it.
	at [][]progress.Position
	// wanted is the factor on learning rates that rank 0 is to tell the others of; 0 for none.
	wanted float64
}

var (
	_ backend.Trainer = (*Trainer)(nil)
	_ backend.Waiting = (*Trainer)(nil)
)

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
			return nil, fmt.Errorf("replica: embedding %q has MaxBytes, and workers would fill it with different "+
				"rows: train with servers",
				p.Name)
		}
		if r := rules.For(c.Rule, p); r != nil && rules.IsRandom(r) {
			return nil, fmt.Errorf("replica: rule %s of %q draws lots, and every worker would draw its own, so that "+
				"their weights would come apart: train with servers", r.Name(), p.Name)
		}
	}
	if _, drifts := driftsBy(c.Strategy); drifts {
		if err := checkLocalSGD(c); err != nil {
			return nil, err
		}
	}
	s := c.Strategy
	if c.Group.Logger == nil {
		c.Group.Logger = slog.Default()
	}
	own, err := solo.New(c.Params, c.Rule, s, c.Group.Logger)
	if err != nil {
		return nil, err
	}
	c.Group.Bucket = s.FuseGradSizeInMB << 20
	c.Group.StartTimeout, c.Group.WaitTimeout = s.StartTimeout.Std(), s.LongestWait().Std()
	c.Group.SilenceTimeout, c.Group.ProbeInterval = s.WorkerTimeout.Std(), s.HeartbeatInterval.Std()
	t := &Trainer{Trainer: own, c: c}
	own.At = func() [][]progress.Position { return t.at }
	return t, nil
}

// named says whose error it is.
func (t *Trainer) named(err error) error {
	if err != nil {
		err = fmt.Errorf("worker %d: %w", t.c.Group.Rank, err)
	}
	return err
}

// longWait is how long a collective takes at least that counts as a wait.
const longWait = time.Second

// Waits implements [backend.Waiting].
func (t *Trainer) Waits() []backend.Wait {
	g, err := t.ready()
	if err != nil {
		return nil
	}
	at, ranks, waited := g.Waits()
	if at == "" || waited < longWait {
		return nil
	}
	return []backend.Wait{{Why: at, Workers: ranks, Since: time.Now().Add(-waited)}}
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
