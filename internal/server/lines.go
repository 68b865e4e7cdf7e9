package server

import (
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// lines are the connections by which workers have shown life last, on server 0. The system ends the connections of a
// process that dies, while one that stands still, or whose machine is not reached, keeps them. A connection may break
// for other reasons, so that a worker is dead only if it makes none anew and is silent for a while after.
type lines struct {
	roster *roster.Roster
	// byWorker is guarded by the lock.
	byWorker []line
	enough   time.Duration // of silence
	pace     time.Duration // of looks, of which one may come a little early
	// lonely says that workers wait for a server that they don't reach: if no other worker is heard, it may be this
	// server that is cut off.
	lonely bool
}

// line is the connection of one worker's last heartbeat, and what looks at it have shown.
type line struct {
	// life is the worker's when the heartbeat came: of another one nothing is known yet.
	life   uint32
	broken func() bool // nil where the transport does not know
	// keeps says that a connection of this life has served more than one request: none lies between that makes one for
	// each, whose end would say nothing.
	keeps bool
	since time.Time // it was seen to be broken, zero before
	looks int       // that have seen it since
}

// fewestLooks keep a server that stood still itself from a verdict before it has read what came meanwhile.
const fewestLooks = 4

// heard takes note of a request that shows life: a life's first, and its heartbeats. Locked. What was seen of the
// connection before counts no more.
func (c *lines) heard(worker int, life uint32, r *state.Reply) {
	was := c.byWorker[worker]
	c.byWorker[worker] = line{life: life, broken: r.Broken, keeps: !r.First || was.life == life && was.keeps}
}

// ended gives yield the workers that are in the job, and whose processes have ended without a word, and why. Locked.
// yield is called within the lock. A worker whose connection is whole, or made anew, begins with no looks.
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
