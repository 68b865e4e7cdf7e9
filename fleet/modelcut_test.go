package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// pacing is a model of two dense weights and a row, all of which grow by one in every update.
type pacing struct {
	w, v, e *optimizer.Param
	trainer optimizer.Trainer
}

func newPacing() *pacing {
	dense := func(name string) *optimizer.Param {
		return &optimizer.Param{Name: name, Shape: []int{1}, W: make([]float32, 1), G: make([]float32, 1)}
	}
	return &pacing{w: dense("w"), v: dense("v"), e: &optimizer.Param{Name: "e", Shape: []int{0, 1}, Embedding: true}}
}

func (o *pacing) Params() []*optimizer.Param   { return []*optimizer.Param{o.w, o.e, o.v} }
func (o *pacing) Bind(t optimizer.Trainer)     { o.trainer = t }
func (o *pacing) WriteGraph(w io.Writer) error { _, err := io.WriteString(w, "{}\n"); return err }

// train makes updates until there are enough.
func (o *pacing) train(ctx context.Context, enough *atomic.Bool) error {
	own := newPacing() // each thread has its own params
	s, err := o.trainer.Open(own.Params())
	if err != nil {
		return err
	}
	for !enough.Load() {
		step := &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{{Param: own.e, IDs: []uint64{5}, W: make([]float32, 1), G: []float32{-1}}}}
		if err := s.Begin(ctx, step); err != nil {
			return err
		}
		own.w.G[0], own.v.G[0] = -1, -1
		if err := s.End(ctx, step); err != nil {
			return err
		}
	}
	return s.Close(ctx)
}

// TestAModelIsACut saves models while others train: in each all weights have made the same steps.
func TestAModelIsACut(t *testing.T) {
	for name, c := range map[string]struct {
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
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var enough atomic.Bool
			fleettest.Cluster{Servers: c.servers, Workers: c.workers}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				o := newPacing()
				opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, c.strategy)
				if err != nil {
					return err
				}
				if err := opt.Minimize(o); err != nil {
					return err
				}
				return from(ctx, f, "", func() error {
					results := make(chan error)
					for range c.threads {
						go func() { results <- o.train(ctx, &enough) }()
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
func saveOften(ctx context.Context, f *fleet.Fleet, dir string, o *pacing) error {
	steps := map[float32]bool{}
	for n := 0; n < 20 || len(steps) < 10; n++ {
		if err := f.SaveInferenceModel(ctx, dir, o); err != nil {
			return err
		}
		file, err := os.ReadFile(filepath.Join(dir, "weights.safetensors"))
		if err != nil {
			return err
		}
		var found []float32
		for _, name := range []string{"w", "v", "e"} {
			x, err := tensorOf[float32](file, name)
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

// weighing measures the memory that is in use whenever a message travels, once it is told to.
type weighing struct {
	transport.Transport
	on   atomic.Bool
	mu   sync.Mutex
	most uint64
}

func (w *weighing) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if w.on.Load() {
		w.mu.Lock()
		w.most = max(w.most, inUse())
		w.mu.Unlock()
	}
	return w.Transport.Call(ctx, endpoint, req, read)
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestAModelStreams saves a table of 32 MB: rows pass through the worker in pages, of which a few MB are in memory at a time, here together with
// the servers' side of them; and the file is the table, by ascending id.
func TestAModelStreams(t *testing.T) {
	const rows, dim, steps, bound = 1 << 18, 32, 8, 8 << 20
	dir, w := t.TempDir(), &weighing{Transport: transport.NewMemory()}
	cluster := fleettest.Cluster{Servers: 2, Workers: 1, Options: fleet.Options{Transport: w}}
	cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		o := newPacing()
		o.e.Shape = []int{0, dim}
		opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, strategy.Sync())
		if err != nil {
			return err
		}
		if err := opt.Minimize(o); err != nil {
			return err
		}
		return from(ctx, f, "", func() error {
			if err := o.fill(ctx, rows, steps); err != nil {
				return err
			}
			before := inUse()
			w.on.Store(true)
			defer w.on.Store(false)
			if err := f.SaveInferenceModel(ctx, dir, o); err != nil {
				return err
			}
			if more := int64(w.most - before); more > bound {
				return fmt.Errorf("%d bytes more were in use, want at most %d: the table has %d", more, bound, 4*rows*dim)
			}
			return nil
		})
	})
	file := read(t, filepath.Join(dir, "weights.safetensors"))
	ids, values := tensor[uint64](t, file, "e.ids"), tensor[float32](t, file, "e")
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
func (o *pacing) fill(ctx context.Context, rows, steps int) error {
	s, err := o.trainer.Open(o.Params())
	if err != nil {
		return err
	}
	n, dim := rows/steps, o.e.Dim()
	r := optimizer.Rows{Param: o.e, IDs: make([]uint64, n), W: make([]float32, n*dim), G: make([]float32, n*dim)}
	for k := range steps {
		for i := range n {
			r.IDs[i] = uint64(i*steps+k) * 0x9e3779b9
			for j := range dim {
				r.G[i*dim+j] = -rowOf(r.IDs[i])
			}
		}
		step := &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{r}}
		if err := s.Begin(ctx, step); err != nil {
			return err
		}
		if err := s.End(ctx, step); err != nil {
			return err
		}
	}
	return s.Close(ctx)
}

// leaving ends a context when so many messages have travelled.
type leaving struct {
	transport.Transport
	left  atomic.Int64
	leave atomic.Pointer[context.CancelFunc]
}

func (l *leaving) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if leave := l.leave.Load(); leave != nil && l.left.Add(-1) == 0 {
		(*leave)()
	}
	return l.Transport.Call(ctx, endpoint, req, read)
}

// TestASaveThatIsInterrupted ends the context of a save at each of its messages: the old model stays and nothing else is left, and
// nobody waits for a cut that is over.
func TestASaveThatIsInterrupted(t *testing.T) {
	dir, l := t.TempDir(), &leaving{Transport: transport.NewMemory()}
	fleettest.Cluster{Servers: 2, Workers: 1, Options: fleet.Options{Transport: l}}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		o := newPacing()
		opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, strategy.Async())
		if err != nil {
			return err
		}
		if err := opt.Minimize(o); err != nil {
			return err
		}
		return from(ctx, f, "", func() error {
			if err := f.SaveInferenceModel(ctx, dir, o); err != nil {
				return err
			}
			for n := int64(1); ; n++ {
				done, err := o.interrupted(ctx, f, l, dir, n)
				if done || err != nil {
					return err
				}
			}
		})
	})
}

// interrupted interrupts a save at its n-th message, and makes a step and another save. done says that the save has fewer messages.
func (o *pacing) interrupted(ctx context.Context, f *fleet.Fleet, l *leaving, dir string, n int64) (done bool, err error) {
	before, err := os.ReadFile(filepath.Join(dir, "model.json"))
	if err != nil {
		return false, err
	}
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	l.left.Store(n)
	l.leave.Store(&cancel)
	err = f.SaveInferenceModel(short, dir, o)
	l.leave.Store(nil)
	if short.Err() == nil {
		return true, err
	}
	files, wrong := names(dir)
	after, unread := os.ReadFile(filepath.Join(dir, "model.json"))
	if wrong = errors.Join(wrong, unread); wrong != nil || len(files) != 3 || err != nil && !bytes.Equal(before, after) {
		return false, fmt.Errorf("interrupted at message %d, error %w: %v are there, and the model is another: %t; %w", n, err, files, !bytes.Equal(before, after), wrong)
	}
	if err := o.fill(ctx, 4, 1); err != nil {
		return false, err
	}
	return false, f.SaveInferenceModel(ctx, dir, o)
}
