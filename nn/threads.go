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

// TrainThreads is [Executor.TrainFrom] with several threads at once, each with an executor of its own and the batches that it is given
// by number, from 0; it returns when all have ended. The threads push into the same weights and don't wait for each other (Niu et al.,
// 2011), except as the trainer's mode has them do: async, half_async and geo have room for several, and so has training in one
// process; sync, ssp and jobs without servers have not.
//
//	workers, threads := f.WorkerNum(), 4
//	res, err := nn.TrainThreads(ctx, net.Graph, threads, func(thread int) iter.Seq2[dataset.Batch, error] {
//		return train.Shard(f.WorkerIndex()*threads+thread, workers*threads).MayBeEmpty().Batches(512)
//	}, nn.TrainOptions{Fetch: []*nn.Node{net.AUC}})
//
// The result, and what Progress reports, are of all threads, but for the fetches: those are the first thread's. An error of one
// thread ends the others. A thread may have no batches, if another has some.
func TrainThreads(ctx context.Context, g *Graph, threads int, batches func(thread int) iter.Seq2[map[string]*tensor.Dense, error],
	o TrainOptions) (TrainResult, error) {
	if threads < 1 {
		return TrainResult{}, fmt.Errorf("nn: TrainThreads with %d threads: give 1 or more", threads)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &crowd{began: time.Now(), report: o.Progress.start(o.Fetch)}
	var running sync.WaitGroup
	for thread := range threads {
		running.Go(func() {
			if err := c.train(ctx, g, thread, batches(thread), o.Fetch); err != nil {
				cancel(fmt.Errorf("thread %d: %w", thread, err)) // the first cause stays
			}
		})
	}
	running.Wait()
	c.res.Elapsed = time.Since(c.began)
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

// crowd is what threads that train together have in common.
type crowd struct {
	began  time.Time
	report *report // the first thread's

	mu     sync.Mutex // guards what follows
	res    TrainResult
	losses float64
	// What steps since the last report had, and the sum of their examples' losses.
	samples int
	recent  float64
}

// train is one thread.
func (c *crowd) train(ctx context.Context, g *Graph, thread int, batches iter.Seq2[map[string]*tensor.Dense, error], fetch []*Node) error {
	l := &trainLoop{exe: NewExecutor(g), crowd: c, began: c.began}
	if thread == 0 {
		l.report = c.report
	}
	err := l.prepare(fetch)
	if err == nil {
		err = l.run(ctx, batches)
	}
	if thread == 0 {
		c.keep(l.res.Last)
	}
	return errors.Join(err, l.exe.Close(ctx))
}

// step counts a thread's step. The first thread's steps report those of all.
func (c *crowd) step(l *trainLoop, loss float64, samples int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := loss * float64(samples)
	c.losses, c.recent, c.samples = c.losses+sum, c.recent+sum, c.samples+samples
	c.res.Steps++
	c.res.Samples += samples
	c.res.Loss = c.losses / float64(max(c.res.Samples, 1))
	c.res.Elapsed = l.res.Elapsed
	if l.report == nil {
		return
	}
	now := c.res
	now.Last = l.res.Last
	l.report.step(now, c.recent/float64(max(c.samples, 1)), c.samples)
	c.recent, c.samples = 0, 0
}

// keep copies what the first thread fetched last, which its executor takes back.
func (c *crowd) keep(last []*tensor.Dense) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range last {
		c.res.Last = append(c.res.Last, t.Clone().(*tensor.Dense))
	}
}
