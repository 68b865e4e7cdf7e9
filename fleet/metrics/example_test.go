package metrics_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/metrics"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/rolemaker"
)

// What a worker has counted becomes the metric of all: here there is one.
func ExampleAUC() {
	f, err := fleet.Init(rolemaker.Local{})
	if err != nil {
		log.Fatal(err)
	}
	scores := nn.NewHistogram()
	for _, s := range []struct {
		probability float32
		clicked     bool
	}{{0.9, true}, {0.6, false}, {0.5, true}, {0.1, false}} {
		scores.Add(s.probability, s.clicked)
	}
	auc, err := metrics.AUC(context.Background(), f, scores.Pos, scores.Neg)
	fmt.Println(auc, err)
	// Output: 0.75 <nil>
}
