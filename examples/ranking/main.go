package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/wide_and_deep/flights"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
)

func main() { train.Main(program(flag.CommandLine)) }

// config is what can be chosen, beside what every job has.
type config struct {
	train.Options
	loss string
	days int
}

func program(fs *flag.FlagSet) (*train.Options, func() (train.Job, error)) {
	c := &config{Options: train.Options{Seed: 1, Batch: 256, Epochs: 1, Out: "output/ranking"}}
	fs.StringVar(&c.loss, "loss", "lambdarank", "lambdarank, ranknet, or pointwise: by the label of each flight alone")
	fs.IntVar(&c.days, "days", 365, "so many days of 2013, of which a fifth is to test on")
	return &c.Options, c.job
}

func (c *config) job() (train.Job, error) {
	g := nn.NewGraph(c.Seed)
	const plain, dim = 10, 8 // the first categories have no date, which would be another one on each day to test on
	rows := nn.Embedding(g.IDs("C", len(flights.Categories())),
		nn.EmbeddingOptions{Name: "categories", Height: flights.Height, Dim: dim})
	x := nn.Concat(g.Input("dense_input", len(flights.Numbers())), nn.Slice(rows, 1, 0, plain*dim))
	x = nn.Linear(x, 64, nn.LinearOptions{Act: nn.ReLU})
	score := nn.Linear(nn.Linear(x, 32, nn.LinearOptions{Act: nn.ReLU}), 1, nn.LinearOptions{}).Named("score")
	late, hour := g.Input("label", 1), g.IDs("hour", 1)
	losses := map[string]*nn.Node{
		"lambdarank": nn.LambdaRank(score, late, hour, 10),
		"ranknet":    nn.RankNet(score, late, hour),
		"pointwise":  nn.BinaryCrossEntropyWithLogits(score, late),
	}
	if losses[c.loss] == nil || c.days < 5 || c.days > 365 {
		return train.Job{}, fmt.Errorf("-loss=%s -days=%d: want lambdarank, ranknet or pointwise, and 5 to 365 days",
			c.loss, c.days)
	}
	return train.Job{
		Options: c.Options,
		Loss:    nn.Mean(losses[c.loss]),
		Rule:    c.AdamOrSGD(1e-3, 0.1),
		Metrics: []*nn.Node{nn.GroupNDCG(score, late, hour, 10), nn.GroupMRR(score, late, hour)},
		Outputs: []*nn.Node{score},
		Data:    c.split,
	}, g.Err()
}

// split holds out a fifth of the days.
func (c *config) split(ctx context.Context) (train, test *dataset.Dataset, err error) {
	all, err := flights.Load()
	if err != nil {
		return nil, nil, err
	}
	batch, err := flights.Dataset(all).Batch(ctx)
	if err != nil {
		return nil, nil, err
	}
	days, hours, rows := make([]int64, all.Len()), make([]int64, all.Len()), 0
	for i, day := range all.Day { // in their order
		days[i], hours[i] = int64(day), int64(day*24+all.Dep[i]/60)*4+int64(all.Origin[i])
		if day < c.days {
			rows = i + 1
		}
	}
	train, test = dataset.FromColumns(
		dataset.FloatValues("dense_input", batch["dense_input"].Float32s(), len(flights.Numbers())),
		dataset.IntValues("C", batch["C"].Data().([]int64), len(flights.Categories())),
		dataset.FloatValues("label", batch["label"].Float32s()),
		dataset.IntValues("hour", hours), dataset.IntValues("day", days)).Take(rows).SplitGroups("day", 0.8, c.Seed)
	return train, test, nil
}
