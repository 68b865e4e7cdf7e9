package fleet_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// A whole program without fleet/train, which learns y = 2x₁ − x₂. Each process of a job runs it; where the environment names no cluster, it
// trains alone.
func Example_byHand() {
	if err := byHand(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// (2, 1) -> [[3.00]]
}

func byHand(ctx context.Context, out io.Writer) error {
	g := nn.NewGraph(1)
	x, y := g.Input("x", 2), g.Input("y", 1)
	line := nn.Linear(x, 1, nn.LinearOptions{})
	f, err := fleet.Init(nil) // this process's role, by PADDLE_* variables, MPI or Slurm; else alone
	if err != nil {
		return err
	}
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.1}, strategy.Async())
	if err != nil {
		return err
	}
	if err := opt.Minimize(nn.Mean(nn.SquareError(line, y))); err != nil { // places the parameters, on every role
		return err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return err
		}
		return f.RunServer(ctx) // until every worker has stopped
	}
	if err := f.InitWorker(ctx); err != nil { // waits for servers, pulls the first weights
		return err
	}
	rows := dataset.FromColumns(dataset.FloatValues("x", []float32{0, 1, 1, 0, 1, 1, 2, 1}, 2), dataset.FloatValues("y", []float32{-1, 2, 1, 3}))
	exe := nn.NewExecutor(g)
	for epoch := range 100 {
		mine := rows.Shuffle(1).Epoch(epoch).Shard(f.WorkerIndex(), f.WorkerNum())
		if _, err := exe.TrainFrom(ctx, mine.Batches(2), nn.TrainOptions{}); err != nil {
			return err
		}
	}
	for batch, err := range rows.Skip(3).Batches(1) {
		if err != nil {
			return err
		}
		predicted, err := exe.Eval(ctx, batch, line)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "(2, 1) -> %.2f\n", predicted[0])
	}
	if err := exe.Close(ctx); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}
