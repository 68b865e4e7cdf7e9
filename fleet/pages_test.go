package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/strategy"
)

// TestRecoverysProgram runs the program of RECOVERY.md in every kind of job that it speaks of: all roles fail in the third epoch, and are
// started again behind the second.
func TestRecoverysProgram(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	fails := errors.New("the machine is gone")
	for name, job := range trial.Jobs(t) {
		if servers := job.Cluster.Servers > 0; servers && job.Strategy.Mode != strategy.ModeSync {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir, epochs := t.TempDir(), make([][]int, job.Cluster.Workers)
			var mu sync.Mutex
			for attempt := range 2 {
				for role, err := range job.Cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					g := nn.NewGraph(1)
					loss, exe := nn.Mean(nn.SquareError(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{}), g.Input("y", 1))), nn.NewExecutor(g)
					return recovering(ctx, f, loss, dir, 4, func(ctx context.Context, epoch int) error {
						if attempt == 0 && epoch == 2 {
							// A worker may fail here while another is still at the checkpoint: then the epoch before is trained again.
							return errors.Join(fails, f.BarrierWorker(ctx))
						}
						mu.Lock()
						epochs[f.WorkerIndex()] = append(epochs[f.WorkerIndex()], epoch)
						mu.Unlock()
						_, err := exe.Train(ctx, dataset.Batch{"x": nn.Floats([]float32{1, 2}, 1), "y": nn.Floats([]float32{2, 4}, 1)})
						return err
					}, func(context.Context, int) error { return nil })
				}) {
					if failed := err != nil; failed != (attempt == 0) {
						t.Errorf("attempt %d: %s ends with %v", attempt+1, role, err)
					}
				}
			}
			for w, its := range epochs {
				if !slices.Equal(its, []int{0, 1, 2, 3}) {
					t.Errorf("worker %d has trained epochs %s", w, fmt.Sprint(its))
				}
			}
		})
	}
}
