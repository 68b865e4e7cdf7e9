package fleet_test

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
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

// BenchmarkHeld has a worker evaluate and another step while a third saves three times, of a million rows times b.N, and reports the longest
// evaluation and the longest step that began before, and while it is saved, and how long the last save took.
func BenchmarkHeld(b *testing.B) {
	for name, journal := range map[string]strategy.Journal{"checkpoint": "", "checkpoint with a journal": strategy.JournalProcess} {
		b.Run(name, func(b *testing.B) {
			benchHeld(b, journal, func(ctx context.Context, f *fleet.Fleet, _ *loop) error { return f.Checkpoint(ctx) })
		})
	}
	b.Run("base", func(b *testing.B) {
		dir := b.TempDir()
		benchHeld(b, "", func(ctx context.Context, f *fleet.Fleet, o *loop) error {
			return failed(f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: fleet.SaveBase, Model: o}))
		})
	})
}

func benchHeld(b *testing.B, journal strategy.Journal, save func(context.Context, *fleet.Fleet, *loop) error) {
	c := fleettest.Cluster{Servers: 1, Workers: 3, Endpoints: porttest.Free(b, 1),
		Options: fleet.Options{Transport: &transport.FastHTTP{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}}
	s := strategy.Strategy{Mode: strategy.ModeHalfAsync}
	s.Recovery = strategy.Recovery{Dir: b.TempDir(), Every: strategy.Duration(time.Hour), Deltas: 4, Journal: journal}
	if journal != "" {
		s.Recovery.JournalDir = b.TempDir()
	}
	h := holding{height: 1_000_000 * b.N, save: save, warm: make(chan struct{})}
	c.Run(b, func(ctx context.Context, f *fleet.Fleet) error {
		o := newLoop(optimizer.Uniform{Low: -1, High: 1}, h.height, loopDim)
		return trial.Play(ctx, f, o, optimizer.Adam{LR: 0.01}, s, func() error { return h.work(ctx, f, o) })
	})
	for i, what := range []string{"evaluation", "step"} {
		b.ReportMetric(float64(h.longest[i][0].Milliseconds()), what+"-before-ms")
		b.ReportMetric(float64(h.longest[i][1].Milliseconds()), what+"-during-ms")
	}
	b.ReportMetric(h.took.Seconds(), "save-s")
	b.ReportMetric(0, "ns/op")
}

// holding is a job of which worker 0 evaluates and worker 1 steps while worker 2 saves.
type holding struct {
	height int
	save   func(context.Context, *fleet.Fleet, *loop) error
	warm   chan struct{} // closed when some steps were made
	saving atomic.Int32  // 1 since the first save began
	over   atomic.Bool

	longest [2][2]time.Duration // by worker, and saving
	took    time.Duration
}

func (h *holding) work(ctx context.Context, f *fleet.Fleet, o *loop) error {
	if f.WorkerIndex() < 2 {
		if err := o.bear(ctx, f.WorkerIndex(), h.height); err != nil {
			return err
		}
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	if f.WorkerIndex() < 2 {
		return h.step(ctx, f.WorkerIndex(), o)
	}
	defer h.over.Store(true)
	<-h.warm
	h.saving.Store(1)
	for range 3 {
		began := time.Now()
		if err := h.save(ctx, f, o); err != nil {
			return err
		}
		h.took = time.Since(began)
	}
	return nil
}

// step evaluates or trains until all is saved.
func (h *holding) step(ctx context.Context, worker int, o *loop) error {
	session, err := o.OpenSession()
	if err != nil {
		return err
	}
	batches := o.batches(worker)
	st := &optimizer.Step{Samples: 512, Eval: worker == 0, Rows: []optimizer.Rows{trial.RowsOf(o.List[0], make([]uint64, loopIDs))}}
	for i := 0; !h.over.Load(); i++ {
		if worker == 1 && i == 50 {
			close(h.warm)
		}
		st.Rows[0].IDs = batches[i%loopBatches]
		began, longest := time.Now(), &h.longest[worker][h.saving.Load()]
		if err := trial.Step(ctx, session, st, nil); err != nil {
			return err
		}
		*longest = max(*longest, time.Since(began))
	}
	return session.Close(ctx)
}
