package fleettest

import (
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/transport"
)

// Simulate runs program as Run does, inside a testing/synctest bubble: time is virtual and advances only while every
// role waits, so that timeouts of minutes take no real time. wrap, unless nil, wraps the bubble's memory network, for
// example with faults; Options.Transport must be nil. The bubble fails a test that leaves goroutines behind.
func (c Cluster) Simulate(t *testing.T, wrap func(transport.Transport) transport.Transport, program Program) {
	t.Helper()
	if c.Options.Transport != nil {
		t.Fatal("fleettest: a simulation has a memory network of its own; leave Options.Transport nil and use wrap")
	}
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		c.Options.Transport = transport.NewMemory()
		if wrap != nil {
			c.Options.Transport = wrap(c.Options.Transport)
		}
		if err := c.run(t, t.Context(), program); err != nil {
			t.Fatal(err)
		}
	})
}
