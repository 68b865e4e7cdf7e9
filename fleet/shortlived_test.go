package fleet_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestAShortContextOfInitWorker: a context that ends behind InitWorker says that the worker is about to end, until it makes a step with one
// that lives: then the worker is ready, and waits for a server that is away as long as any.
func TestAShortContextOfInitWorker(t *testing.T) {
	t.Parallel()
	trial.Cluster(1, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		c, board := trial.NewCounter(3), f.Probed()
		if f.IsServer() {
			return trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, strategy.Async(), nil)
		}
		if err := trial.Minimize(f, c, optimizer.SGD{LR: 1}, strategy.Async()); err != nil {
			return err
		}
		short, end := context.WithCancel(ctx)
		err := f.InitWorker(short)
		end()
		synctest.Wait()
		if code, says := board.Answer("/readyz"); err == nil && code == http.StatusOK {
			t.Errorf("when its context has ended: %s", says)
		}
		if err = errors.Join(err, c.Train(ctx, 1)); err != nil {
			return err
		}
		if code, says := board.Answer("/readyz"); code != http.StatusOK {
			t.Errorf("behind a step: %s", says)
		}
		return f.StopWorker(ctx)
	})
}
