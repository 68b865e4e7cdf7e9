package job

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/metrics"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Training is what every role of a job is told.
type Training struct {
	Loss     optimizer.Objective
	Rule     optimizer.Rule
	Strategy strategy.Strategy
	Load     string // a checkpoint to go on from; empty begins anew
}

// Play makes the calls of the process's role, in their order: a server serves until all workers have stopped, a worker does its work
// between joining and leaving.
func (t Training) Play(ctx context.Context, f *fleet.Fleet, work func(ctx context.Context) error) error {
	opt, err := f.DistributedOptimizer(t.Rule, t.Strategy)
	if err != nil {
		return err
	}
	if err := opt.Minimize(t.Loss); err != nil {
		return err
	}
	if err := f.Restore(ctx, t.Load, fleet.RestoreOptions{}); err != nil {
		return err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	defer f.Close() // after an error the others need not wait for this worker
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	if err := work(ctx); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}

// Epochs trains on this worker's part of every epoch's rows, shows how it goes on out, and returns when all workers have
// finished. The result is that of the last epoch. rows gives the rows of an epoch; they have to be of a known number.
//
// With -checkpoint each epoch ends behind a barrier, with a checkpoint, and a job that is started again goes on with the epoch that was
// under way, behind the rows that are in the checkpoint.
func Epochs(ctx context.Context, f *fleet.Fleet, g *nn.Graph, c Flags, rows func(epoch int) *dataset.Dataset, out io.Writer,
	fetch ...*nn.Node) (last nn.TrainResult, err error) {
	exe := nn.NewExecutor(g)
	if p := f.Position(); f.Progress().Epoch > 0 || p.Samples > 0 {
		epoch := max(f.Progress().Epoch, p.Epoch) // a worker that is started again alone may be further than the checkpoint
		fmt.Fprintf(out, "worker %d goes on after epoch %d/%d and %d examples\n", f.WorkerIndex(), epoch, c.Epochs, p.Samples)
	}
	for epoch := f.Progress().Epoch; epoch < c.Epochs; epoch++ {
		exe.ResetMetrics()
		mine := rows(epoch).Shuffle(c.Seed).Epoch(epoch).Shard(f.WorkerIndex(), f.WorkerNum())
		total, _ := mine.Len()
		options := nn.TrainOptions{Fetch: fetch,
			Progress: &nn.Progress{Out: out, Label: fmt.Sprintf("epoch %d/%d", epoch+1, c.Epochs), Total: total}}
		if c.Threads > 1 {
			last, err = nn.TrainThreads(ctx, g, c.Threads, func(thread int) iter.Seq2[dataset.Batch, error] {
				return mine.Shard(thread, c.Threads).Prefetch(2).MayBeEmpty().Batches(c.Batch)
			}, options)
		} else {
			last, err = exe.TrainFrom(ctx, mine.Prefetch(2).Batches(c.Batch), options)
		}
		if err == nil && c.Checkpoint != "" {
			err = checkpoint(ctx, f, epoch+1)
		}
		if err != nil {
			return last, err
		}
	}
	if err := exe.Close(ctx); err != nil {
		return last, err
	}
	return last, f.BarrierWorker(ctx)
}

// checkpoint saves, when all have come to the end of an epoch.
func checkpoint(ctx context.Context, f *fleet.Fleet, next int) error {
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	if err := f.SetProgress(fleet.Progress{Epoch: next}); err != nil {
		return err
	}
	if leads, err := Leads(ctx, f); err != nil || !leads {
		return err
	}
	return f.Checkpoint(ctx)
}

// Leads says whether this worker is the one that acts for all, prints and saves: the lowest that lives. All workers call it.
func Leads(ctx context.Context, f *fleet.Fleet) (bool, error) {
	here, err := f.AllGatherBytes(ctx, nil)
	lowest := slices.IndexFunc(here, func(b []byte) bool { return b != nil }) // nil stands for one that is gone
	return lowest == f.WorkerIndex(), err
}

// Evaluate is the value of an AUC or accuracy node over all rows, which are not trained on. Each worker looks at its part of them,
// and all are told the same.
func Evaluate(ctx context.Context, f *fleet.Fleet, metric *nn.Node, rows *dataset.Dataset) (value float64, err error) {
	exe := nn.NewExecutor(metric.Graph())
	for batch, err := range rows.Shard(f.WorkerIndex(), f.WorkerNum()).MayBeEmpty().Batches(2048) {
		if err != nil {
			return 0, err
		}
		if _, err := exe.Eval(ctx, batch, metric); err != nil {
			return 0, err
		}
	}
	if pos, neg, err := exe.Histogram(metric); err == nil {
		return metrics.AUC(ctx, f, pos, neg)
	}
	right, all, err := exe.Hits(metric)
	if err != nil {
		return 0, err
	}
	return metrics.Acc(ctx, f, right, all)
}

// Save writes a checkpoint to go on from and a model for inference below dir, unless dir is empty.
func Save(ctx context.Context, f *fleet.Fleet, dir string, out io.Writer, outputs ...*nn.Node) error {
	if dir == "" {
		return nil
	}
	if err := f.SavePersistables(ctx, dir+"/checkpoint"); err != nil {
		return err
	}
	if err := f.SaveInferenceModel(ctx, dir+"/model", nn.Inference(outputs...)); err != nil {
		return err
	}
	fmt.Fprintf(out, "saved %s/checkpoint and %s/model\n", dir, dir)
	return nil
}
