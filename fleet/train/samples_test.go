package train_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// ledger is a job of three workers whose weights say how often each of its samples counts: a row of one weight a sample, which grows by 1.
// A step takes a second. Worker 1 is killed in its first epoch.
type ledger struct {
	strategy strategy.Strategy
	away     time.Duration // until worker 1 is started again; 0 is never
	again    bool          // all are ended behind the second epoch, and started again
	anew     bool          // the program has said how its job is made
	threads  int           // of each worker; several take their time when rows are read, since they call Step one at a time
	early    bool          // worker 1 is killed when it has ended its first epoch, and all are ended an epoch later than else
	network  transport.Transport

	mu      sync.Mutex
	killed  *fleet.Fleet       // worker 1's first life, when it was
	fails   context.CancelFunc // what ends worker 0 when it plays worker 1; nil in other jobs
	played  bool               // that life has ended a step
	counts  map[float32]int    // samples by how often they have counted, at the end
	last    train.Evaluation
	ended   map[string]error
	stopped bool
}

const ledgerRows, ledgerEpochs, ledgerBatch, ledgerWorkers = 240, 4, 8, 3

var errStopped = errors.New("stopped")

func (l *ledger) job() (train.Job, error) {
	g := nn.NewGraph(1)
	count := nn.Embedding(g.IDs("me", 1), nn.EmbeddingOptions{Name: "count", Dim: 1, Init: optimizer.Constant{}})
	still := nn.SquareError(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{}), g.Input("y", 1)) // all of it is 0
	s := l.strategy
	j := train.Job{Options: train.Options{Epochs: ledgerEpochs, Batch: ledgerBatch}, Strategy: &s, Rule: optimizer.SGD{LR: ledgerBatch},
		Loss: nn.Add(nn.Mean(still), nn.Scale(nn.Mean(count), -1, 0)), Stdout: io.Discard,
		Data: func(context.Context) (_, _ *dataset.Dataset, err error) {
			ids := make([]uint64, ledgerRows)
			for i := range ids {
				ids[i] = uint64(i)
			}
			zeros := make([]float32, ledgerRows)
			return dataset.FromColumns(dataset.IDValues("me", ids, 1), dataset.FloatValues("x", zeros, 1), dataset.FloatValues("y", zeros, 1)), nil, nil
		}}
	if j.Threads = l.threads; l.threads > 1 {
		j.Rows = func(_ int, rows *dataset.Dataset) *dataset.Dataset {
			return rows.MapRows(func(from, to dataset.Row) error {
				time.Sleep(time.Second / ledgerBatch)
				to.IDs(0)[0] = from.IDs(0)[0]
				return nil
			}, rows.Columns()...)
		}
	}
	j.Hooks = []train.Hooks{{
		Step: func(ctx context.Context, r *train.Run, so nn.TrainResult) error {
			if l.threads > 1 {
				return nil
			}
			if !l.early || r.Fleet.WorkerIndex() != 1 || r.Epoch > 0 {
				time.Sleep(time.Second)
			}
			l.mu.Lock()
			fails, plays := l.fails, l.killed != nil && l.killed != r.Fleet && r.Fleet.WorkerIndex() == 1
			l.mu.Unlock()
			if fails == nil || !plays {
				return nil
			}
			fails()
			time.Sleep(time.Minute) // which heeds no context
			l.mu.Lock()
			defer l.mu.Unlock()
			l.played = true
			return nil
		},
		EpochEnd: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			last := 1
			if l.early {
				last = 2
			}
			if !l.again || r.Epoch != last || l.stopped && r.Leads() {
				return nil
			}
			return errStopped
		},
		End: l.read,
	}}
	if l.anew {
		j.Anew(l.job)
	}
	return j, nil
}

// read counts the samples when all is trained.
func (l *ledger) read(ctx context.Context, r *train.Run) error {
	counts, rows := map[float32]int{}, 0
	for row, err := range r.Fleet.Rows(ctx, "count") {
		if err != nil {
			return err
		}
		counts[row.W[0]]++
		rows++
	}
	counts[0] += ledgerRows - rows
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts, l.last = counts, r.History[len(r.History)-1]
	return nil
}

// run plays one run of the job: dies says whether worker 1 is killed.
func (l *ledger) run(t *testing.T, dies bool) {
	l.network, l.ended = transport.NewMemory(), map[string]error{}
	c := fleettest.Cluster{Servers: 2, Workers: ledgerWorkers, Options: fleet.Options{Transport: l.network}}
	for role, err := range c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		if f.WorkerIndex() == 1 && dies {
			return l.lives(ctx, f)
		}
		return l.play(ctx, f)
	}) {
		l.ended[role] = err
	}
}

func (l *ledger) play(ctx context.Context, f *fleet.Fleet) error {
	j, err := l.job()
	if err == nil {
		_, err = j.Run(ctx, f)
	}
	return err
}

// lives is worker 1, which is killed in the middle of its first epoch and perhaps started again.
func (l *ledger) lives(ctx context.Context, f *fleet.Fleet) error {
	cable := &trial.Cable{Transport: l.network}
	first, err := trial.Another(f, cable)
	if err != nil {
		return err
	}
	defer first.Close()
	var last sync.WaitGroup
	var killed error
	defer last.Wait() // what is left of the process is no hindrance to the next
	last.Go(func() { killed = l.play(ctx, first) })
	time.Sleep(5500 * time.Millisecond)
	cable.Kill()
	l.mu.Lock()
	l.killed = first
	l.mu.Unlock()
	if l.away == 0 {
		last.Wait()
		return killed
	}
	time.Sleep(l.away)
	return trial.OnNetwork(ctx, f, l.network, l.play)
}

// TestEachSampleCounts: a worker is killed in the middle of an epoch, and the others end that one and more without it. What it had not
// trained is trained by its next life, when that comes, or by another process when all else is done, or when all are started again: each
// sample counts as often as the epochs say, but for what was on its way when the worker was killed.
//
// Promise: [G6] no epoch is over in a checkpoint while a worker that was lost has some of it left: a job that is
// started again trains that, and nothing twice
func TestEachSampleCounts(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo} {
		for name, l := range trial.SomeOf(t, map[string]*ledger{
			"comes back in the same epoch":  {away: 2 * time.Second},
			"comes back epochs later":       {away: 26 * time.Second},
			"comes back as the others wait": {away: 38 * time.Second, anew: true},
			"comes back minutes later":      {away: 3 * time.Minute, anew: true},
			"does not come back":            {anew: true},
			"all are started again":         {again: true},
			"ends an epoch, and all again":  {again: true, early: true},
			"two threads, comes back":       {threads: 2, away: 2 * time.Second},
			"two threads, does not":         {threads: 2, anew: true},
			"two threads, all again":        {threads: 2, again: true},
		}) {
			if mode == strategy.ModeHalfAsync && l.threads > 1 {
				continue // which takes the mean of its threads' gradients
			}
			for _, journal := range []strategy.Journal{"", strategy.JournalProcess} {
				t.Run(fmt.Sprintf("%s, %s, journal %q", mode, name, journal), func(t *testing.T) {
					dir := t.TempDir()
					l := &ledger{threads: l.threads, away: l.away, anew: l.anew, again: l.again, early: l.early}
					l.strategy = strategy.Strategy{Mode: mode, WorkerTimeout: strategy.Duration(5 * time.Second),
						Recovery: strategy.Recovery{Dir: dir + "/ck", Every: strategy.Duration(time.Hour)}}
					if mode == strategy.ModeGeo {
						l.strategy.KSteps = 2
					}
					if journal != "" {
						l.strategy.Recovery.Journal, l.strategy.Recovery.JournalDir = journal, dir+"/journal"
					}
					synctest.Test(t, func(t *testing.T) {
						l.run(t, true)
						if l.again {
							l.stopped = true
							l.again = false
							l.run(t, false)
						}
					})
					for role, err := range l.ended {
						if err != nil && !(role == "worker 1" && l.away == 0) {
							t.Errorf("%s: %v", role, err)
						}
					}
					l.check(t)
				})
			}
		}
	}
}

// check holds the counts to what a death may cost: async trains again what waits and what travels, half_async one step, and geo lacks
// what was not exchanged.
func (l *ledger) check(t *testing.T) {
	t.Helper()
	missing, more := 0, 0
	for count, samples := range l.counts {
		if count < ledgerEpochs-0.01 {
			missing += samples
		}
		if count > ledgerEpochs+0.01 {
			more += samples
		}
	}
	least, most := 0, 2*ledgerBatch
	if l.strategy.Mode == strategy.ModeGeo {
		least, most = l.strategy.KSteps*ledgerBatch, 0
	}
	if l.counts == nil || missing > least || more > most {
		t.Errorf("%d samples have counted too rarely, %d too often: %v", missing, more, l.counts)
	}
	if l.stopped && l.strategy.Recovery.Journal != "" {
		return // servers have come back to where they were, and the history is that of the checkpoint before
	}
	want := ledgerRows * ledgerEpochs
	if l.last.Examples < want || l.last.Examples > want+2*ledgerBatch || l.last.Epoch != ledgerEpochs {
		t.Errorf("the last evaluation is %+v, want %d examples", l.last, want)
	}
}

// TestUntrainedSamplesAreReported: where nobody can train what a worker had left, a job that has ended says how many samples that are.
//
// Promise: [G5] a program of fleet/train that ends short says how many samples were not trained
func TestUntrainedSamplesAreReported(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync} {
		for _, recovers := range []bool{true, false} {
			l := &ledger{strategy: strategy.Strategy{Mode: mode, WorkerTimeout: strategy.Duration(5 * time.Second)}}
			if recovers {
				l.strategy.Recovery.Dir = t.TempDir()
			}
			if recovers && mode == strategy.ModeSync {
				l.strategy.Recovery.WorkerLost = strategy.WorkerGoOn
			}
			synctest.Test(t, func(t *testing.T) { l.run(t, true) })
			err, want := l.ended["worker 0"], ": 272 samples"
			if mode == strategy.ModeAsync {
				missing := 0
				for count, samples := range l.counts {
					missing += samples * (ledgerEpochs - int(count))
				}
				want = fmt.Sprintf(": %d samples", missing)
			}
			if !errors.Is(err, train.ErrShort) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, recovers %t: %v, want %q; counts %v", mode, recovers, err, want, l.counts)
			}
			if !errors.Is(l.ended["server 0"], fleet.ErrWorkersDied) {
				t.Errorf("%s: server 0 ends with %v", mode, l.ended["server 0"])
			}
		}
	}
}
