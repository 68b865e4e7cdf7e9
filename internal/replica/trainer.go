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

// Config configures a Trainer.
type Config struct {
	Params []*optimizer.Param
	Rule   optimizer.Rule
	// Strategy has its defaults filled in.
	Strategy strategy.Strategy
	// Fingerprint is what all workers must have in common.
	Fingerprint layout.Fingerprint
	// Group says how the workers meet; New sets its times from the strategy.
	Group collective.Config
}

// Trainer is one worker's copy of the weights. The solo.Trainer in it keeps the copy, and does what involves no other
// worker: reading, counting, restoring. Everything that changes weights is in this type, since all copies must change
// alike.
type Trainer struct {
	*solo.Trainer
	c Config
	// origin describes what the weights were loaded from.
	origin string
	mu     sync.Mutex // guards the fields below
	group  *collective.Group
	// claimed reports that group is made or being made.
	claimed bool
	joined  bool
	left    bool
	trains  *opened // the session that trains
	parker  session // takes part in others' steps; made when it is first needed
	drift   *drift  // with LocalSGD
	// at is, by rank, the places in the data of the threads whose gradients this copy has. It belongs to the holder of
	// an update's turn.
	at [][]progress.Position
	// wanted is the factor on learning rates that rank 0 must send to the others; 0 for none.
	wanted float64
}

var (
	_ backend.Trainer = (*Trainer)(nil)
	_ backend.Waiting = (*Trainer)(nil)
)

var (
	// ErrClosed means that the worker has left.
	ErrClosed = errors.New("worker has left the job")
	// errGivenUp is what the other workers receive when a worker is closed.
	errGivenUp = errors.New("the worker was closed before StopWorker")
)

// New makes a trainer that has not joined.
func New(c Config) (*Trainer, error) {
	for _, p := range c.Params {
		if p.MaxBytes > 0 {
			return nil, fmt.Errorf("replica: embedding %q has MaxBytes, and workers would fill it with different "+
				"rows: train with servers", p.Name)
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

// named prefixes an error with the worker.
func (t *Trainer) named(err error) error {
	if err != nil {
		err = fmt.Errorf("worker %d: %w", t.c.Group.Rank, err)
	}
	return err
}

// longWait is the least time after which a collective counts as a wait.
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

// ready returns the group between Join and Leave.
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
