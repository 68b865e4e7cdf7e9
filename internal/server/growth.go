package server

import (
	"context"
	"time"

	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// growth has a checkpoint saved when the journal of this server has become large, by the worker that server 0 asks:
// what lies before a checkpoint is not needed, and without one a journal takes the room of all that was ever pushed.
type growth struct {
	journal  *state.Journal
	servers  *servers // which send the wish to server 0
	segments *segments
	// asked and of are the watch's own; no other goroutine has them.
	asked int    // the segment that a checkpoint was asked for
	of    uint32 // the life of server 0 that was asked, whose process ends with what it was asked for
}

// leastJournal is how large a segment may be however small checkpoints are; else it may be twice as large as the last
// one's part.
const leastJournal = 1 << 30

// watch looks again and again until ctx ends. It runs on its own goroutine, and returns at once where there is no
// journal. least is the size that any segment may have, in bytes.
func (c *growth) watch(ctx context.Context, least int64) {
	if !c.journal.On() {
		return
	}
	tick := time.NewTicker(c.servers.pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if c.due(least) && c.ask(ctx) != nil {
			c.asked = 0 // and again
		}
	}
}

// ask has server 0 want a checkpoint. A job that saves no checkpoints wants none, and the journal grows on.
func (c *growth) ask(ctx context.Context) error {
	_, err := c.servers.send(ctx, wire.Report{Grown: true})
	return err
}

// due says, once for a segment and a life of server 0, that it is larger than it should be. least is in bytes.
func (c *growth) due(least int64) bool {
	all, of := c.journal.Segments(), c.servers.first()
	if len(all) == 0 || all[len(all)-1].Number == c.asked && of == c.of ||
		c.journal.Size() <= max(least, 2*c.segments.size.Load()) {
		return false
	}
	c.asked, c.of = all[len(all)-1].Number, of
	return true
}
