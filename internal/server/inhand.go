package server

import (
	"strconv"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// work is what this server keeps of the cut that it holds, beside the state machine: an image to be written, lists of
// rows for the anchor, or tables that were read beside its own.
type work struct {
	number uint64 // of the cut
	// part is set for plans with a checkpoint, lists and served for plans that are read, and beside for loads.
	task cut.Task
	part written
	// image is closed when it is written, or with the work.
	image  *checkpoint.Image // nil while it is written
	lists  map[uint32][]uint64
	served []table.Served
	beside *beside
}

// close closes the image. A second call has no effect, nor has a call of a nil work.
func (w *work) close() {
	if w != nil && w.image != nil {
		w.image.Close()
		w.image = nil
	}
}

// inHand is the work of the cut that is held, from when its steps are in the tables. Orders of server 0 make it, and
// requests of the cut's anchor read it.
type inHand struct {
	st       *state.Job
	follower *cut.Follower
	// now is guarded by the lock; nil until a cut has reached its steps here.
	now *work
}

// tidy closes the work of a cut that is no longer held. The caller holds the lock. It is called by everything that may
// end a cut: an order, a report of server 0, or the next hold.
func (c *inHand) tidy() {
	if c.now != nil && c.now.number != c.follower.Number() {
		c.now.close()
		c.now = nil
	}
}

// kept returns the work of a cut whose anchor reads. The caller holds the lock.
func (c *inHand) kept(name string) (*work, error) {
	number, err := strconv.ParseUint(name, 10, 64)
	if err != nil || !c.follower.Keeps(number) || c.now == nil || c.now.lists == nil {
		return nil, wire.Refuse(wire.StatusStale, "cut %s is not kept here any more (its worker may have been silent "+
			"for too long): begin again", name)
	}
	return c.now, nil
}
