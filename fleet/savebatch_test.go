package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy"
)

// aHalf ends a day that leaves half of all shows.
var aHalf = fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: fleet.ShrinkOptions{Decay: .5}}

// showsIn are the shows of all rows of the clicking model in a checkpoint.
func showsIn(dir string) (shows float64, err error) {
	parts, err := filepath.Glob(filepath.Join(dir, "part-*.safetensors"))
	for _, name := range parts {
		file, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		all, err := trial.TensorOf[float32](file, "shown.show")
		if err != nil {
			return 0, err
		}
		for _, n := range all {
			shows += float64(n)
		}
	}
	return shows, err
}

// TestABatchIsOneCut saves batches while others push: each show is in the checkpoint and halved, or in neither. So the shows of a checkpoint
// are half of those before it and a whole number more, and with the last one all have been counted.
//
// Promise: [G6] a batch and the end of its period are one cut: each show is in both or in neither; what can't be
// written ends no period
// Also: TestBatchesInEveryKindOfJob, TestBatchesWhileServersComeBack
func TestABatchIsOneCut(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const workers, steps, days = 3, 60, 5
	for _, servers := range []int{1, 3} {
		dir := t.TempDir()
		fleettest.Cluster{Servers: servers, Workers: workers}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := newClicking()
			return c.play(ctx, f, strategy.Async(), "", func() error {
				for step := range steps {
					if err := c.train(ctx, true, 1, 2, 3, 4); err != nil {
						return err
					}
					if day := step / 10; step%10 == 9 && f.WorkerIndex() == 1 && day < days {
						if _, err := f.SaveModel(ctx, filepath.Join(dir, fmt.Sprint(day)), aHalf); err != nil {
							return err
						}
					}
				}
				if err := f.BarrierWorker(ctx); err != nil || f.WorkerIndex() != 1 {
					return errors.Join(err, f.BarrierWorker(ctx))
				}
				return errors.Join(failed(f.SaveModel(ctx, filepath.Join(dir, fmt.Sprint(days)), aHalf)), f.BarrierWorker(ctx))
			})
		})
		before, sum := 0.0, 0.0
		for day := range days + 1 {
			now, err := showsIn(filepath.Join(dir, fmt.Sprint(day)))
			law.Check(t, err)
			if more := now - before/2; more != math.Trunc(more) || more <= 0 && day < days {
				t.Errorf("%d servers: day %d has %v shows after %v the day before", servers, day, now, before)
			}
			sum, before = sum+now-before/2, now
		}
		if want := 4.0 * workers * steps; sum != want {
			t.Errorf("%d servers: %v shows were counted, want %v", servers, sum, want)
		}
	}
}

// TestBatchesInEveryKindOfJob: all workers save a batch, which is one, and the day ends once; what can't be written ends none, and neither
// does it end where other calls do.
func TestBatchesInEveryKindOfJob(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, size := range [][2]int{{0, 1}, {0, 2}, {2, 2}} {
		t.Run(fmt.Sprintf("%d servers, %d workers", size[0], size[1]), func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "file")
			law.Check(t, os.WriteFile(file, nil, 0o600))
			shows := make([]float64, 4)
			fleettest.Cluster{Servers: size[0], Workers: size[1]}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				c := newClicking()
				return c.play(ctx, f, strategy.Sync(), "", func() error {
					for range 4 {
						if err := c.train(ctx, true, 1, 2); err != nil {
							return err
						}
					}
					if err := f.BarrierWorker(ctx); err != nil {
						return err
					}
					for i := range shows {
						to := filepath.Join(dir, fmt.Sprint(i))
						save := func() error { return failed(f.SaveModel(ctx, to, aHalf)) }
						if i == len(shows)-1 {
							save = func() error { return f.SavePersistables(ctx, to) }
						}
						if _, err := f.SaveModel(ctx, filepath.Join(file, "x"), aHalf); err == nil {
							return errors.New("a batch was saved below a file")
						}
						if err := errors.Join(save(), f.BarrierWorker(ctx)); err != nil {
							return err
						}
						if f.WorkerIndex() == 0 {
							var err error
							if shows[i], err = showsIn(to); err != nil {
								return err
							}
						}
					}
					return nil
				})
			})
			for i, n := range shows {
				if want := shows[0] / math.Pow(2, float64(i)); n != want || n == 0 {
					t.Errorf("shows at the ends of days: %v, want half as many each time", shows)
					break
				}
			}
		})
	}
}

// TestEverySaveOptionActs: each option has a case that shows what it does.
func TestEverySaveOptionActs(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	base := fleet.SaveOptions{Mode: fleet.SaveBase}
	delta := fleet.SaveOptions{Mode: fleet.SaveDelta}
	with := func(o fleet.SaveOptions, set func(*fleet.SaveOptions)) fleet.SaveOptions { set(&o); return o }
	cases := map[string]struct {
		o     fleet.SaveOptions
		left  int  // rows of "shown" that it saves, or shows that are left, of 10
		files bool // of a model
	}{
		"Mode":            {base, 1, true},
		"Model":           {delta, 0, true}, // set for all that save one
		"Published":       {with(delta, func(o *fleet.SaveOptions) { o.Published = "set when it is known" }), 0, true},
		"BaseThreshold":   {with(base, func(o *fleet.SaveOptions) { o.BaseThreshold = .5 }), 2, true},
		"DeltaThreshold":  {with(delta, func(o *fleet.SaveOptions) { o.DeltaThreshold = .1 }), 1, true},
		"DeltaKeepDays":   {with(base, func(o *fleet.SaveOptions) { o.DeltaKeepDays = 1; o.BaseThreshold = .5 }), 1, true},
		"Shrink.Decay":    {fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: fleet.ShrinkOptions{Decay: .5}}, 13, false},
		"Shrink.MinScore": {fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: fleet.ShrinkOptions{MinScore: 1.5}}, 19, false},
		"Rows":            {with(base, func(o *fleet.SaveOptions) { o.Rows = "int8" }), 1, true}, // TestRowsOfFewerBits
		"Name":            {with(base, func(o *fleet.SaveOptions) { o.Name = "day" }), 1, true},  // TestModelsAreSavedOnceByName
		"Shrink.Period":   {fleet.SaveOptions{Mode: fleet.SaveBatch, Name: "day"}, 26, false},    // refused there
		"Shrink.Unseen":   {fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: fleet.ShrinkOptions{Unseen: 1}}, 19, false},
	}
	trial.Covers(t, reflect.TypeFor[fleet.SaveOptions](), cases)
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			left := 0
			fleettest.Cluster{Servers: 1, Workers: 1}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				c := newClicking()
				return c.play(ctx, f, strategy.Async(), "", func() (err error) {
					push := func(times int, id int64) {
						for range times {
							err = errors.Join(err, c.train(ctx, false, id))
						}
					}
					push(7, 1)
					push(17, 2)
					if err := errors.Join(err, c.base(ctx, f, filepath.Join(dir, "base"))); err != nil {
						return err
					}
					for range 2 {
						if _, err := f.Shrink(ctx, fleet.ShrinkOptions{}); err != nil {
							return err
						}
					}
					push(2, 2)
					if k.files {
						k.o.Model = c.model()
					}
					if k.o.Published != "" { // a delta behind a checkpoint is refused without
						k.o.Published = dir
						at := filepath.Join(dir, "checkpoint")
						err = errors.Join(f.SavePersistables(ctx, at), f.LoadModel(ctx, at))
						if err := c.delta(ctx, f, filepath.Join(dir, "to")); !errors.Is(err, fleet.ErrNoBase) {
							return fmt.Errorf("a delta behind a checkpoint: %w", err)
						}
					}
					if err := errors.Join(err, failed(f.SaveModel(ctx, filepath.Join(dir, "to"), k.o))); err != nil {
						return err
					}
					if k.files {
						left = len(idsIn(t, filepath.Join(dir, "to"), "shown"))
						return nil
					}
					err = f.SavePersistables(ctx, filepath.Join(dir, "after"))
					shows, more := showsIn(filepath.Join(dir, "after"))
					left = int(shows)
					return errors.Join(err, more)
				})
			})
			if left != k.left {
				t.Errorf("%d are left, want %d", left, k.left)
			}
		})
	}
}

// TestSaveModelRefuses: options that mean nothing or would do nothing, and what has nothing to follow.
func TestSaveModelRefuses(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, k := range map[string]struct {
		o    fleet.SaveOptions
		s    strategy.Strategy
		says string
	}{
		"no mode":        {fleet.SaveOptions{}, strategy.Async(), "no Mode: say"},
		"mode":           {fleet.SaveOptions{Mode: 4}, strategy.Async(), "Mode is 4"},
		"no model":       {fleet.SaveOptions{Mode: fleet.SaveBase}, strategy.Async(), "SaveBase saves a model"},
		"a model":        {fleet.SaveOptions{Mode: fleet.SaveBatch, Model: trial.NewToy()}, strategy.Async(), "leave out Model"},
		"thresholds":     {fleet.SaveOptions{Mode: fleet.SaveBatch, BaseThreshold: 1}, strategy.Async(), "leave out BaseThreshold (1) and"},
		"of a delta":     {fleet.SaveOptions{Mode: fleet.SaveBase, Model: trial.NewToy(), DeltaThreshold: 1}, strategy.Async(), "SaveBase follows no model: leave out DeltaThreshold (1), which"},
		"published":      {fleet.SaveOptions{Mode: fleet.SaveBatch, Published: "x"}, strategy.Async(), "leave out Published"},
		"a URL":          {fleet.SaveOptions{Mode: fleet.SaveBase, Model: trial.NewToy(), Published: "hdfs://x"}, strategy.Async(), "not a path on this machine"},
		"a period":       {fleet.SaveOptions{Mode: fleet.SaveBase, Model: trial.NewToy(), Shrink: fleet.ShrinkOptions{Unseen: 1}}, strategy.Async(), "ends no period"},
		"two names":      {fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: fleet.ShrinkOptions{Period: "x"}}, strategy.Async(), "give Name"},
		"no number":      {fleet.SaveOptions{Mode: fleet.SaveBase, Model: trial.NewToy(), BaseThreshold: math.NaN()}, strategy.Async(), "NaN"},
		"decay":          {fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: fleet.ShrinkOptions{Decay: 2}}, strategy.Async(), "Decay is 2"},
		"nothing before": {fleet.SaveOptions{Mode: fleet.SaveDelta, Model: trial.NewToy()}, strategy.Async(), "no base to follow"},
	} {
		t.Run(name, func(t *testing.T) {
			x := shown(k.s, 2)
			x.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
				if k.o.Model != nil {
					k.o.Model = o
				}
				if _, err := f.SaveModel(ctx, t.TempDir(), k.o); err == nil || !strings.Contains(err.Error(), k.says) {
					t.Errorf("error %v, want %q", err, k.says)
				}
				return nil
			}
			x.On(t, trial.Cluster(1, 1))
		})
	}
}
