package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// Trainer is a worker's side of the job's weights, on servers or in processes.
//
//   - Restore comes before Join, and Join once, before all calls that need another process: a call that comes too early
//     returns [ErrNotJoined], one that comes too late [ErrJoined]. Without other processes no call is too early or late.
//   - Methods may be called from any goroutine, beside sessions that train.
//   - A call whose context has ended when it begins changes nothing, except Leave, which leaves in any case.
type Trainer interface {
	// Open starts a session; its first step shows whether it trains or evaluates. EndEpoch ends this worker's epoch.
	optimizer.Trainer

	// Join takes this worker's place in the job and gets the first weights: those of the newest checkpoint of
	// Strategy.Recovery, else what the job restores, else worker 0's. After an error the worker has no weights.
	Join(ctx context.Context) error
	// Leave ends this worker's part when everything that its sessions were given has been applied. It may be called
	// twice.
	Leave(ctx context.Context) error
	// Close ends it at once, for a program that has failed; the other processes notice. It may be called twice, and
	// after Leave.
	Close()

	// Barrier ends the epoch and returns when every worker has called it or has left; all then see the same weights.
	Barrier(ctx context.Context) error
	// Gather ends the epoch and returns the data of every worker, by index; nil for one that has left. If workers'
	// calls differ, all get an error.
	Gather(ctx context.Context, call string, data []byte) ([][]byte, error)

	// Ask ends the epoch, sends where this worker is in the job's epochs, and returns what it does next. Without an
	// order it is to ask again.
	Ask(ctx context.Context, at epoch.At) (*epoch.Told, error)

	// Restore makes the job begin from a checkpoint or a saved model, which the processes with the weights read.
	Restore(ctx context.Context, dir string, what checkpoint.Selection) error
	// Load replaces the present weights by those of a checkpoint or a saved model, at one point between steps, with
	// their state and counts. After an error they are unchanged, or the trainer returns errors from then on. If each
	// worker has all weights, Load comes before Join; if servers have them, after it.
	Load(ctx context.Context, dir string, what checkpoint.Selection) error
	// Save writes a checkpoint of one cut, or only these params of it. If other workers save the same step to dir, one
	// writes.
	Save(ctx context.Context, dir string, params ...string) error
	// Saves reports whether this worker saves the checkpoints of Strategy.Recovery: the lowest worker that lives does.
	// With last, this worker is about to leave: everything that it has trained has been pushed, and another worker is
	// the lowest from then on.
	Saves(ctx context.Context, last bool) (bool, error)
	// Asked returns a channel that receives when this worker must save such a checkpoint at once, since a server is
	// about to end.
	Asked() <-chan struct{}
	// Checkpoint writes the next of these checkpoints and removes old ones. If this very step was saved with the same
	// progress, nothing is written. progressed and frozen are called when no more steps are made that belong to the
	// checkpoint. frozen returns values of frozen dense params, by name, that the checkpoint has in place of this
	// process's.
	Checkpoint(ctx context.Context, progressed func() checkpoint.Progress, frozen func() map[string][]float32) error
	// Progress returns the epoch in which this worker goes on, and what programs knew of the job when it joined: by the
	// checkpoint that it resumes from or, where servers have gone on, by what workers have reported since.
	Progress() checkpoint.Progress
	// Begin reports that this worker's program has begun an epoch, with the program's own data. It refuses an epoch
	// before the worker's, unless weights were loaded since.
	Begin(p checkpoint.Progress) error
	// Reading tracks the positions of this worker's threads in their data, from those that Join found.
	Reading() *progress.Tracker
	// Shrink ends a period of the tables at one point between steps and returns what was dropped, by embedding in the
	// order of params. What was done under the name of as is not done again; here and below, as.Before then says so,
	// and as.Said is the result.
	Shrink(ctx context.Context, o table.Shrink, as *progress.Deed) ([]table.Shrunk, error)

	// Cut calls do with the weights between two steps, the same steps of every worker; steps wait until do returns. If
	// a server was restarted meanwhile, do is called again, and the results of the first call do not count.
	Cut(ctx context.Context, do func(Weights) error) error
	// Serve is Cut with the rows that a model for serving takes. write writes them; commit, if the cut was kept until
	// then, completes the model. Then the rows count as served on all servers, or the next delta is refused. A failure
	// before commit changes nothing. If all workers have the same weights, one writes and the others do nothing. A
	// delta without a base returns [ErrNoBase]. commit returns the chain with the model, also with an error if the
	// model may be complete; a zero chain says that it is not. commit sets as.Said.
	Serve(ctx context.Context, how table.Serving, as *progress.Deed, write func(Serving) error,
		commit func() (table.Chain, error)) error
	// SaveBatch writes a checkpoint and ends a period of the tables, in one cut. A failure before the checkpoint is
	// complete has not ended the period.
	SaveBatch(ctx context.Context, dir string, o table.Shrink, as *progress.Deed) error
	// Rows calls do with all rows of an embedding, some at a time, while training continues. Slices are valid until do
	// returns.
	Rows(ctx context.Context, name string, do func(ids []uint64, w []float32) error) error
	// SetDense sets the values of a frozen dense param, in this process.
	SetDense(name string, w []float32) error

	// SetRateFactor sets the factor on all learning rates; worker 0 calls it for all. RateFactor returns the last one
	// set.
	SetRateFactor(ctx context.Context, factor float64) error
	RateFactor(ctx context.Context) (float64, error)

	// Counts returns the outcomes of this worker's gradients.
	Counts() Counts
}

// Holder is a trainer with tables of the model in its own process.
type Holder interface {
	Store() *table.Store
}

// Sized is a trainer that measures the bytes of an id in messages, by embedding: 0 if none was sent.
type Sized interface{ IDSizes() []float64 }

// Metered is a trainer that measures its messages.
type Metered interface{ Traffic() Traffic }

// Waiting is a trainer that reports the workers it waits for.
type Waiting interface{ Waits() []Wait }

// Wait describes a wait: its reason, the workers it is for, and its beginning.
type Wait struct {
	Why     string
	Workers []int
	Since   time.Time
}

// Keeper is a trainer that saves the job's own checkpoints itself.
type Keeper interface{ Kept() Kept }

// Kept counts completed checkpoints; At is the time of the last one, Took its duration.
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
// with the time until they were answered.
type Link struct {
	Sent, Received, Calls int64
	Waited                time.Duration
}

// Hurried is a trainer that waits for processes that may come back.
type Hurried interface {
	// Hurry makes calls wait only a moment for a process that is gone, while this process is about to end.
	Hurry(ends bool)
	// Late reports whether this worker was restarted alone and has not met the others, which save for it, by the last
	// call of Saves: its progress is not the job's.
	Late() bool
}

// Weights reads the weights of a cut.
type Weights interface {
	// Dense returns the weights of the dense params, by name.
	Dense(ctx context.Context) (map[string][]float32, error)
	// Count returns the number of rows of an embedding.
	Count(ctx context.Context, name string) (int, error)
	// IDs and Rows call do with the embedding's ids, or ids and rows, by ascending id. Slices are valid until do
	// returns.
	IDs(ctx context.Context, name string, do func(ids []uint64) error) error
	Rows(ctx context.Context, name string, do func(ids []uint64, w []float32) error) error
}

// Serving holds the weights of a cut for a model for serving.
type Serving struct {
	Weights
	// Gone calls do with the ids of an embedding, ascending, that earlier models have and this one must not have.
	Gone func(ctx context.Context, name string, do func(ids []uint64) error) error
	// Chain is the earlier models.
	Chain table.Chain
	// Left is how many rows the thresholds leave out.
	Left int
}

// Counts holds the outcomes of a worker's gradients so far. Without messages, Doubled, Pushes, Stale and MostStale are
// 0.
type Counts struct {
	// Steps is the number of steps applied: by servers, acknowledged by all that had a part of them.
	Steps int64
	// Rows is the number of rows of embeddings applied, counted by the process with the tables.
	Rows int64
	// Doubled is the number of requests that had been applied before, since the first answer was lost; they changed
	// nothing.
	Doubled int64
	// Dropped is the number of rows not applied: an entry policy did not admit them, or the table's budget was spent.
	Dropped int64
	// NotFinite is the number of rows and variables with NaN or infinities, which were skipped or clipped.
	NotFinite int64
	// Pushes is the number of gradients whose staleness is known, counted for each server that had a part. The
	// staleness is how many updates the server made, of any worker's gradients, between the pull of the weights that
	// the gradient was computed on and the gradient's own. Stale is its sum over all pushes, MostStale the largest.
	Pushes, Stale, MostStale int64
}

var (
	// ErrNotJoined is the error of a call before Join.
	ErrNotJoined = errors.New("worker has not joined")
	// ErrJoined is the error of a call that must come before Join.
	ErrJoined = errors.New("worker has joined already")
	// ErrNoBase is the error of a delta without a base.
	ErrNoBase = errors.New("no base to follow")
)

// Follows returns [ErrNoBase] for a delta of a chain without a base.
func Follows(how table.Serving, c table.Chain) error {
	if how.Delta && c.Base == "" {
		return fmt.Errorf(
			"%w: no base was saved of these weights since this job began or loaded others: save one first", ErrNoBase)
	}
	return nil
}

// NotMinimised returns the error for a param of a model that nothing trains.
func NotMinimised(name string) error {
	return fmt.Errorf("param %q is not part of what was minimised, so that nothing trains it: add its part to the "+
		"loss, leave out the outputs that need it, or make it Frozen", name)
}

// NoEmbedding returns the error for a name that is not an embedding of the model.
func NoEmbedding(name string) error {
	return fmt.Errorf("embedding %q is not part of what was minimised", name)
}
