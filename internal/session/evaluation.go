package session

import (
	"context"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// evaluation reads the newest weights, as far as this worker must have seen them, and brings nothing to life.
type evaluation struct {
	w    *Worker
	x    *exchange.Exchange
	pull []exchange.Rows
}

func newEvaluation(w *Worker, params []*optimizer.Param) *evaluation {
	v := &evaluation{w: w, x: exchange.New(w.Servers), pull: newPull(w)}
	v.x.Dense = Weights(params)
	return v
}

func (v *evaluation) peek(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(v.w, st); err != nil {
		return err
	}
	return describe(v.x.Run(ctx, exchange.Request{Op: wire.OpPeek, Round: v.w.Round(), Pull: own(v.pull, st)}),
		"pulling", v.w)
}
