package main

import (
	"context"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/internal/job"
	"github.com/gofleet/gofleet/fleet"
)

// result is what a worker measured.
type result struct {
	AUC  float64 // on the test rows, of all workers
	Rate float64 // examples a second of this worker, in the last epoch
}

// run is the program of every role.
func run(ctx context.Context, f *fleet.Fleet, c config, out io.Writer) (result, error) {
	net := newModel(c, categories(c))
	opt, err := f.DistributedOptimizer(c.rule, c.strategy)
	if err != nil {
		return result{}, err
	}
	if err := opt.Minimize(net.loss); err != nil {
		return result{}, err
	}
	if err := f.Restore(ctx, c.Load, fleet.RestoreOptions{}); err != nil {
		return result{}, err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return result{}, err
		}
		return result{}, f.RunServer(ctx)
	}
	train, test, err := load(ctx, c)
	if err != nil {
		return result{}, err
	}
	defer f.Close() // after an error the others need not wait for this worker
	if err := f.InitWorker(ctx); err != nil {
		return result{}, err
	}
	if err := f.BarrierWorker(ctx); err != nil { // all begin together, so that their rates are of the same time
		return result{}, err
	}
	r, err := work(ctx, f, c, net, train, test, out)
	if err != nil {
		return r, err
	}
	return r, f.StopWorker(ctx)
}

// work trains and, when all have finished, tests with the others and has the lowest worker that lives save.
func work(ctx context.Context, f *fleet.Fleet, c config, net model, train, test *dataset.Dataset, out io.Writer) (r result, err error) {
	rows := func(int) *dataset.Dataset { return train }
	last, err := job.Epochs(ctx, f, net.graph, c.Flags, rows, out, net.score)
	if err != nil {
		return r, err
	}
	r.Rate = last.Rate()
	leads, err := job.Leads(ctx, f)
	if err == nil && leads && c.explain && f.ServerNum() > 0 {
		err = explain(f, out)
	}
	if err != nil {
		return r, err
	}
	if r.AUC, err = job.Evaluate(ctx, f, net.score, test); err != nil || !leads {
		return r, err
	}
	fmt.Fprintf(out, "test AUC %.4f\n", r.AUC)
	return r, job.Save(ctx, f, c.Out, out, net.pred)
}

// explain prints what a step of the strategy costs, with as many rows as one had on average.
func explain(f *fleet.Fleet, out io.Writer) error {
	n := f.Counts()
	e, err := f.Explain(map[string]int{"SparseFeatFactors": int(n.Rows / max(n.Steps, 1))})
	if err != nil {
		return err
	}
	_, err = e.WriteTo(out)
	return err
}
