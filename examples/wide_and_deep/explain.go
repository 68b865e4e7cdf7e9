package main

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/fleet/train"
)

// explained prints what a step of the strategy costs, with as many rows as one had on average.
func (c *config) explained(_ context.Context, r *train.Run) error {
	if !c.explain || !r.Leads() || r.Fleet.ServerNum() == 0 {
		return nil
	}
	n := r.Fleet.Stats().Counts
	e, err := r.Fleet.Explain(map[string]int{"SparseFeatFactors": int(n.Rows / max(n.Steps, 1))})
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(r.Job.Stdout, e)
	return err
}
