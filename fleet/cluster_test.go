package fleet_test

import (
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Promise: [G5] a test that leaves goroutines of this module fails
// Also: TestAsyncTrains
func TestSyncTrains(t *testing.T) {
	t.Parallel()
	trial.Training{Strategy: strategy.Sync(), To: 10, Ahead: true}.On(t, trial.Cluster(2, 3))
}

func TestAsyncTrains(t *testing.T) {
	t.Parallel()
	trial.Training{Rule: optimizer.SGD{LR: 0.01}, Strategy: strategy.Async(), To: 10, Ahead: true}.On(t, trial.Cluster(3, 4))
}
