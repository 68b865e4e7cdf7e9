package fleet_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// stoppedDisk writes no part before it is let go on.
type stoppedDisk struct {
	files.OS
	asked, goOn chan struct{}
	once        *sync.Once
}

func (d stoppedDisk) CreateTemp(dir, pattern string) (files.Temp, error) {
	if strings.Contains(pattern, "part-") {
		d.once.Do(func() { close(d.asked) })
		<-d.goOn
	}
	return d.OS.CreateTemp(dir, pattern)
}

// TestStepsGoOnWhileASaveIsWritten stops the disk in the middle of a save: workers make all of their steps, and what is written then is the
// weights of one step.
//
// Promise: [G6] pushes go on while a checkpoint is written, and what is written is the cut
// Also: TestImages (internal/table), TestImagesBesideWriters (internal/table)
func TestStepsGoOnWhileASaveIsWritten(t *testing.T) {
	// Serial: it replaces the disk of every checkpoint.
	trial.Slow(t)
	for _, in := range trial.Places {
		t.Run(in.Name, func(t *testing.T) {
			dir := t.TempDir()
			var final float32
			cluster := trial.Cluster(in.Servers, in.Workers)
			cluster.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				return stopped(ctx, f, strategy.Strategy{Mode: in.Mode}, dir, &final)
			})
			m, err := checkpoint.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			saved := savedCounts(t, dir)
			for _, w := range saved {
				if w >= final || w < 5 || in.Mode != strategy.ModeGeo && w != float32(m.Step) {
					t.Fatalf("weights %v of step %d were saved, and %v came of all", saved, m.Step, final)
				}
			}
		})
	}
}

// savedCounts are the weights and rows of a checkpoint.
func savedCounts(t *testing.T, dir string) (saved []float32) {
	t.Helper()
	trial.Cluster(0, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		c := trial.NewCounter(3)
		if err := trial.Minimize(f, c, optimizer.SGD{LR: 1}, strategy.Strategy{}); err != nil {
			return err
		}
		return trial.Begin(ctx, f, dir, func() (err error) {
			saved, err = c.Values(ctx)
			return err
		})
	})
	return saved
}

// stopped is a role of a job whose first worker saves to a disk that stands still until all have trained.
func stopped(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, dir string, final *float32) error {
	c := trial.NewCounter(3)
	return c.Play(ctx, f, s, func() error {
		if err := errors.Join(c.Train(ctx, 5), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		saved, finish := make(chan error, 1), func() {}
		if f.IsFirstWorker() {
			disk := stoppedDisk{asked: make(chan struct{}), goOn: make(chan struct{}), once: new(sync.Once)}
			restore := checkpoint.UseDisk(disk)
			defer restore()
			finish = func() { close(disk.goOn) }
			go func() { saved <- f.SavePersistables(ctx, dir) }()
			<-disk.asked
		} else {
			saved <- nil
		}
		err := errors.Join(c.Train(ctx, 20), f.BarrierWorker(ctx))
		finish()
		values, e := c.Values(ctx)
		if err = errors.Join(err, e, <-saved); err == nil && f.IsFirstWorker() {
			*final = values[0]
		}
		return err
	})
}
