package solo

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"github.com/gofleet/gofleet/strategy"
)

// Trainer keeps all weights in this process. The zero one keeps none, and can do what takes none: barriers. It does at
// once what workers ask servers for. Threads may use it beside each other: updates, checkpoints and loads are kept
// apart by the locks below and by that of package local.
type Trainer struct {
	// Tally counts what becomes of gradients.
	Tally Tally
	// local makes updates; Still of it runs a function while none is made.
	local *local.Trainer
	// params and rule are what checkpoints are checked against.
	params []*optimizer.Param
	rule   optimizer.Rule
	// policy says what becomes of gradients that are not finite.
	policy strategy.NotFinite
	// series are the checkpoints that this process makes by itself; progress and positions are what it goes on
	// from.
	resumed   bool // they are of that one, and not of what was restored
	series    *checkpoint.Series
	tracker   *checkpoint.Tracker
	places    checkpoint.Claims // where Save writes
	progress  checkpoint.Progress
	positions [][]progress.Position
	// At says how far all workers are, by worker, between two steps.
	At func() [][]progress.Position
	// Steps counts what is trained on.
	Steps Steps

	// writing is held while a checkpoint is written; it guards saved, which is what the last one of the series holds.
	writing sync.Mutex
	saved   *saved
	kept    atomic.Pointer[backend.Kept]
	// A checkpoint from before a period's end is not that from behind it, though no update lies between.
	periods int // that were ended; changed while no step is made

	mu sync.Mutex
	// torn is why a load has left parts of two models.
	torn error
	// pace is that of the checkpoint which was loaded, or what SetPace said.
	pace checkpoint.Pace
}

// Pace is what checkpoints have of when workers meet.
func (t *Trainer) Pace() checkpoint.Pace {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pace
}

// SetPace says when workers meet from now on.
func (t *Trainer) SetPace(p checkpoint.Pace) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pace = p
}

var (
	_ backend.Trainer = (*Trainer)(nil)
	_ backend.Holder  = (*Trainer)(nil)
	_ backend.Keeper  = (*Trainer)(nil)
)

// New makes a trainer of params with the weights that they begin with, under a strategy with its defaults filled in.
// Nothing is read or written before Join.
func New(params []*optimizer.Param, rule optimizer.Rule, s strategy.Strategy, log *slog.Logger) (*Trainer, error) {
	t, err := local.New(params, rule)
	if err != nil {
		return nil, err
	}
	t.Store().LogTo(log)
	series := &checkpoint.Series{Dir: s.Recovery.Dir, Keep: s.Recovery.Keep, Deltas: s.Recovery.Deltas, Log: log}
	own := &Trainer{local: t, params: params, rule: rule, policy: s.NotFinite, series: series,
		tracker: checkpoint.NewTracker(t.Store(), s.Recovery.Deltas > 0)}
	own.Steps.local = t
	own.At = func() [][]progress.Position { return [][]progress.Position{own.Steps.reading.All()} }
	return own, nil
}

// Local is what makes the updates.
func (t *Trainer) Local() *local.Trainer { return t.local }

// Store implements [backend.Holder].
func (t *Trainer) Store() *table.Store { return t.local.Store() }

// Join implements [backend.Trainer]: weights that were loaded in part are not begun with. It claims the directory of
// checkpoints, and goes on from the newest whole one there.
func (t *Trainer) Join(ctx context.Context) error {
	if err := t.Claim(ctx); err != nil {
		return err
	}
	_, err := t.Resume(ctx)
	t.GoOn(0, 1)
	return errors.Join(err, t.Whole())
}

// Leave implements [backend.Trainer]: steps are applied when they end.
func (t *Trainer) Leave(ctx context.Context) error {
	t.Release()
	return files.Ended(ctx)
}

// Close implements [backend.Trainer]. It may be called twice, and behind Leave.
func (t *Trainer) Close() { t.Release() }

// EndEpoch implements [optimizer.Trainer].
func (t *Trainer) EndEpoch(context.Context) error { return nil }

// Barrier implements [backend.Trainer].
func (t *Trainer) Barrier(context.Context) error { return nil }

// Gather implements [backend.Trainer]. This worker is the only one.
func (t *Trainer) Gather(_ context.Context, _ string, data []byte) ([][]byte, error) {
	return [][]byte{data}, nil
}

// SetDense implements [backend.Trainer].
func (t *Trainer) SetDense(name string, w []float32) error { return t.local.SetDense(name, w) }

// SetRateFactor implements [backend.Trainer].
func (t *Trainer) SetRateFactor(_ context.Context, factor float64) error {
	return t.local.SetRateFactor(factor)
}

// RateFactor implements [backend.Trainer].
func (t *Trainer) RateFactor(context.Context) (float64, error) { return t.local.RateFactor(), nil }

// Counts implements [backend.Trainer].
func (t *Trainer) Counts() backend.Counts { return t.Tally.counts() }
