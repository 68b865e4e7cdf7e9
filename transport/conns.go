package transport

import (
	"fmt"
	"time"
)

// The connections of a listener take memory as long as they are open: their number is bounded, and idle ones are
// closed.

// enlist registers a new connection, if there is a place for it.
func (l *listener) enlist(c *serverConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop {
		return false
	}
	if limit := l.f.maxConns(); len(l.conns) >= limit && !l.replace(func(*serverConn) bool { return true }) {
		l.f.serves.busy.Add(1)
		l.complaints.say(l.f.logger(), &l.f.serves.busy, l.endpoint, c.raw.RemoteAddr().String(),
			fmt.Sprintf("all %d connections are in use: raise MaxConns if they are the job's", limit))
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

// replace closes one of such connections that has not been served a request yet. The caller holds l.mu.
func (l *listener) replace(such func(*serverConn) bool) bool {
	for c := range l.conns {
		if !c.served.Load() && such(c) && c.retire() {
			delete(l.conns, c)
			l.complaints.say(l.f.logger(), &l.f.serves.stranger, l.endpoint, c.raw.RemoteAddr().String(),
				fmt.Sprintf("its connection, one of %d, was closed for another: it had no request served yet",
					len(l.conns)+1))
			return true
		}
	}
	return false
}

// rationedBytes is the room for requests of connections that have not been served one yet. Beyond it each request
// closes another such connection.
const rationedBytes = 64 << 20

// ration charges n bytes of a request, if it is a connection's first.
func (c *serverConn) ration(n int) {
	if c.served.Load() {
		return
	}
	c.rationed.Store(int64(n))
	if c.l.rationed.Add(int64(n)) > rationedBytes {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		c.l.replace(func(other *serverConn) bool { return other != c && other.rationed.Load() > 0 })
	}
}

func (l *listener) remove(c *serverConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	if c.reader {
		l.readers.Add(-1)
	}
}

// sweep closes connections that are not used, until the listener is closed. Each is checked twice, so that requests
// need no clock.
func (l *listener) sweep() {
	tick := time.NewTicker(l.f.idleTimeout())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.closeUnused()
		case <-l.closing:
			return
		}
	}
}

// use notes a request or an answer. It is nearly always noted already, and a check costs less than a write.
func (c *serverConn) use() {
	if !c.used.Load() {
		c.used.Store(true)
	}
}

func (l *listener) closeUnused() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if !c.used.Swap(false) {
			c.retire()
		}
	}
}
