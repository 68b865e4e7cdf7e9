package server

import (
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// lines are the connections of the workers' last signs of life, on server 0. The system closes the connections of a
// process that dies, while a process that stands still, or whose machine can't be reached, keeps them. A connection may
// break for other reasons, so that a worker counts as dead only if it makes no new one and is silent for a while after.
type lines struct {
	roster *roster.Roster
	// byWorker is guarded by the lock.
	byWorker []line
	enough   time.Duration // of silence
	pace     time.Duration // interval of looks, one of which may come a little early
	// lonely reports that workers wait for a server that they can't reach: if no other worker sends anything, this
	// server itself may be cut off.
	lonely bool
}

// line is the connection of one worker's last heartbeat, with the results of looks at it.
type line struct {
	// life is the worker's life at that heartbeat; nothing is known of other lives.
	life   uint32
	broken func() bool // nil if the transport can't tell
	// keeps reports that a connection of this life has served more than one request: no proxy in between makes a
	// connection for each request, whose end would prove nothing.
	keeps bool
	since time.Time // first seen broken, zero before
	looks int       // number of looks that have seen it broken
}

// fewestLooks keeps a server that stood still itself from a verdict before it has read the requests that came
// meanwhile.
const fewestLooks = 4

// heard stores the connection of a sign of life: a life's first request, and its heartbeats. The caller holds the lock.
// Earlier looks no longer count.
func (c *lines) heard(worker int, life uint32, r *state.Reply) {
	was := c.byWorker[worker]
	c.byWorker[worker] = line{life: life, broken: r.Broken, keeps: !r.First || was.life == life && was.keeps}
}

// ended yields the workers in the job whose processes have ended without a message, with the reason. The caller holds
// the lock, also while yield runs. Looks at a whole or new connection reset the count.
func (c *lines) ended(now time.Time, yield func(worker int, end wire.Ending)) {
	for w := range c.byWorker {
		l := &c.byWorker[w]
		life, lives := c.roster.Living(w)
		silent := now.Sub(c.roster.Seen(w))
		if !lives || life != l.life || !l.keeps || l.broken == nil || !l.broken() {
			l.looks = 0
			continue
		}
		if l.looks++; l.looks == 1 {
			l.since = now
		}
		cutOff := c.lonely && !c.roster.OthersSeenSince(w, l.since)
		if l.looks >= fewestLooks && min(now.Sub(l.since)+c.pace/2, silent) >= c.enough && !cutOff {
			c.roster.Broken(w)
			yield(w, wire.Ending{Returns: true, Why: fmt.Sprintf("its connection has ended, and nothing came for %v",
				silent.Round(time.Millisecond))})
		}
	}
}
