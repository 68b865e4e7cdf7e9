package fleet_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// BenchmarkCollectiveLoop is the loop of BenchmarkLoop by workers without servers: rows are gathered and merged, and every worker
// updates those of all.
func BenchmarkCollectiveLoop(b *testing.B) {
	for _, workers := range []int{2, 4} {
		b.Run(fmt.Sprint(workers, "workers"), func(b *testing.B) {
			c := fleettest.Cluster{Workers: workers, Endpoints: porttest.Free(b, workers),
				Options: fleet.Options{Transport: &transport.FastHTTP{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}}
			b.ReportAllocs()
			c.Run(b, func(ctx context.Context, f *fleet.Fleet) error { return loopAmong(ctx, b, f) })
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/step")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// loopAmong is a worker's part.
func loopAmong(ctx context.Context, b *testing.B, f *fleet.Fleet) error {
	o := newLoop(optimizer.Uniform{Low: -1, High: 1}, loopHeight, loopDim)
	return trial.Play(ctx, f, o, optimizer.SGD{LR: 0.01}, strategy.Strategy{}, func() error {
		if err := o.steps(ctx, f.WorkerIndex(), 2*loopBatches, false); err != nil {
			return err
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		if f.IsFirstWorker() {
			b.ResetTimer()
			defer b.StopTimer()
		}
		return o.steps(ctx, f.WorkerIndex(), b.N, false)
	})
}
