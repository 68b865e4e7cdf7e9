package transport

import (
	"fmt"
	"time"
)

// The connections of a listener cost memory as long as they are there: they are bounded in number, and nobody keeps one for nothing.

// enlist takes note of a new connection, if there is a place for it.
func (l *listener) enlist(c *serverConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop {
		return false
	}
	if limit := l.f.maxConns(); len(l.conns) >= limit && !l.replace() {
		l.f.serves.busy.Add(1)
		l.complaints.say(l.f.logger(), &l.f.serves.busy, l.endpoint, c.raw.RemoteAddr().String(),
			fmt.Sprintf("there are %d connections already, and each has been served: raise MaxConns if they are the job's", limit))
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

// replace closes a connection that was served no request yet. l.mu is held.
func (l *listener) replace() bool {
	for c := range l.conns {
		if !c.served.Load() && c.retire() {
			delete(l.conns, c)
			l.complaints.say(l.f.logger(), &l.f.serves.stranger, l.endpoint, c.raw.RemoteAddr().String(),
				fmt.Sprintf("there are %d connections, and this one has asked for nothing yet that was served", l.f.maxConns()))
			return true
		}
	}
	return false
}

func (l *listener) remove(c *serverConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// sweep closes connections that are not used, until the listener is closed. Each is looked at twice, so that requests pay for no clock.
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

// use says that something is asked, or was answered. Nearly always that is known, and to look costs less than to write.
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
