package server

import (
	"sync"

	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// steps answers a worker's step: a push if the frame has gradients, then the weights that it asks for.
//
// The frame is parsed and checked whole before anything is done with it, both its gradients and its requests. So a step
// is refused whole, and a push whose answer could not be sent is not applied. The answer is made after the push has
// counted: its weights include the sender's own gradient. steps keeps nothing between two requests but memory.
type steps struct {
	st        *state.Job
	pieces    *pieces
	pushing   *pushing
	reading   *reading
	foresight foresight
	// pushes is the memory of gradients; each keeps the size of the largest that it has read.
	pushes sync.Pool
}

// step is one training step. A frame with 0 samples has no gradient, and waits for the weights alone. The push's memory
// returns to the pool when its update is made, whatever became of the request.
func (c *steps) step(f *wire.Frame, r *state.Reply) error {
	if err := c.reading.parse(f, r); err != nil {
		return err
	}
	if f.Samples > 0 {
		p := c.pushes.Get().(*push)
		defer c.pushes.Put(p)
		if err := c.pieces.read(p, f); err != nil {
			return err
		}
		c.foresight.ask(p, f, r)
		err := c.pushing.push(f, p, r.Header())
		if count.Profiling() { // the goroutine may have made an update of others, and changed its labels
			label(f, "")
		}
		if err != nil {
			return err
		}
	} else if err := c.st.Enter(f); err != nil {
		return err
	}
	return c.reading.pull(f, r, false)
}

// peek reads for evaluation. It records nothing: no row is created, and no gradient will be compensated from these
// weights.
func (c *steps) peek(f *wire.Frame, r *state.Reply) error {
	if err := c.reading.parse(f, r); err != nil {
		return err
	}
	if err := c.st.Enter(f); err != nil {
		return err
	}
	return c.reading.pull(f, r, true)
}
