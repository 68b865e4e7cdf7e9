package fleet_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestAServerThatNeverServedLeavesItsJournal: a server that ends while it waits for its endpoint, or for its job's
// directory, lets its journal go, so that the next process in its place has it.
func TestAServerThatNeverServedLeavesItsJournal(t *testing.T) {
	t.Parallel()
	for taken, endpoint := range map[string]string{"endpoint": "server:1", "directory": "server:2"} {
		t.Run(taken, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dir, network := t.TempDir(), transport.NewMemory()
				serve := func(ctx context.Context, endpoint, journals string) error {
					f, err := fleet.New(ctx, rolemaker.UserDefined{Role: rolemaker.Server, WorkerNum: 1, ServerEndpoints: []string{endpoint}},
						fleet.Options{Transport: network})
					if err != nil {
						return err
					}
					defer f.Close()
					s := journaled(strategy.Async(), dir, strategy.JournalProcess)
					if s.Recovery.JournalDir = filepath.Join(dir, journals); taken == "endpoint" {
						s.Recovery.Dir = filepath.Join(dir, journals+"s checkpoints")
					}
					if err = trial.Minimize(f, trial.NewCounter(5), optimizer.SGD{LR: 1}, s); err == nil {
						err = f.InitServer(ctx, "")
					}
					if err != nil {
						return fmt.Errorf("before it serves: %w", err)
					}
					return f.RunServer(ctx)
				}
				ctx, cancel := context.WithCancel(t.Context())
				var other sync.WaitGroup
				other.Go(func() { _ = serve(ctx, endpoint, "other") })
				synctest.Wait()
				for range 2 {
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
					if err := serve(ctx, "server:1", "own"); err == nil || !strings.Contains(err.Error(), "RunServer") {
						t.Errorf("a server in a taken place: %v", err)
					}
					cancel()
				}
				cancel()
				other.Wait()
			})
		})
	}
}
