package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// pacing counts in two weights and in a row, each of which may lie on another server.
func pacing(dim int) *trial.Counter {
	list := []*optimizer.Param{trial.Dense("w", nil, 1), trial.Embedding("e", nil, 0, dim), trial.Dense("v", nil, 1)}
	return &trial.Counter{Objective: trial.Objective{List: list}, IDs: []uint64{5}}
}

// train makes updates of params of its own, as each thread has them, until there are enough.
func train(ctx context.Context, trainer optimizer.Trainer, enough *atomic.Bool) error {
	own := pacing(1)
	own.Bind(trainer)
	return own.InSession(ctx, func(s optimizer.Session) error {
		for !enough.Load() {
			st := own.Step()
			st.Rows[0].Next = nil
			if err := trial.Step(ctx, s, st, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestAModelIsACut saves models while others train: in each all weights have made the same steps.
//
// Promise: [G6] a model is one cut, streamed page by page; an interrupted save holds no worker up
// Also: TestAModelStreams, TestASaveThatIsInterrupted, TestACutIsKeptForReading (internal/server)
func TestAModelIsACut(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, c := range trial.SomeOf(t, map[string]struct {
		servers, workers, threads int
		strategy                  strategy.Strategy
	}{
		"alone":      {0, 1, 3, strategy.Strategy{}},
		"collective": {0, 2, 1, strategy.Sync()},
		"sync":       {2, 2, 1, strategy.Sync()},
		"async":      {2, 2, 1, strategy.Async()},
		"ssp":        {3, 2, 1, strategy.Strategy{Mode: strategy.ModeSSP}},
		"half-async": {3, 2, 1, strategy.Strategy{Mode: strategy.ModeHalfAsync}},
		"geo":        {2, 2, 2, strategy.Strategy{Mode: strategy.ModeGeo, KSteps: 2}},
	}) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var enough atomic.Bool
			fleettest.Run(t, c.servers, c.workers, func(ctx context.Context, f *fleet.Fleet) error {
				o := pacing(1)
				return trial.Play(ctx, f, o, optimizer.SGD{LR: 1}, c.strategy, func() error {
					results := make(chan error)
					for range c.threads {
						go func() { results <- train(ctx, o.Trainer, &enough) }()
					}
					var err error
					if f.WorkerIndex() == c.workers-1 {
						err = saveOften(ctx, f, dir, o)
						enough.Store(true)
					}
					for range c.threads {
						err = errors.Join(err, <-results)
					}
					return err
				})
			})
		})
	}
}

// saveOften saves models until it has seen that training goes on, and looks at each.
func saveOften(ctx context.Context, f *fleet.Fleet, dir string, o *trial.Counter) error {
	steps := map[float32]bool{}
	for n := 0; n < 20 || len(steps) < 10; n++ {
		if err := f.SaveInferenceModel(ctx, dir, o); err != nil {
			return err
		}
		file, err := trial.WeightsOf(dir)
		if err != nil {
			return err
		}
		var found []float32
		for _, name := range []string{"w", "v", "e"} {
			x, err := trial.TensorOf[float32](file, name)
			if err != nil {
				return err
			}
			found = append(found, append(x, 0)[0]) // the row is born with the first step
		}
		if apart := slices.Max(found) - slices.Min(found); apart > 0.01 { // geo's halves are rounded; a step is 1
			return fmt.Errorf("model %d is torn: %v", n, found)
		}
		steps[found[0]] = true
	}
	return nil
}

// inUse is the memory that is in use.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestAModelStreams saves a table of 32 MB: rows pass through the worker in pages, of which a few MB are in memory at a time,
// here together with the servers' side of them; and the file is the table, by ascending id.
func TestAModelStreams(t *testing.T) {
	// Serial: it measures the memory in use.
	trial.Long(t)
	const rows, dim, steps, bound = 1 << 18, 32, 8, 8 << 20
	dir := t.TempDir()
	var on atomic.Bool // messages weigh the memory that is in use when they travel
	var mu sync.Mutex
	var most uint64
	net := &trial.Tap{Transport: transport.NewMemory(), Before: func(string, [][]byte) error {
		if on.Load() {
			mu.Lock()
			defer mu.Unlock()
			most = max(most, inUse())
		}
		return nil
	}}
	cluster := fleettest.Cluster{Servers: 2, Workers: 1, Options: fleet.Options{Transport: net}}
	cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		o := pacing(dim)
		return trial.Play(ctx, f, o, optimizer.SGD{LR: 1}, strategy.Sync(), func() error {
			if err := fill(ctx, o, rows, steps); err != nil {
				return err
			}
			before := inUse()
			on.Store(true)
			defer on.Store(false)
			if err := f.SaveInferenceModel(ctx, dir, o); err != nil {
				return err
			}
			mu.Lock() // heartbeats travel too
			defer mu.Unlock()
			if more := int64(most - before); more > bound {
				return fmt.Errorf("%d bytes more were in use, want at most %d: the table has %d", more, bound, 4*rows*dim)
			}
			return nil
		})
	})
	file := trial.Weights(t, dir)
	ids, values := trial.Tensor[uint64](t, file, "e.ids"), trial.Tensor[float32](t, file, "e")
	if len(ids) != rows || len(values) != rows*dim || !slices.IsSorted(ids) {
		t.Fatalf("%d ids and %d numbers, want %d and %d, by ascending id", len(ids), len(values), rows, rows*dim)
	}
	for i, id := range ids {
		if want := rowOf(id); values[i*dim] != want || values[(i+1)*dim-1] != want {
			t.Fatalf("row %d is %v, want %v", id, values[i*dim:(i+1)*dim], want)
		}
	}
}

func rowOf(id uint64) float32 { return float32(id % 4099) }

// fill trains so many rows, in so many steps, after which each says its id.
func fill(ctx context.Context, o *trial.Counter, rows, steps int) error {
	e := o.List[1]
	n, dim := rows/steps, e.Dim()
	r := trial.RowsOf(e, make([]uint64, n))
	return o.InSession(ctx, func(s optimizer.Session) error {
		for k := range steps {
			for i := range n {
				r.IDs[i] = uint64(i*steps+k) * 0x9e3779b9
				for j := range dim {
					r.G[i*dim+j] = -rowOf(r.IDs[i])
				}
			}
			if err := trial.Step(ctx, s, &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{r}}, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestASaveThatIsInterrupted ends the context of a save at each of its messages, which comes to its server or not: the old model
// stays and nothing else is left, and nobody waits for a cut that is over.
func TestASaveThatIsInterrupted(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, lost := range map[string]error{"sent": nil, "lost": context.Canceled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, end := t.TempDir(), interruption{lost: lost}
			net := &trial.Tap{Transport: transport.NewMemory(), Before: end.before}
			fleettest.Cluster{Servers: 2, Workers: 1, Options: fleet.Options{Transport: net}}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				o := pacing(1)
				return trial.Play(ctx, f, o, optimizer.SGD{LR: 1}, strategy.Async(), func() error {
					if err := f.SaveInferenceModel(ctx, dir, o); err != nil {
						return err
					}
					for n := int64(1); ; n++ {
						short, cancel := end.at(ctx, n)
						done, err := interrupted(ctx, short, f, o, dir, n)
						cancel()
						if done || err != nil {
							return err
						}
					}
				})
			})
		})
	}
}

// TestACallThatIsInterrupted ends the context of each call that has servers hold pushes, at each of its messages, which is lost: pushes
// go on, and another such call is made, whatever came of it.
func TestACallThatIsInterrupted(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, call := range trial.SomeOf(t, map[string]func(context.Context, *fleet.Fleet, *trial.Counter, string) error{
		"SavePersistables": func(ctx context.Context, f *fleet.Fleet, _ *trial.Counter, dir string) error {
			return f.SavePersistables(ctx, dir)
		},
		"SaveBase": func(ctx context.Context, f *fleet.Fleet, o *trial.Counter, dir string) error {
			return failed(f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: fleet.SaveBase, Model: o}))
		},
		"SaveBatch": func(ctx context.Context, f *fleet.Fleet, _ *trial.Counter, dir string) error {
			return failed(f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: fleet.SaveBatch}))
		},
		"Shrink": func(ctx context.Context, f *fleet.Fleet, _ *trial.Counter, dir string) error {
			return failed(f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 5}))
		},
		"LoadModel": func(ctx context.Context, f *fleet.Fleet, _ *trial.Counter, dir string) error {
			return f.LoadModel(ctx, filepath.Join(filepath.Dir(dir), "first"))
		},
		"Checkpoint": func(ctx context.Context, f *fleet.Fleet, _ *trial.Counter, dir string) error {
			return f.Checkpoint(ctx)
		},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, end := t.TempDir(), interruption{lost: context.Canceled}
			tap := func(t transport.Transport) transport.Transport { return &trial.Tap{Transport: t, Before: end.before} }
			s := strategy.Async()
			s.Recovery = strategy.Recovery{Dir: filepath.Join(dir, "own"), Every: strategy.Duration(time.Hour)}
			fleettest.Cluster{Servers: 2, Workers: 1}.Simulate(t, tap, func(ctx context.Context, f *fleet.Fleet) error {
				o := pacing(1)
				return trial.Play(ctx, f, o, optimizer.SGD{LR: 1}, s, func() error {
					if err := errors.Join(fill(ctx, o, 8, 1), f.SavePersistables(ctx, filepath.Join(dir, "first"))); err != nil {
						return err
					}
					for n := int64(1); ; n++ {
						short, cancel := end.at(ctx, n)
						_ = call(short, f, o, filepath.Join(dir, fmt.Sprint(n)))
						done := short.Err() == nil
						cancel()
						waits, stop := context.WithTimeout(ctx, time.Minute)
						err := errors.Join(fill(waits, o, 4, 1), call(waits, f, o, filepath.Join(dir, fmt.Sprint("after", n))))
						if stop(); err != nil {
							return fmt.Errorf("behind a call that ended at message %d: %w", n, err)
						}
						if done {
							return nil
						}
					}
				})
			})
		})
	}
}

// interruption ends a context when so many messages have been sent; the last is lost if there is an error for it.
type interruption struct {
	left  atomic.Int64
	leave atomic.Pointer[context.CancelFunc]
	lost  error
}

func (i *interruption) before(string, [][]byte) error {
	if leave := i.leave.Load(); leave != nil && i.left.Add(-1) == 0 {
		(*leave)()
		return i.lost
	}
	return nil
}

// at is a context that ends at the n-th message from now on, or with cancel.
func (i *interruption) at(ctx context.Context, n int64) (short context.Context, cancel func()) {
	short, end := context.WithCancel(ctx)
	i.left.Store(n)
	i.leave.Store(&end)
	return short, func() {
		i.leave.Store(nil)
		end()
	}
}

// interrupted saves with a context that ends at the n-th message, and makes a step and another save. done says that the save has
// fewer messages.
func interrupted(ctx, short context.Context, f *fleet.Fleet, o *trial.Counter, dir string, n int64) (done bool, err error) {
	before, err := os.ReadFile(filepath.Join(dir, "model.json"))
	if err != nil {
		return false, err
	}
	err = f.SaveInferenceModel(short, dir, o)
	if short.Err() == nil {
		return true, err
	}
	files, wrong := trial.Names(dir)
	after, unread := os.ReadFile(filepath.Join(dir, "model.json"))
	if wrong = errors.Join(wrong, unread); wrong != nil || len(files) != 3 || err != nil && !bytes.Equal(before, after) {
		return false, fmt.Errorf("interrupted at message %d, error %w: %v are there, and the model is another: %t; %w", n, err, files, !bytes.Equal(before, after), wrong)
	}
	if err := fill(ctx, o, 4, 1); err != nil {
		return false, err
	}
	return false, f.SaveInferenceModel(ctx, dir, o)
}
