package fleet_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestMetrics: each role shows what its Stats have, under names for all, with its role, index and tables as labels.
func TestMetrics(t *testing.T) {
	t.Parallel()
	trial.Cluster(2, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		page := f.Exposed()
		err := trial.Play(ctx, f, trial.NewCounter(3), optimizer.SGD{LR: 1}, strategy.Sync(), func() error { return nil })
		text := string(page("/metrics"))
		want := []string{`gofleet_worker_steps_total{role="worker",index="0"} `, "# TYPE gofleet_transport_calls_total counter\n"}
		if f.IsServer() {
			want = []string{`gofleet_server_workers{role="server",index="` + string(rune('0'+f.ServerIndex())) + `",state="left"} 1`,
				`gofleet_table_rows{role="server",index="`, `table="`}
		}
		for _, line := range want {
			if !strings.Contains(text, line) {
				t.Errorf("%v shows no %s:\n%s", f, line, text)
			}
		}
		return err
	})
}
