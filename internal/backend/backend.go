package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// Trainer is a worker's side of whatever keeps the weights of its job.
//
//   - Restore comes before Join, and Join once, before everything that needs another process: a call that comes too
//     early is [ErrNotJoined], one that comes too late [ErrJoined]. Where there is no other process no call is either.
//   - Methods may be called from any goroutine, beside sessions that train.
//   - A call whose context has ended when it begins changes nothing, but Leave, which leaves in any case.
type Trainer interface {
	// Open starts a session, which trains or evaluates: that shows at its first step. EndEpoch ends this worker's
	// epoch.
	optimizer.Trainer

	// Join takes this worker's place in the job and brings the weights to begin with: the newest checkpoint's of
	// Strategy.Recovery, else what the job restores, else worker 0's. A worker that fails to has none.
	Join(ctx context.Context) error
	// Leave ends this worker's part when what its sessions were given has been applied. It may be called twice.
	Leave(ctx context.Context) error
	// Close ends it at once, as a program wants that has failed; the others find out. It may be called twice, and after
	// Leave.
	Close()

	// Barrier ends the epoch and returns when every worker has called it or has left; all then see the same weights.
	Barrier(ctx context.Context) error
	// Gather ends the epoch and returns what every worker has given, by index; nil stands for one that has left.
	// Workers whose calls differ are refused.
	Gather(ctx context.Context, call string, data []byte) ([][]byte, error)

	// Restore has the job begin from a checkpoint or a saved model, which the keeper of the weights reads.
	Restore(ctx context.Context, dir string, what checkpoint.Selection) error
	// Load replaces the weights that are trained now by a checkpoint's or a saved model's, at one point between steps,
	// with their state and counts. After an error they are as they were, or the trainer refuses to go on. Where each
	// worker has all weights it comes before Join, where servers have them after it.
	Load(ctx context.Context, dir string, what checkpoint.Selection) error
	// Save writes a checkpoint of one cut, or of these params of it. When other workers save the same step to dir, one
	// writes.
	Save(ctx context.Context, dir string, params ...string) error
	// Saves says whether it is for this worker to save the checkpoints of Strategy.Recovery: the lowest that lives
	// saves. With last it is about to leave, everything that it has trained is where others see it, and another is the
	// lowest from then on.
	Saves(ctx context.Context, last bool) (bool, error)
	// Asked has something when this worker is to save one at once, since a server is about to end.
	Asked() <-chan struct{}
	// Checkpoint writes the next of these checkpoints and removes old ones. When the same was saved of this very step,
	// nothing is written. What the program says of its progress is asked for when no step is made any more that the
	// checkpoint has.
	Checkpoint(ctx context.Context, progressed func() checkpoint.Progress) error
	// Progress is that of the checkpoint that Join found to go on from, zero without one.
	Progress() checkpoint.Progress
	// Reading counts what this worker's threads train on, from where Join found it.
	Reading() *progress.Tracker
	// Shrink ends a period of the tables at one point between steps and returns what was dropped, by embedding in the
	// order of params.
	Shrink(ctx context.Context, o table.Shrink) ([]table.Shrunk, error)

	// Cut calls do with the weights as they are between two steps, the same ones of every worker; steps wait until it
	// returns. When a server that comes back was lost meanwhile, do is called anew, and what it was told before does
	// not count.
	Cut(ctx context.Context, do func(Weights) error) error
	// Serve is Cut with the rows that a model for serving takes: write writes them, and commit, when the cut was kept
	// until then, makes the model whole. Then they count as served, on all servers, or the next delta is refused.
	// Before, a failure changes nothing. Of workers that all have the same weights one writes, and others do nothing. A
	// delta of what has no base is [ErrNoBase]. commit returns the chain with the model, also beside an error if the
	// model may be whole; a zero one says that it isn't.
	Serve(ctx context.Context, how table.Serving, write func(Serving) error, commit func() (table.Chain, error)) error
	// SaveBatch writes a checkpoint and ends a period of the tables, in one cut. What fails before the checkpoint is
	// whole has ended none.
	SaveBatch(ctx context.Context, dir string, o table.Shrink) error
	// Rows calls do with some rows of an embedding after the other, while training goes on. Slices are valid until do
	// returns.
	Rows(ctx context.Context, name string, do func(ids []uint64, w []float32) error) error
	// SetDense gives a frozen dense param other values, in this process.
	SetDense(name string, w []float32) error

	// SetRateFactor sets the factor on all learning rates, by worker 0 for all; RateFactor is what was set last.
	SetRateFactor(ctx context.Context, factor float64) error
	RateFactor(ctx context.Context) (float64, error)

	// Counts is what became of this worker's gradients.
	Counts() Counts
}

// Holder has tables of the model in its own process.
type Holder interface {
	Store() *table.Store
}

// Sized has measured how many bytes an id takes on its way, by embedding: 0 of what has not travelled.
type Sized interface{ IDSizes() []float64 }

// Metered knows what its messages take and carry.
type Metered interface{ Traffic() Traffic }

// Waiting knows for whom it waits.
type Waiting interface{ Waits() []Wait }

// Wait is for which workers something waits, since when, and where.
type Wait struct {
	Why     string
	Workers []int
	Since   time.Time
}

// Keeper saves checkpoints of the job's own by itself.
type Keeper interface{ Kept() Kept }

// Kept is how many have become whole, when the last did, and how long it took.
type Kept struct {
	Checkpoints int
	At          time.Time
	Took        time.Duration
}

// Traffic is what a worker and its servers have exchanged so far.
type Traffic struct {
	Took  map[string]count.Distribution // seconds of requests, by op
	Links []Link                        // by server
	Stale count.Distribution            // updates between pull and push, by push
	Open  int                           // numbered requests without an answer so far
}

// Link is what a worker and a server have exchanged: bytes before compression, and requests of steps and evaluations,
// which have waited for answers so long.
type Link struct {
	Sent, Received, Calls int64
	Waited                time.Duration
}

// Hurried waits for others that may come back.
type Hurried interface {
	// Hurry has calls wait no longer than a moment for a process that is gone, while this one is about to end.
	Hurry(ends bool)
	// Late says whether this worker was started again alone and has not met the others, which save for it, as Saves has
	// found: its progress is not the job's.
	Late() bool
}

// Weights are a cut's.
type Weights interface {
	// Dense returns the weights of the dense params, by name.
	Dense(ctx context.Context) (map[string][]float32, error)
	// Count is the number of rows of an embedding.
	Count(ctx context.Context, name string) (int, error)
	// IDs and Rows call do with what the embedding has, by ascending id. Slices are valid until do returns.
	IDs(ctx context.Context, name string, do func(ids []uint64) error) error
	Rows(ctx context.Context, name string, do func(ids []uint64, w []float32) error) error
}

// Serving are the weights of a cut that a model for serving takes.
type Serving struct {
	Weights
	// Gone calls do with the ids of an embedding, ascending, that models before have and this one is not to have.
	Gone func(ctx context.Context, name string, do func(ids []uint64) error) error
	// Chain are the models before.
	Chain table.Chain
	// Left is how many rows thresholds leave out.
	Left int
}

// Counts is what became of a worker's gradients so far. Where no message is sent, Doubled, Pushes, Stale and MostStale
// are 0.
type Counts struct {
	// Steps were applied: if by others, acknowledged by all that had a part of them.
	Steps int64
	// Rows of embeddings were applied, counted where the tables are.
	Rows int64
	// Doubled requests had been applied before: the first answer was lost, and they changed nothing.
	Doubled int64
	// Dropped rows were not applied: an entry policy did not admit them, or the table's budget was spent.
	Dropped int64
	// NotFinite rows and variables held NaN or infinities and were skipped or clipped.
	NotFinite int64
	// Pushes are the gradients whose staleness is known, counted for each server that had a part: updates that the
	// server made, of any worker's gradients, between the pull of the weights that a gradient was computed on and its
	// own. Stale is the sum of that over all pushes, MostStale the largest.
	Pushes, Stale, MostStale int64
}

var (
	// ErrNotJoined says that Join is missing.
	ErrNotJoined = errors.New("worker has not joined")
	// ErrJoined says that Join was called already.
	ErrJoined = errors.New("worker has joined already")
	// ErrNoBase says that a delta has nothing to follow.
	ErrNoBase = errors.New("no base to follow")
)

// Follows refuses a delta that has nothing to follow.
func Follows(how table.Serving, c table.Chain) error {
	if how.Delta && c.Base == "" {
		return fmt.Errorf(
			"%w: no base was saved of these weights since this job began or loaded others: save one first", ErrNoBase)
	}
	return nil
}

// NoEmbedding says that the model has no embedding of that name.
func NoEmbedding(name string) error {
	return fmt.Errorf("embedding %q is not part of what was minimised", name)
}
