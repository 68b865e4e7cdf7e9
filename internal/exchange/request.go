package exchange

import (
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// Request is what a step wants of the servers.
type Request struct {
	Op    wire.Op
	Round mode.Round
	Seq   uint64
	Acked uint64
	// Push are the gradients; without samples nothing is pushed.
	Push gradient.Step
	// Positions are how far the worker's threads are with what is pushed.
	Positions []progress.Position
	// From are the versions of the weights that the gradients were computed on, by server; nil means the exchange's
	// last answers.
	From []uint64
	// Pull are the rows wanted, by embedding, and behind them, by embedding too, rows that are read as an evaluation
	// reads them, if there are any.
	Pull []Rows
	// All sends a frame to servers with nothing to do too, as every push does: rounds and saves go by steps on all
	// servers.
	All bool
}
