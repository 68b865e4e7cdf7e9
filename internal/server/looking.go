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

// looking is what other roles tell server 0 of themselves while somebody looks at a page of its process. At other times
// they are not asked.
//
//	worker                     server 0                     another server
//	  heartbeat ────────────────>
//	           <──────────────── tell
//	  heartbeat, what it tells ─>
//	                              report: tell ──────────────>
//	                                           <────────────── what it tells
//
// What they tell is bytes here. Of each role the last is kept, up to longestTold of them.
type looking struct {
	st      *state.Job
	roster  *roster.Roster
	until   atomic.Int64 // nanoseconds since 1970, by which a page was looked at lately
	mu      sync.Mutex   // guards what follows
	workers []told
	servers []told
}

// told is what a life of a role has told last. first and heard are times of the job's clock, of a server alone.
type told struct {
	text         []byte
	at           time.Time
	life         uint32
	first, heard time.Time
}

const (
	lookedAt    = 10 * time.Second // behind a look somebody may look again
	longestTold = 1 << 20
)

// asks is what a worker is asked to tell at its next heartbeat. Locked. Curves are the same on all workers, of which
// the first one that lives tells them.
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

// open says whether a page was looked at lately.
func (c *looking) open() bool { return time.Now().UnixNano() < c.until.Load() }

// worker takes what a life of a worker tells with a heartbeat, if it does.
func (c *looking) worker(f *wire.Frame) {
	if text, tells := f.Blob(); tells && len(text) <= longestTold {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.workers[f.Worker] = told{text: bytes.Clone(text), at: time.Now(), life: f.Life}
	}
}

// server takes note that another server has answered, with what it tells, if it does.
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
	// Stands is as that of a [roster.Member]; a server is absent, here or left.
	Stands string
	// For is for how long, or since when it was heard where it is not here. Silent is for how long it was not heard.
	For, Silent time.Duration
	// Text is what it told last, of this life, and At when; nil if nothing.
	Text []byte
	At   time.Time
}

// Look is how the other roles stand, servers and workers by index. For a while behind it they are asked to tell of
// themselves.
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
