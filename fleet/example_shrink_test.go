package fleet_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	tensors "gorgonia.org/tensor"
)

// An id gets its row when clicks bring its score to 2: the label says what was clicked. At the end of a day scores decay, and
// rows go whose score has become too low.
func ExampleFleet_Shrink() {
	f, err := fleet.New(context.Background(), rolemaker.Local{}, fleet.Options{})
	if err != nil {
		log.Fatal(err)
	}
	g := nn.NewGraph(1)
	label := g.IDs("label", 1)
	ads := nn.Embedding(g.IDs("ad", 1), nn.EmbeddingOptions{Name: "ads", Dim: 4, Click: label,
		Entry: optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 2}}})
	opt, err := f.DistributedOptimizer(optimizer.Adagrad{LR: 0.1}, strategy.Async())
	if err != nil {
		log.Fatal(err)
	}
	if err := opt.Minimize(nn.Mean(ads)); err != nil {
		log.Fatal(err)
	}
	ctx, exe := context.Background(), nn.NewExecutor(g)
	column := func(x ...int64) *tensors.Dense {
		return tensors.New(tensors.WithShape(len(x), 1), tensors.WithBacking(x))
	}
	for range 2 { // ad 7 is clicked twice a batch, ad 8 once, ad 9 never
		if _, err := exe.Train(ctx, map[string]*tensors.Dense{"ad": column(7, 7, 8, 9), "label": column(1, 1, 1, 0)}); err != nil {
			log.Fatal(err)
		}
	}
	for range 3 {
		freed, err := f.Shrink(ctx, fleet.ShrinkOptions{Decay: 0.5, MinScore: 0.8, Unseen: 30})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("dropped %d, left %d\n", freed["ads"].Rows, f.Stats().Tables[0].Rows)
	}
	// Output:
	// dropped 0, left 2
	// dropped 1, left 1
	// dropped 1, left 0
}
