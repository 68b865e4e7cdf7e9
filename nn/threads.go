package nn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"gorgonia.org/tensor"
)

// TrainThreads is [Executor.TrainFrom] in several threads at once. Each thread has its own executor and the batches for
// its number, from 0; TrainThreads returns when all have ended. The threads update the same weights without waiting for
// each other (Niu et al., 2011), except in mode half_async. Modes async, half_async and geo, and training in one
// process, support several threads; sync, ssp and collective jobs do not.
//
//	workers, threads := f.WorkerNum(), 4
//	res, err := nn.TrainThreads(ctx, net.Graph, threads, func(thread int) iter.Seq2[dataset.Batch, error] {
//		return train.Shard(f.WorkerIndex()*threads+thread, workers*threads).MayBeEmpty().Batches(512)
//	}, nn.TrainOptions{Fetch: []*nn.Node{net.AUC}})
//
// The result and the reports of Progress cover all threads, and so do metrics over several batches. Other fetches are
// those of the thread that made the step; the result has those of the first thread that made any step. An error of one
// thread ends the others. A thread may have no batches, if another has some.
//
// A job that resumes in the middle of an epoch continues in each thread's share of it, if the number of threads is the
// same; otherwise the worker begins the epoch anew and logs that.
func TrainThreads(ctx context.Context, g *Graph, threads int,
	batches func(thread int) iter.Seq2[map[string]*tensor.Dense, error], o TrainOptions) (TrainResult, error) {
	if threads < 1 {
		return TrainResult{}, fmt.Errorf("nn: TrainThreads with %d threads: give 1 or more", threads)
	}
	if err := o.Progress.check(); err != nil {
		return TrainResult{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &crowd{began: time.Now(), report: o.Progress.start(o.Fetch), loops: make([]trainLoop, threads),
		counts: &sharedCounts{}, steps: make(seats, threads), one: make(seats, 1)}
	var running sync.WaitGroup
	for thread := range threads {
		running.Go(func() {
			if err := c.train(ctx, g, &c.loops[thread], thread, batches(thread), o); err != nil {
				cancel(fmt.Errorf("thread %d: %w", thread, err)) // the first cause is kept
			}
		})
	}
	running.Wait()
	c.res.Elapsed = time.Since(c.began)
	c.conclude()
	c.report.finish(c.res)
	if ctx.Err() != nil {
		return c.res, context.Cause(ctx)
	}
	if err := o.trained(c.res); err != nil {
		return c.res, err
	}
	_, trainer := g.bound()
	return c.res, trainer.EndEpoch(ctx)
}

// train runs one thread.
func (c *crowd) train(ctx context.Context, g *Graph, l *trainLoop, thread int,
	batches iter.Seq2[map[string]*tensor.Dense, error], o TrainOptions) error {
	*l = trainLoop{exe: NewExecutor(g), crowd: c, after: o.Step, began: c.began}
	l.exe.counts, l.exe.shows = c.counts, o.Gradients
	l.exe.SetThread(thread, len(c.loops))
	err := l.prepare(o.Fetch)
	if err == nil {
		err = l.run(ctx, batches)
	}
	l.keep()
	return errors.Join(err, l.exe.Close(ctx))
}

// keep copies a thread's last fetches, whose memory its executor reuses.
func (l *trainLoop) keep() {
	for i, t := range l.res.last {
		l.res.last[i] = t.Clone().(*tensor.Dense)
	}
}

// conclude sets the result's fetches to those of the first thread that made a step, with metrics as they are after the
// end of all threads.
func (c *crowd) conclude() {
	for _, l := range c.loops {
		if l.res.Steps == 0 {
			continue
		}
		c.res.last, c.res.counts = l.res.last, l.res.counts
		for i, n := range l.plan.fetch {
			if m, ok := n.op.(metric); ok && !forgets(m) {
				c.res.last[i].Float32s()[0] = float32(m.of(c.res.counts[n]))
			}
		}
		return
	}
}
