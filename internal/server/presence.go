package server

import (
	"context"
	"sync/atomic"
)

// presence is the stage of a server's life, for probes. It has no lock: a probe is answered even if the server's lock
// is held for long.
type presence struct {
	stands atomic.Int32
	idle   atomic.Bool // after the end of the job, until workers join
}

const (
	absent int32 = iota // it fills its tables, or returns from its journal
	serves
	ends // it was asked to end, or the job is over
)

// begin sets the stage to serving, until asked ends or stop is called; from then on the server is about to end.
func (p *presence) begin(asked context.Context) (stop func()) {
	p.stands.Store(serves)
	release := context.AfterFunc(asked, func() { p.stands.Store(ends) })
	return func() {
		release()
		p.stands.Store(ends)
	}
}
