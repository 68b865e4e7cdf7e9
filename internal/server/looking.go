package server

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// looking collects what the other roles report to server 0 while a page of its process is open. At other times server 0
// does not ask them.
//
//	worker                     server 0                     another server
//	  heartbeat ────────────────>
//	           <──────────────── tell
//	  heartbeat, what it tells ─>
//	                              report: tell ──────────────>
//	                                           <────────────── what it tells
//
// Reports are opaque bytes here. The last report of each role is kept, if it is no longer than longestTold.
type looking struct {
	st      *state.Job
	roster  *roster.Roster
	until   atomic.Int64 // Unix time in nanoseconds until which the page counts as open
	mu      sync.Mutex   // guards what follows
	workers []told
	servers []told
}

// told is the last report of a life of a role. first and heard are when a server answered first and last, by the job's
// clock; workers have them in the roster.
type told struct {
	text         []byte
	at           time.Time
	life         uint32
	first, heard time.Time
}

const (
	lookedAt    = 10 * time.Second // a page counts as open for so long after a look
	longestTold = 1 << 20
)

// asks returns what a worker is asked to report with its next heartbeat. The monitor is held. Curves are the same on
// all workers, so that only the lowest living worker sends them.
func (c *looking) asks(worker int) wire.Show {
	if !c.open() {
		return wire.ShowNothing
	}
	for w := range worker {
		if _, lives := c.roster.Living(w); lives {
			return wire.ShowStats
		}
	}
	return wire.ShowAll
}

// open reports whether a page was looked at within lookedAt.
func (c *looking) open() bool { return time.Now().UnixNano() < c.until.Load() }

// worker keeps the report that came with a worker's heartbeat, if there is one.
func (c *looking) worker(f *wire.Frame) {
	if text, tells := f.Blob(); tells && len(text) <= longestTold {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.workers[f.Worker] = told{text: bytes.Clone(text), at: time.Now(), life: f.Life}
	}
}

// server notes that another server has answered, and keeps its report, if there is one.
func (c *looking) server(index int, text []byte) {
	now := c.st.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	is := &c.servers[index]
	if is.heard = now; is.first.IsZero() {
		is.first = now
	}
	if len(text) > 0 && len(text) <= longestTold {
		is.text, is.at = text, time.Now()
	}
}

// Seen is how another role of the job stands, as this server knows it.
type Seen struct {
	// Stands is the state of a [roster.Member]; a server is absent, here or left.
	Stands string
	// For is how long the role has been in this state, or how long ago its last message came if it has left. Silent is
	// the time since its last message.
	For, Silent time.Duration
	// Text is the last report of this life, and At when it came; nil if none came.
	Text []byte
	At   time.Time
}

// Look returns how the other roles stand, servers and workers by index. For lookedAt after the call they are asked to
// report.
func (s *Server) Look() (servers, workers []Seen) {
	c := s.looking
	c.until.Store(time.Now().Add(lookedAt).UnixNano())
	now := s.st.Now()
	s.st.Lock()
	defer s.st.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, is := range c.servers {
		seen := Seen{Stands: "absent", Text: is.text, At: is.at}
		if !is.heard.IsZero() {
			seen.Stands, seen.For, seen.Silent = "here", now.Sub(is.first), now.Sub(is.heard)
		}
		if s.servers.ended[i] {
			seen.Stands, seen.For = "left", seen.Silent
		}
		servers = append(servers, seen)
	}
	for w, m := range s.roster.Members() {
		seen := Seen{Stands: m.State}
		if !m.Since.IsZero() {
			seen.For, seen.Silent = now.Sub(m.Since), now.Sub(s.roster.Seen(w))
		}
		if is := c.workers[w]; is.life == uint32(m.Life) {
			seen.Text, seen.At = is.text, is.at
		}
		workers = append(workers, seen)
	}
	return servers, workers
}
