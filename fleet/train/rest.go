package train

import (
	"context"
	"errors"
	"log/slog"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/nn"
)

// ErrShort reports that a job finished, but some samples of a worker that died were not trained on. The error that
// wraps it says how many.
var ErrShort = errors.New("samples were not trained")

func init() {
	epoch.Anew = func(job any, another func() any) {
		job.(*Job).anew = func() (Job, error) { return another().(Job), nil }
	}
}

// leases reports whether this process can train what a lost worker has left: that worker's rows are here, and no other
// worker waits for its steps. It is the same on all workers.
func (r *Run) leases() bool {
	return r.Fleet.ServerNum() > 0 && !r.inStep && (!r.Job.Sharded || r.days != nil) && r.Job.anew != nil
}

// trainRest trains what a lost worker has left, in its place.
func (r *Run) trainRest(ctx context.Context, left epoch.Left) error {
	slog.Warn("train: the job has come to its end without a worker, whose samples are trained in this process",
		"worker", left.Worker, "from epoch", left.Epoch+1, "and example", left.Samples)
	switch err := r.inPlaceOf(ctx, left.Worker); {
	case ctx.Err() != nil:
		return err
	case err != nil:
		slog.Warn("train: this process could not train what a worker has left; it may have been started again",
			"worker", left.Worker, "error", err)
		r.course.member.Failed()
	default:
		r.course.member.Did(nil)
	}
	return nil
}

// inPlaceOf joins the job once more as a lost worker, trains from that worker's position on, and leaves.
func (r *Run) inPlaceOf(ctx context.Context, worker int) error {
	j, err := r.Job.anew()
	if err != nil {
		return err
	}
	s, err := j.check()
	if err != nil {
		return err
	}
	j.Batch, j.Epochs, j.Patience = r.Job.Batch, r.Job.Epochs, r.Job.Patience
	taken, err := epoch.InPlaceOf(r.Fleet, worker)
	if err != nil {
		return err
	}
	f := taken.(*fleet.Fleet)
	defer f.Close()
	if err := j.minimize(f, s); err != nil {
		return err
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	its := newRun(&j, f, s)
	its.exe, its.shares.train, its.shares.stock = nn.NewExecutor(j.Loss.Graph()), r.shares.train, r.shares.stock
	its.course.alone = true
	if r.days != nil {
		its.days.begun, its.days.known, its.days.facts = r.days.begun, r.days.known, r.days.facts
	}
	for its.Epoch = f.FirstEpoch(); its.Epoch < j.Epochs; its.Epoch++ {
		if its.days != nil {
			if err := its.loadDay(ctx); err != nil {
				return err
			}
		}
		if _, err := its.pass(ctx); err != nil {
			return err
		}
		if err := its.exe.Close(ctx); err != nil {
			return err
		}
		if err := r.recordFor(f, its.Epoch+1); err != nil {
			return err
		}
	}
	return f.StopWorker(ctx)
}
