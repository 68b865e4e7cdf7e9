package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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
	"github.com/gofleet/gofleet/transport/transporttest"
)

// TestSaveWhereAServerHasNothing saves a model of one weight and one row on three servers: those that hold nothing that a step
// changes come to the same steps as the others.
func TestSaveWhereAServerHasNothing(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async(), strategy.HalfAsync(), strategy.SSP(1), strategy.Geo(1)} {
		t.Run(string(s.Mode), func(t *testing.T) {
			dir := t.TempDir()
			trial.Cluster(3, 2).Simulate(t, nil, trial.Counters(1, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				return errors.Join(c.Train(ctx, 3), f.BarrierWorker(ctx), f.SavePersistables(ctx, dir))
			}))
			if m := trial.Manifest(t, dir); m.Step == 0 || len(m.Parts) != 3 {
				t.Errorf("a checkpoint of step %d in %d parts", m.Step, len(m.Parts))
			}
		})
	}
}

// TestFailedSavesLeaveNothing has saves fail since server 1 does not write its part, or since its answers are lost: no server keeps
// what it has written, which takes the room of the next.
func TestFailedSavesLeaveNothing(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for what, written := range map[string]int{"order": 1, "answer": 2} {
		t.Run(what+"s are lost", func(t *testing.T) {
			dir, s := t.TempDir(), strategy.Sync()
			s.WaitTimeout = strategy.Duration(time.Minute)
			var whole atomic.Bool
			var most atomic.Int32 // parts that were seen
			wrap := func(below transport.Transport) transport.Transport {
				lossy, writes := &lossy{Transport: below, answers: what == "answer"}, trial.Requests(t, "server-1:1", `"work":"write"`)
				lossy.is = func(endpoint string, req [][]byte) bool {
					parts, _ := filepath.Glob(filepath.Join(dir, "part-*"))
					most.Store(max(most.Load(), int32(len(parts))))
					return !whole.Load() && writes(endpoint, req)
				}
				return lossy
			}
			trial.Cluster(2, 1).Simulate(t, wrap, func(ctx context.Context, f *fleet.Fleet) error {
				return trial.NewCounter(3).Play(ctx, f, s, func() error {
					for range 2 {
						if err := f.SavePersistables(ctx, dir); err == nil || !strings.Contains(err.Error(), "server 1") {
							return fmt.Errorf("the save: %w, want it to fail at server 1", err)
						}
						time.Sleep(time.Second) // servers remove it beside
						if files, err := trial.Names(dir); err != nil || len(files) != 0 || most.Swap(0) != int32(written) {
							return fmt.Errorf("%v are left, %w, and %d parts were written before", files, err, written)
						}
					}
					whole.Store(true)
					return f.SavePersistables(ctx, dir)
				})
			})
			if m := trial.Manifest(t, dir); len(m.Parts) != 2 {
				t.Errorf("a checkpoint of %d parts, want 2", len(m.Parts))
			}
		})
	}
}

// lossy loses some requests, or the answers to them.
type lossy struct {
	transport.Transport
	is      func(endpoint string, req [][]byte) bool
	answers bool
}

// Call implements [transport.Transport].
func (l *lossy) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if l.is(endpoint, req) {
		if read = func([]byte) error { return trial.ErrPulled }; !l.answers {
			return trial.ErrPulled
		}
	}
	return l.Transport.Call(ctx, endpoint, req, read)
}

// TestSavesBesideTraining has a worker save again and again beside its own training, while servers measure every round's gradient
// together.
func TestSavesBesideTraining(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	dir := t.TempDir()
	late := func(net transport.Transport) transport.Transport {
		return transporttest.NewFaulty(net, 1, transporttest.Faults{Delay: 0.5}) // so that a push and a save meet everywhere
	}
	trial.Cluster(3, 2).Simulate(t, late, trial.Counters(5, trial.Measured, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		var saving error
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 0; i < 10 && saving == nil; i++ {
				saving = f.SavePersistables(ctx, filepath.Join(dir, fmt.Sprint(f.WorkerIndex())))
			}
		})
		training := c.Train(ctx, 20)
		wg.Wait()
		return errors.Join(training, saving)
	}))
}

// frozenRows are the rows of an embedding after a job of two epochs that trains the rest of the model.
func frozenRows(t *testing.T, servers int, s strategy.Strategy, frozen bool, load, save string) []float32 {
	t.Helper()
	var rows []float32
	fleettest.Run(t, servers, min(1, servers), func(ctx context.Context, f *fleet.Fleet) error {
		c := trial.NewCounter(3)
		c.Rows.Frozen, c.Rows.Init = frozen, optimizer.Constant{Value: 0.5}
		var rule optimizer.Rule = optimizer.Adagrad{LR: 1}
		if s.Mode == strategy.ModeGeo {
			rule = optimizer.SGD{LR: 1}
		}
		if err := trial.Minimize(f, c, rule, s); err != nil {
			return err
		}
		return trial.Begin(ctx, f, load, func() error {
			if err := c.Train(ctx, 2); err != nil {
				return err
			}
			values, err := c.Values(ctx)
			if err != nil {
				return err
			}
			if rows = values[3:]; values[0] == 0 {
				return errors.New("nothing was trained")
			}
			return f.SavePersistables(ctx, save)
		})
	})
	return rows
}

// TestFrozenEmbedding: rows of a frozen embedding are those of the checkpoint, or their initial values, and stay so in every
// mode.
func TestFrozenEmbedding(t *testing.T) {
	t.Parallel()
	for _, mode := range trial.Some(t, strategy.Modes()) {
		trained := t.TempDir()
		want := frozenRows(t, 1, strategy.Strategy{Mode: mode}, false, "", trained)
		for _, servers := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s on %d", mode, servers), func(t *testing.T) {
				s := strategy.Strategy{Mode: mode}
				if got := frozenRows(t, servers, s, true, "", t.TempDir()); !slices.Equal(got, slices.Repeat([]float32{0.5}, len(got))) {
					t.Errorf("rows that were never trained are %v", got)
				}
				saved := t.TempDir()
				if got := frozenRows(t, servers, s, true, trained, saved); !slices.Equal(got, want) {
					t.Errorf("rows of a checkpoint are %v, they were %v", got, want)
				}
				if got := frozenRows(t, 1, s, true, saved, t.TempDir()); !slices.Equal(got, want) {
					t.Errorf("rows of a checkpoint's checkpoint are %v, they were %v", got, want)
				}
			})
		}
	}
}
