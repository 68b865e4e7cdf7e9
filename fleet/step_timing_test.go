package fleet_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// loop is the traffic of a recommender's step without its arithmetic: 4,096 rows of a million, of 16 floats, pulled and
// pushed, over loopback TCP.
type loop struct{ trial.Objective }

const loopIDs, loopHeight, loopDim, loopBatches = 4096, 1_000_000, 16, 16

func newLoop(init optimizer.Initializer, height, dim int) *loop {
	return &loop{trial.Objective{List: []*optimizer.Param{trial.Embedding("rows", init, height, dim)}}}
}

// batches are ids to cycle through.
func (o *loop) batches(worker int) [][]uint64 {
	r := rand.New(rand.NewPCG(uint64(worker), 1))
	all := make([][]uint64, loopBatches)
	for i := range all {
		for len(all[i]) < loopIDs {
			all[i] = append(all[i], r.Uint64N(loopHeight))
			if len(all[i]) == loopIDs {
				slices.Sort(all[i])
				all[i] = slices.Compact(all[i])
			}
		}
	}
	return all
}

// steps trains n steps of ids that are known ahead or not.
func (o *loop) steps(ctx context.Context, worker, n int, ahead bool) error {
	session, err := o.OpenSession()
	if err != nil {
		return err
	}
	batches := o.batches(worker)
	st := &optimizer.Step{Samples: 512, Rows: []optimizer.Rows{trial.RowsOf(o.List[0], make([]uint64, loopIDs))}}
	r := &st.Rows[0]
	for i := range r.G {
		r.G[i] = 1e-3
	}
	for i := range n {
		r.IDs = batches[i%loopBatches]
		if ahead {
			r.Next = batches[(i+1)%loopBatches]
		}
		if err := trial.Step(ctx, session, st, nil); err != nil {
			return err
		}
	}
	return session.Close(ctx)
}

// BenchmarkLoop reports the time of a step as one worker sees it, after a warm-up that brings the rows to life.
func BenchmarkLoop(b *testing.B) {
	for _, s := range []strategy.Strategy{strategy.Async(), strategy.Sync()} {
		for _, workers := range []int{1, 2} {
			for _, ahead := range []bool{false, true} {
				name := fmt.Sprintf("%s/%dworkers", s.Mode, workers)
				if ahead {
					name += "/ahead"
				}
				b.Run(name, func(b *testing.B) { benchLoop(b, s, workers, ahead) })
			}
		}
	}
}

// BenchmarkPayloads is the loop by the payload of what is pushed: the time of a step, and the bytes that a worker sends and
// gets in it.
func BenchmarkPayloads(b *testing.B) {
	for _, mode := range []strategy.Mode{strategy.ModeAsync, strategy.ModeSync} {
		for _, p := range []strategy.Payload{strategy.PayloadFloat32, strategy.PayloadFloat16, strategy.PayloadBFloat16, strategy.PayloadInt8} {
			b.Run(fmt.Sprintf("%s/%s", mode, p), func(b *testing.B) { benchLoop(b, strategy.Strategy{Mode: mode, Payload: p}, 1, true) })
		}
	}
}

func benchLoop(b *testing.B, s strategy.Strategy, workers int, ahead bool) {
	net := &transport.FastHTTP{}
	c := fleettest.Cluster{Servers: 1, Workers: workers, Endpoints: porttest.Free(b, 1),
		Options: fleet.Options{Transport: net, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}}
	var mu sync.Mutex
	var longest time.Duration
	var before, after transport.Stats // of worker 0's steps
	b.ReportAllocs()
	c.Run(b, func(ctx context.Context, f *fleet.Fleet) error {
		o := newLoop(optimizer.Uniform{Low: -1, High: 1}, loopHeight, loopDim)
		return trial.Play(ctx, f, o, optimizer.SGD{LR: 0.01}, s, func() error {
			if err := o.steps(ctx, f.WorkerIndex(), 2*loopBatches, ahead); err != nil {
				return err
			}
			if err := f.BarrierWorker(ctx); err != nil {
				return err
			}
			if f.IsFirstWorker() {
				b.ResetTimer()
				before = net.Stats()
			}
			start := time.Now()
			if err := o.steps(ctx, f.WorkerIndex(), b.N, ahead); err != nil {
				return err
			}
			if f.IsFirstWorker() {
				after = net.Stats()
			}
			mu.Lock()
			longest = max(longest, time.Since(start))
			mu.Unlock()
			return nil
		})
	})
	b.ReportMetric(float64(longest.Microseconds())/float64(b.N), "µs/step")
	if workers == 1 {
		b.ReportMetric(float64(after.Sent-before.Sent)/float64(b.N), "sent-B/step")
		b.ReportMetric(float64(after.Received-before.Received)/float64(b.N), "got-B/step")
	}
	b.ReportMetric(0, "ns/op")
}
