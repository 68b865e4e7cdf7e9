package fleet_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// A model that was saved with the format of its rows scores raw lines as training read them.
func Example_serving() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := trainAndSave(context.Background(), dir); err != nil {
		log.Fatal(err)
	}

	scorer, err := serve.OpenScorer(dir, serve.ScorerOptions{}) // any number of goroutines may use it
	if err != nil {
		log.Fatal(err)
	}
	scores, err := scorer.ScoreLines(context.Background(), []byte("carrier,miles\nAA,2475\nUA,")) // no label, and one number missing
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("AA is late: %v, UA is late: %v\n", scores.Values[0][0] > 0.5, scores.Values[0][1] > 0.5)
	// Output:
	// AA is late: true, UA is late: false
}

func trainAndSave(ctx context.Context, dir string) error {
	const flights = "carrier,miles,late\nAA,2475,1\nUA,300,0\nAA,900,1\nUA,NA,0\n"
	format := dataset.CSV{NA: "NA", Schema: []dataset.CSVColumn{
		{Column: dataset.Ints("carrier"), Hash: 1000}, {Column: dataset.Floats("miles"), Missing: "0"}, {Column: dataset.Floats("late")}}}

	g := nn.NewGraph(1)
	carrier := nn.Embedding(g.IDs("carrier", 1), nn.EmbeddingOptions{Height: 1000, Dim: 4})
	chance := nn.Linear(nn.Concat(carrier, nn.Scale(g.Input("miles", 1), 1e-3, 0)), 1, nn.LinearOptions{Act: nn.Sigmoid})
	f, err := fleet.Init(rolemaker.Local{})
	if err != nil {
		return err
	}
	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 0.1}, strategy.Sync())
	if err != nil {
		return err
	}
	if err := opt.Minimize(nn.Mean(nn.LogLoss(chance, g.Input("late", 1)))); err != nil {
		return err
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	exe := nn.NewExecutor(g)
	for range 50 {
		rows := dataset.FromReader(strings.NewReader(flights), "flights", format)
		if _, err := exe.TrainFrom(ctx, rows.Batches(4), nn.TrainOptions{}); err != nil {
			return err
		}
	}
	if err := exe.Close(ctx); err != nil {
		return err
	}
	if err := f.SaveInferenceModel(ctx, dir, nn.Inference(chance).WithFormat(format)); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}
