package server

import (
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// room has tables that are nearly full make room: each server reports that it has one, and server 0 asks the lowest
// living worker to lead a cut in which all servers drop rows (param.Evict), until no report says so any more.
type room struct {
	savers *roster.Savers
	store  *table.Store
	index  int
	full   []bool // on server 0: servers that have a table which is nearly full. The state's lock guards it.
}

// heard stores a server's report, on server 0. The caller holds the lock.
func (c *room) heard(msg *wire.Report) {
	if c.index == 0 && !msg.Grown && !msg.Stops {
		c.full[msg.Server] = msg.Full
	}
}

// asks reports whether a worker is to lead that cut. The caller holds the lock.
func (c *room) asks(worker int) bool {
	if c.index != 0 {
		return false
	}
	c.full[0] = c.store.Pressed()
	for _, is := range c.full {
		if is {
			return c.savers.Saves(worker)
		}
	}
	return false
}
