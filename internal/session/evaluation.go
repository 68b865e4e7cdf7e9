package session

import (
	"context"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// evaluation reads the newest weights, as far as this worker must have seen them, and brings nothing to life. Any
// number may be open beside sessions that train. It keeps nothing from step to step but memory.
type evaluation struct {
	// pull is where rows arrive, and x brings dense weights into the arrays.
	w    *Worker
	x    *exchange.Exchange
	pull []exchange.Rows
}

func newEvaluation(w *Worker, params []*optimizer.Param) *evaluation {
	v := &evaluation{w: w, x: exchange.New(w.Servers), pull: newPull(w)}
	v.x.Dense = Weights(params)
	return v
}

// Rows arrive where the step wants them. Servers create none for ids that they don't know.
func (v *evaluation) peek(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(v.w, st); err != nil {
		return err
	}
	return describe(v.x.Run(ctx, exchange.Request{Op: wire.OpPeek, Round: v.w.Round(), Pull: own(v.pull, st)}),
		"pulling", v.w)
}
