package solo

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"github.com/gofleet/gofleet/strategy"
)

// Trainer keeps all weights in this process. The zero Trainer has no weights, and can only do operations without
// weights, such as barriers. Operations that a worker requests from servers are done directly. Threads may use it
// concurrently: the locks below and that of package local separate updates, checkpoints and loads.
type Trainer struct {
	// Tally counts gradients.
	Tally Tally
	// local makes updates; its Still runs a function while no update is made.
	local *local.Trainer
	// params and rule are compared with those of checkpoints.
	params []*optimizer.Param
	rule   optimizer.Rule
	// policy is the treatment of gradients that are not finite.
	policy strategy.NotFinite
	// series are the automatic checkpoints of this process; progress and positions are the state from which it
	// continues, and from is the manifest of the series that has them.
	from      checkpoint.Manifest
	series    *checkpoint.Series
	tracker   *checkpoint.Tracker
	places    checkpoint.Claims // the directories into which Save writes
	progress  checkpoint.Progress
	epochs    epoch.Circle
	positions [][]progress.Position
	// At returns how far all workers are, by worker, between two steps.
	At func() [][]progress.Position
	// Steps counts samples.
	Steps Steps

	// writing is held while a checkpoint is written; it guards saved, the content of the series' last checkpoint.
	writing gate
	saved   *saved
	kept    atomic.Pointer[backend.Kept]
	// A checkpoint from before a period's end differs from one after it, even if no update lies between.
	periods int            // that were ended; changed while no step is made
	deeds   progress.Deeds // done by name; changed while no step is made

	mu sync.Mutex
	// torn is the error by which a load has left parts of two models.
	torn error
	// loaded says that weights were loaded since the program has reported its epoch.
	loaded bool
	// pace is the pace in the checkpoint that was loaded, or the one of SetPace.
	pace checkpoint.Pace
}

// Pace returns the rate at which workers meet, as checkpoints record it.
func (t *Trainer) Pace() checkpoint.Pace {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pace
}

// SetPace sets when workers meet from now on.
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

// New returns a trainer of params with their initial weights, under a strategy with its defaults filled in. It returns
// an error if the params or the rule are not valid. Nothing is read or written before Join.
func New(params []*optimizer.Param, rule optimizer.Rule, s strategy.Strategy, log *slog.Logger) (*Trainer, error) {
	t, err := local.New(params, rule)
	if err != nil {
		return nil, err
	}
	t.Store().LogTo(log)
	series := &checkpoint.Series{Dir: s.Recovery.Dir, Keep: s.Recovery.Keep, Deltas: s.Recovery.Deltas, Log: log}
	own := &Trainer{writing: make(gate, 1), local: t, params: params, rule: rule, policy: s.NotFinite, series: series,
		tracker: checkpoint.NewTracker(t.Store(), s.Recovery.Deltas > 0)}
	own.Steps.local = t
	own.At = func() [][]progress.Position { return [][]progress.Position{own.Steps.reading.All()} }
	return own, nil
}

// gate is a lock that is held while files are written. It is a channel, so that the wait for a slow store passes in
// virtual time too.
type gate chan struct{}

func (g gate) Lock()   { g <- struct{}{} }
func (g gate) Unlock() { <-g }

// Local returns the trainer that makes the updates.
func (t *Trainer) Local() *local.Trainer { return t.local }

// Store implements [backend.Holder].
func (t *Trainer) Store() *table.Store { return t.local.Store() }

// Join implements [backend.Trainer]: it fails if weights were loaded in part. It claims the directory of checkpoints,
// and continues from the newest whole one there.
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

// Close implements [backend.Trainer]. It may be called twice, and after Leave.
func (t *Trainer) Close() { t.Release() }

// EndEpoch implements [optimizer.Trainer].
func (t *Trainer) EndEpoch(context.Context) error { return nil }

// Barrier implements [backend.Trainer].
func (t *Trainer) Barrier(context.Context) error { return nil }

// Gather implements [backend.Trainer]. This worker is the only one.
func (t *Trainer) Gather(_ context.Context, _ string, data []byte) ([][]byte, error) {
	return [][]byte{data}, nil
}

// Ask implements [backend.Trainer]. This worker leads itself.
func (t *Trainer) Ask(ctx context.Context, at epoch.At) (*epoch.Told, error) {
	return t.AskAll(ctx, at, func(_ context.Context, said []byte) ([][]byte, error) { return [][]byte{said}, nil })
}

// AskAll is Ask of workers that exchange what they say.
func (t *Trainer) AskAll(ctx context.Context, at epoch.At,
	exchange func(context.Context, []byte) ([][]byte, error)) (*epoch.Told, error) {
	return t.epochs.Ask(ctx, at, exchange)
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
