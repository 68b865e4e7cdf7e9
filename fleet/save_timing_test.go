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

// BenchmarkPause has two workers step while one of them saves a checkpoint of about 216 MB times b.N, and reports the longest step of the
// other: before the save, and while it lasts; the steps that it makes meanwhile, and how long the save takes.
func BenchmarkPause(b *testing.B) {
	for _, mode := range []strategy.Mode{strategy.ModeAsync, strategy.ModeSync} {
		b.Run(string(mode), func(b *testing.B) { benchPause(b, strategy.Strategy{Mode: mode}) })
	}
}

func benchPause(b *testing.B, s strategy.Strategy) {
	c := fleettest.Cluster{Servers: 1, Workers: 2, Endpoints: porttest.Free(b, 1),
		Options: fleet.Options{Transport: &transport.FastHTTP{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}}
	p := pausing{height: 1_000_000 * b.N, dir: b.TempDir(), warm: make(chan struct{})}
	c.Run(b, func(ctx context.Context, f *fleet.Fleet) error {
		o := newLoop(optimizer.Uniform{Low: -1, High: 1}, p.height, loopDim)
		return trial.Play(ctx, f, o, optimizer.Adam{LR: 0.01}, s, func() error { return p.work(ctx, f, o) })
	})
	b.ReportMetric(float64(p.before.Milliseconds()), "before-ms")
	b.ReportMetric(float64(p.during.Milliseconds()), "during-ms")
	b.ReportMetric(float64(p.steps)/p.wrote.Seconds(), "steps/s")
	b.ReportMetric(p.wrote.Seconds(), "write-s")
	b.ReportMetric(0, "ns/op")
}

// pausing is a job of which worker 0's steps are timed while worker 1, beside its own, saves.
type pausing struct {
	height int
	dir    string
	warm   chan struct{} // closed when some steps were made
	saving atomic.Bool
	over   atomic.Bool

	before, during time.Duration // the longest step
	steps          int           // while it is saved
	wrote          time.Duration
}

func (p *pausing) work(ctx context.Context, f *fleet.Fleet, o *loop) error {
	if err := o.bear(ctx, f.WorkerIndex(), p.height); err != nil {
		return err
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	saved := make(chan error, 1)
	if f.WorkerIndex() == 1 {
		go func() { saved <- p.save(ctx, f) }()
	} else {
		saved <- nil
	}
	for i := 0; !p.over.Load(); i++ {
		began, saving := time.Now(), p.saving.Load()
		if err := o.steps(ctx, f.WorkerIndex(), 1, false); err != nil {
			return err
		}
		if f.WorkerIndex() == 0 {
			if p.note(time.Since(began), saving); i == 50 {
				close(p.warm)
			}
		}
	}
	return <-saved
}

func (p *pausing) note(took time.Duration, saving bool) {
	if saving {
		p.during, p.steps = max(p.during, took), p.steps+1
	} else {
		p.before = max(p.before, took)
	}
}

func (p *pausing) save(ctx context.Context, f *fleet.Fleet) error {
	defer p.over.Store(true)
	<-p.warm
	p.saving.Store(true)
	began := time.Now()
	err := f.SavePersistables(ctx, p.dir)
	p.wrote = time.Since(began)
	return err
}

// bear brings a worker's half of all rows to life.
func (o *loop) bear(ctx context.Context, worker, height int) error {
	session, err := o.OpenSession()
	if err != nil {
		return err
	}
	ids := make([]uint64, 20_000)
	for first := 0; first < height/2; first += len(ids) {
		for i := range ids {
			ids[i] = uint64(worker*height/2 + min(first+i, height/2-1))
		}
		st := &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{trial.RowsOf(o.List[0], ids[:min(len(ids), height/2-first)])}}
		if err := trial.Step(ctx, session, st, nil); err != nil {
			return err
		}
	}
	return session.Close(ctx)
}
