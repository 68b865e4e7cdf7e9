package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/strategy"
)

// Run plays the process's role from beginning to end. A server serves until all workers have stopped. A worker trains
// on its share of every epoch, evaluates with the others, and ends when all have finished, after the lowest of them has
// saved the model.
func (j Job) Run(ctx context.Context, f *fleet.Fleet) (Result, error) {
	if f == nil {
		return Result{}, errors.New("train: Job.Run: the fleet is nil: give it what fleet.Init returns")
	}
	s, err := j.check()
	if err != nil {
		return Result{}, err
	}
	if served(f, s).Threads && s.GradientMerge.KSteps > 1 && j.Threads > 1 && j.EvalEvery > 0 {
		return Result{}, fmt.Errorf("train: -eval_every=%d with -threads=%d in mode half_async with gradient_merge: "+
			"threads go on between their pushes, so that what is saved would not be what was measured: evaluate at "+
			"the ends of epochs alone, or leave one of the others out", j.EvalEvery, j.Threads)
	}
	if err := j.minimize(f, s); err != nil {
		return Result{}, err
	}
	j.passedOver(f, s)
	warnCopies(f, s)
	if j.Days != nil && s.Recovery.Dir == "" {
		return Result{}, errors.New("train: Job.Days without a directory for checkpoints, where it is noted which " +
			"files a day has: give -checkpoint, one that every worker reaches")
	}
	if dir := s.Recovery.Dir; dir != "" && (f.IsServer() || f.ServerNum() == 0 && f.WorkerIndex() == 0) { // writers
		if err := files.CheckWritable(dir); err != nil {
			return Result{}, fmt.Errorf("train: -checkpoint=%s, where checkpoints go: %w", dir, err)
		}
	}
	if err := f.Restore(ctx, j.Load, fleet.RestoreOptions{}); err != nil {
		return Result{}, err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return Result{}, err
		}
		return Result{}, j.unattended(f, s, f.RunServer(ctx))
	}
	defer f.Close() // after an error the others need not wait for this worker
	if err := j.join(ctx, f, s); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := newRun(&j, f, s)
	defer r.releaseOut()
	defer func() {
		cancel()
		if r.days != nil && r.days.next != nil {
			<-r.days.next.done
		}
		_ = r.written()
	}()
	defer func() { io.WriteString(j.Stdout, r.left) }()
	if err := r.work(ctx); err != nil {
		return r.result(), j.ended(s, err)
	}
	r.publishing.Release() // who begins from here on leads
	if err := f.StopWorker(ctx); err != nil {
		if r.left != "" {
			err = fmt.Errorf("%w; what was trained is in %s", err, j.Out)
		}
		return r.result(), err
	}
	return r.result(), r.short()
}

// minimize has the fleet train the job's loss.
func (j *Job) minimize(f *fleet.Fleet, s strategy.Strategy) error {
	opt, err := f.DistributedOptimizer(j.Rule, s)
	if err != nil {
		return err
	}
	return opt.Minimize(j.Loss)
}

// newRun returns the run of a job on a worker, which has no rows yet.
func newRun(j *Job, f *fleet.Fleet, s strategy.Strategy) *Run {
	with, alone := served(f, s), f.ServerNum() == 0
	r := &Run{Fleet: f, Job: j, recovers: s.Recovery.Dir != "", dir: s.Recovery.Dir,
		shares: shares{job: j, fleet: f, past: map[int]int{}}, tests: tests{job: j},
		shown:    shown{job: j, worker: f.WorkerIndex()},
		together: with.Threads,
		inStep:   alone || with.Lockstep,
		lanes:    lanesOf(f, with, j.Threads),
		meter:    meter{counts: (alone || with.Rounds) && j.Threads == 1 && s.GradientMerge.KSteps <= 1},
		ends:     ending{meet: alone && f.WorkerNum() > 1 && j.EvalEvery != 0},
		paces:    paces{}}
	if j.Days != nil {
		r.days = &days{Days: j.Days, dir: files.Join(r.dir, "days"), since: map[string]time.Time{},
			came: map[string]arrival{}, lost: map[string]bool{}, pass: j.passOver, counts: map[[2]int]int{},
			workers: f.WorkerNum()}
	}
	if dir, err := files.Abs(r.dir); err == nil {
		r.publishing.Of = files.SumOf([]byte(dir)) // the directory belongs to the job
	}
	r.shares.days, r.tests.days, r.ends.late = r.days, r.days, r.days != nil
	return r
}

// served are the traits of the mode in which workers train with servers; none without.
func served(f *fleet.Fleet, s strategy.Strategy) (t mode.Traits) {
	if f.ServerNum() > 0 {
		t = mode.Of(s.Mode)
	}
	return t
}

// saves reports whether the job has checkpoints to go back to.
func (j Job) saves() bool {
	s, err := j.check()
	return err == nil && s.Recovery.Dir != ""
}

// passedOver warns that the job does not begin from -load, since its own checkpoints take precedence.
func (j *Job) passedOver(f *fleet.Fleet, s strategy.Strategy) {
	if j.Load == "" || s.Recovery.Dir == "" || !f.IsFirstWorker() {
		return
	}
	if c, err := checkpoints.Latest(s.Recovery.Dir); err == nil {
		fmt.Fprintf(j.Stdout, "-load=%s is passed over: the job goes on from its own checkpoint, %s\n", j.Load, c.Dir)
	}
}

// warnCopies says that evaluations are of other weights than what is saved.
func warnCopies(f *fleet.Fleet, s strategy.Strategy) {
	if s.GeoRest == strategy.GeoRestKeep && f.WorkerNum() > 1 && f.IsFirstWorker() {
		slog.Warn("train: with geo_rest keep each worker evaluates its own copy of the model, which has changes that " +
			"it never sends: the numbers are not those of the model that is saved, which geo_rest send evaluates")
	}
}
