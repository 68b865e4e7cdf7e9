package main

import (
	"context"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
)

// result is what worker 0 measured.
type result struct {
	AUC  float64 // on the test rows
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

// work trains, and has worker 0 test and save when all have finished.
func work(ctx context.Context, f *fleet.Fleet, c config, net model, train, test *dataset.Dataset, out io.Writer) (r result, err error) {
	exe := nn.NewExecutor(net.graph)
	mine := train.Shuffle(c.seed).Shard(f.WorkerIndex(), f.WorkerNum())
	total, _ := mine.Len()
	for epoch := range c.epochs {
		exe.ResetMetrics()
		options := nn.TrainOptions{Fetch: []*nn.Node{net.score},
			Progress: &nn.Progress{Out: out, Label: fmt.Sprintf("epoch %d/%d", epoch+1, c.epochs), Total: total}}
		done, err := exe.TrainFrom(ctx, mine.Epoch(epoch).Batches(c.batch), options)
		if err != nil {
			return r, err
		}
		r.Rate = done.Rate()
	}
	if err := exe.Close(ctx); err != nil {
		return r, err
	}
	if err := f.BarrierWorker(ctx); err != nil || !f.IsFirstWorker() {
		return r, err
	}
	if r.AUC, err = evaluate(ctx, net, test); err != nil {
		return r, err
	}
	fmt.Fprintf(out, "test AUC %.4f\n", r.AUC)
	return r, save(ctx, f, c, net, out)
}

func evaluate(ctx context.Context, net model, test *dataset.Dataset) (float64, error) {
	exe := nn.NewExecutor(net.graph)
	auc := 0.5
	for batch, err := range test.Batches(2048) {
		if err != nil {
			return 0, err
		}
		out, err := exe.Eval(ctx, batch, net.score)
		if err != nil {
			return 0, err
		}
		auc = float64(out[0].Data().([]float32)[0])
	}
	return auc, exe.Close(ctx)
}

func save(ctx context.Context, f *fleet.Fleet, c config, net model, out io.Writer) error {
	if c.out == "" {
		return nil
	}
	if err := f.SavePersistables(ctx, c.out+"/checkpoint"); err != nil {
		return err
	}
	if err := f.SaveInferenceModel(ctx, c.out+"/model", nn.Inference(net.pred)); err != nil {
		return err
	}
	fmt.Fprintf(out, "saved %s/checkpoint and %s/model\n", c.out, c.out)
	return nil
}
