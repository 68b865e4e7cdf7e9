package server

import (
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
)

// lines are the connections by which workers have shown life last, on server 0. The system ends the connections of a
// process that dies, while one that stands still, or whose machine is not reached, keeps them. A connection may break
// for other reasons, so that a worker is dead only if it makes none anew and is silent for a while after.
type lines struct {
	roster   *roster.Roster
	byWorker []line
	enough   time.Duration // of silence
	// lonely says that workers wait for a server that they don't reach: if no other worker is heard, it may be this
	// server that is cut off.
	lonely bool
}

type line struct {
	life   uint32
	broken func() bool // nil where the transport does not know
	since  time.Time   // it was seen to be, zero before
	looks  int         // that have seen it since
}

// fewestLooks keep a server that stood still itself from a verdict before it has read what came meanwhile.
const fewestLooks = 4

// heard takes note of a heartbeat. Locked.
func (c *lines) heard(worker int, life uint32, broken func() bool) {
	c.byWorker[worker] = line{life: life, broken: broken}
}

// ended gives yield the workers that are in the job, and whose processes have ended without a word, and why. Locked.
func (c *lines) ended(now time.Time, yield func(worker int, end wire.Ending)) {
	for w := range c.byWorker {
		l := &c.byWorker[w]
		life, lives := c.roster.Living(w)
		silent := now.Sub(c.roster.Seen(w))
		if !lives || life != l.life || l.broken == nil || !l.broken() {
			l.looks = 0
			continue
		}
		if l.looks++; l.looks == 1 {
			l.since = now
		}
		cutOff := c.lonely && !c.roster.OthersSeenSince(w, l.since)
		if l.looks >= fewestLooks && min(now.Sub(l.since), silent) >= c.enough && !cutOff {
			c.roster.Broken(w)
			yield(w, wire.Ending{Returns: true, Why: fmt.Sprintf("its connection has ended, and nothing came for %v",
				silent.Round(time.Millisecond))})
		}
	}
}
