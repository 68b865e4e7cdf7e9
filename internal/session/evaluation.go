package session

import (
	"context"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// evaluation reads the newest weights, at least as new as this worker must see them, and creates no rows. Any number
// may be open beside training sessions. It keeps nothing from step to step but memory.
type evaluation struct {
	// pull is the memory for rows, and x writes dense weights into the arrays.
	w    *Worker
	x    *exchange.Exchange
	pull []exchange.Rows
}

func newEvaluation(w *Worker, params []*optimizer.Param) *evaluation {
	v := &evaluation{w: w, x: exchange.New(w.Servers), pull: newPull(w)}
	v.x.Dense = Weights(params)
	return v
}

// peek reads a step's rows into the step. Servers create none for unknown ids.
func (v *evaluation) peek(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(v.w, st); err != nil {
		return err
	}
	return describe(v.x.Run(ctx, exchange.Request{Op: wire.OpPeek, Round: v.w.Round(), Pull: own(v.pull, st)}),
		"pulling", v.w)
}
