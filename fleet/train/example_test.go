package train_test

import (
	"context"
	"fmt"
	"io"
	"log"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
)

// A whole job, alone: points on a line, which it stops learning when it knows them well enough.
func ExampleJob() {
	g := nn.NewGraph(1)
	x, y := g.Input("x", 1), g.Input("y", 1)
	line := nn.Linear(x, 1, nn.LinearOptions{})
	wrong := nn.MAE(line, y).Named("error")
	job := train.Job{
		Options: train.Options{Epochs: 100, Batch: 4},
		Loss:    nn.Mean(nn.SquareError(line, y)),
		Rule:    optimizer.SGD{LR: 0.1},
		Metrics: []*nn.Node{wrong},
		Data: func(context.Context) (rows, test *dataset.Dataset, err error) {
			rows = dataset.FromColumns(dataset.FloatValues("x", []float32{0, 1, 2, 3}), dataset.FloatValues("y", []float32{1, 3, 5, 7}))
			return rows, rows, nil
		},
		Hooks: []train.Hooks{{Evaluated: func(_ context.Context, r *train.Run, e train.Evaluation) error {
			if e.Value(wrong) < 0.01 {
				r.Stop("it knows them")
			}
			return nil
		}}},
		Stdout: io.Discard,
	}
	f, err := fleet.Init(rolemaker.Local{})
	if err != nil {
		log.Fatal(err)
	}
	res, err := job.Run(context.Background(), f)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("error %.2f, stopped since %s\n", res.Last.Value(wrong), res.Stopped)
	// Output: error 0.01, stopped since it knows them
}
