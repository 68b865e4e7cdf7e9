package server

import (
	"context"
	"time"

	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// growth requests a checkpoint when the journal of this server has become large: records before a checkpoint are not
// needed, and without one a journal holds everything that was ever pushed. Server 0 selects the worker that saves it.
type growth struct {
	journal  *state.Journal
	servers  *servers // which send the request to server 0
	segments *segments
	// asked and of are used by the goroutine of watch alone.
	asked int    // the segment for which a checkpoint was requested
	of    uint32 // the life of server 0 that was asked: its process takes the request along when it ends
}

// leastJournal is the size in bytes that a segment may always have; with large checkpoints it may have twice the size
// of the last part.
const leastJournal = 1 << 30

// watch looks at the journal's size until ctx ends. It runs on its own goroutine, and returns at once if there is no
// journal. least is the size in bytes that any segment may have.
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
			c.asked = 0 // ask again
		}
	}
}

// ask requests a checkpoint of server 0. A job that saves no checkpoints ignores it, and the journal grows on.
func (c *growth) ask(ctx context.Context) error {
	_, err := c.servers.send(ctx, wire.Report{Grown: true})
	return err
}

// due reports, once for a segment and a life of server 0, that the segment is too large. least is in bytes.
func (c *growth) due(least int64) bool {
	all, of := c.journal.Segments(), c.servers.first()
	if len(all) == 0 || all[len(all)-1].Number == c.asked && of == c.of ||
		c.journal.Size() <= max(least, 2*c.segments.size.Load()) {
		return false
	}
	c.asked, c.of = all[len(all)-1].Number, of
	return true
}
