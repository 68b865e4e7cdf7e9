package exchange

import (
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// Request is what a step sends to the servers and wants from them.
type Request struct {
	Op    wire.Op
	Round mode.Round
	Seq   uint64
	Acked uint64
	// Push holds the gradients; nothing is pushed if it has no samples.
	Push gradient.Step
	// Positions holds the positions of the worker's threads in their data, after this push.
	Positions []progress.Position
	// From holds, by server, the version of the weights that the gradients were computed on; nil means those of the
	// exchange's last answers.
	From []uint64
	// Pull holds the wanted rows, by embedding. A second entry of each embedding may follow, for rows that are read as
	// in an evaluation.
	Pull []Rows
	// All sends a frame also to servers with nothing to push or pull, as every push must: rounds and saves count steps
	// on all servers.
	All bool
}
