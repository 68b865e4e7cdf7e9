package fleet_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
)

// TestPlanObeysTheStrategy looks on which of three servers the blocks lie of 7 × 3 weights, an embedding of 50,000 × 4, 300 × 100
// weights and 3.
func TestPlanObeysTheStrategy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s    strategy.Strategy
		rule optimizer.Rule
		want string
	}{
		"defaults":        {strategy.Strategy{}, optimizer.SGD{}, "RoundRobin w:0 emb:1 emb:2 emb:0 big:1 big:2 big:0 b:1"},
		"by name":         {strategy.Strategy{Placement: "HashName"}, optimizer.SGD{}, "HashName w:2 emb:1 emb:0 emb:0 big:1 big:0 big:2 b:1"},
		"by size":         {strategy.Strategy{Placement: "Balanced", NoSlice: true}, optimizer.SGD{}, "Balanced w:2 emb:0 big:1 b:2"},
		"the program's":   {strategy.Strategy{Placement: "LastServer"}, optimizer.SGD{}, "LastServer w:2 emb:2 emb:2 emb:2 big:2 big:2 big:2 b:2"},
		"not cut":         {strategy.Strategy{NoSlice: true}, optimizer.SGD{}, "RoundRobin w:0 emb:1 big:2 b:0"},
		"large blocks":    {strategy.Strategy{MinBlockSize: 15_000}, optimizer.SGD{}, "RoundRobin w:0 emb:1 emb:2 emb:0 big:1 big:2 b:0"},
		"small blocks":    {strategy.Strategy{SmallBlocks: true, MinBlockSize: 10}, optimizer.SGD{}, "RoundRobin w:0 w:1 emb:2 emb:0 emb:1 big:2 big:0 big:1 b:2"},
		"norms of wholes": {strategy.Strategy{}, optimizer.Lars{}, "RoundRobin w:0 emb:1 emb:2 emb:0 big:1 b:2"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fleettest.Cluster{Servers: 3, Workers: 1, Options: fleet.Options{Placements: []placement.Policy{trial.LastServer{}}}}
			cluster.Run(t, func(_ context.Context, f *fleet.Fleet) error {
				if err := trial.Minimize(f, trial.NewToy(), c.rule, c.s); err != nil {
					return err
				}
				p, err := f.Plan()
				if err != nil {
					return err
				}
				got := p.Policy
				for _, b := range p.Blocks {
					got += fmt.Sprintf(" %s:%d", b.Var, b.Server)
				}
				if got != c.want {
					return fmt.Errorf("%s, want %s", got, c.want)
				}
				return nil
			})
		})
	}
}
