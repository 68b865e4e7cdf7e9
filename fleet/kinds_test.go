package fleet_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestEndedContextsInEveryKindOfJob: with servers, among replicas and alone, a call whose context has ended says so by its name
// and changes nothing: the same call with another context has its effect, and training goes on.
//
// Promise: [G8] a context that has ended ends the call, in every kind of job
func TestEndedContextsInEveryKindOfJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]fleettest.Cluster{"alone": trial.Cluster(0, 1), "collective": trial.Cluster(0, 2), "with servers": trial.Cluster(1, 2)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.Run(t, func(ctx context.Context, f *fleet.Fleet) error { return callEnded(ctx, t, f, dir) })
		})
	}
}

// callEnded makes every call of a worker with a context that has ended before it trains a step.
func callEnded(ctx context.Context, t *testing.T, f *fleet.Fleet, dir string) error {
	o := trial.NewToy()
	if err := trial.Minimize(f, o, optimizer.SGD{LR: 0.1}, strategy.Strategy{}); err != nil {
		return err
	}
	if f.IsServer() {
		return trial.Serve(ctx, f, "")
	}
	stop := errors.New("interrupted")
	ended, cancel := context.WithCancelCause(ctx)
	cancel(stop)
	refused := func(call string, err error) {
		if !errors.Is(err, stop) || !strings.HasPrefix(err.Error(), "fleet: "+call+": ") {
			t.Errorf("%s: got %v, want %v", call, err, stop)
		}
	}
	refused("Restore", f.Restore(ended, dir, fleet.RestoreOptions{}))
	refused("InitWorker", f.InitWorker(ended))
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	refused("EndEpoch", o.Trainer.EndEpoch(ended))
	refused("BarrierWorker", f.BarrierWorker(ended))
	refused("SavePersistables", f.SavePersistables(ended, dir))
	refused("SaveInferenceModel", f.SaveInferenceModel(ended, dir, o))
	for _, err := range f.Rows(ended, "emb") {
		refused("Rows", err)
	}
	_, err := f.Shrink(ended, fleet.ShrinkOptions{Unseen: 1})
	refused("Shrink", err)
	_, err = f.AllReduce(ended, []float64{1}, fleet.Sum)
	refused("AllReduce", err)
	_, err = f.AllGatherBytes(ended, nil)
	refused("AllGatherBytes", err)
	if f.IsFirstWorker() {
		refused("SetRateFactor", f.SetRateFactor(ended, 0.5))
	}
	_, err = f.RateFactor(ended)
	refused("RateFactor", err)
	return goesOn(ctx, t, f, o)
}

// goesOn trains a step, and looks for what the calls that were refused have left.
func goesOn(ctx context.Context, t *testing.T, f *fleet.Fleet, o *trial.Toy) error {
	if err := errors.Join(o.Train(ctx, trial.Samples(4, 1), nil), o.Close(ctx), f.BarrierWorker(ctx)); err != nil {
		return err
	}
	if rate, err := f.RateFactor(ctx); rate != 1 || err != nil {
		t.Errorf("a factor of %v, error %v", rate, err)
	}
	sum, err := f.AllReduce(ctx, []float64{1}, fleet.Sum)
	if err == nil && sum[0] != float64(f.WorkerNum()) {
		t.Errorf("%d workers add up to %v", f.WorkerNum(), sum)
	}
	if n := f.Stats().Counts; n.Steps != 1 {
		t.Errorf("counts are %+v after a step", n)
	}
	return errors.Join(err, f.StopWorker(ctx))
}

// TestStopWithAnEndedContext: a process alone says that its context has ended as a worker of servers does, and has stopped all
// the same.
func TestStopWithAnEndedContext(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		if err := minimized(f, optimizer.SGD{LR: 0.1}); err != nil {
			return err
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if err := f.StopWorker(ended); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "fleet: StopWorker: ") {
			t.Errorf("got %v", err)
		}
		return f.StopWorker(ctx)
	})
}
