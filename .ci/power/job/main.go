// Job is the job whose power is cut: each row of its data has a weight of its own, to which each step with the row adds
// one, or one through the number of workers in mode sync. The leading worker writes the weights to -ledger.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

var (
	rows   = flag.Int("rows", 1600, "rows of data")
	pace   = flag.Duration("pace", 4*time.Millisecond, "rest of each step")
	ledger = flag.String("ledger", "", "file of the weights by row")
)

// batch divides the rows of each worker: a mean over a batch times its size is one for each row.
const batch = 8

var options = train.Options{Epochs: 3, Batch: batch}

func main() { train.Main(&options, job) }

func job() (train.Job, error) {
	g := nn.NewGraph(1)
	e := nn.Embedding(g.IDs("row", 1), nn.EmbeddingOptions{Name: "rows", Dim: 1, Init: optimizer.Constant{}})
	pred := nn.Linear(e, 1, nn.LinearOptions{Name: "w"})
	loss := nn.Add(nn.Scale(nn.Mean(e), -batch, 0), nn.Scale(nn.Mean(pred), 0, 0))
	return train.Job{Options: options, Loss: loss, Rule: optimizer.SGD{LR: 1}, Outputs: []*nn.Node{pred}, Data: data, Hooks: []train.Hooks{{
		Step: func(context.Context, *train.Run, nn.TrainResult) error { time.Sleep(*pace); return nil },
		End:  write,
	}}}, nil
}

func data(context.Context) (train, test *dataset.Dataset, err error) {
	type row struct {
		Row int64 `feed:"row"`
	}
	all := make([]row, *rows)
	for i := range all {
		all[i].Row = int64(i)
	}
	return dataset.FromStructs(all), nil, nil
}

// write writes the weights by row.
func write(ctx context.Context, r *train.Run) error {
	if !r.Leads() || *ledger == "" {
		return nil
	}
	all := map[uint64]float32{}
	for row, err := range r.Fleet.Rows(ctx, "rows") {
		if err != nil {
			return err
		}
		all[row.ID] = row.W[0]
	}
	if len(all) != *rows {
		return fmt.Errorf("%d rows, want %d", len(all), *rows)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(*ledger, text, 0o666)
}
