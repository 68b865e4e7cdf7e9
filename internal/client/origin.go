package client

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/wire"
)

// origin is what server 0 has begun from.
type origin struct{ found string }

// agrees returns an error if server s did not begin from what server 0 did, or not from what this worker's Restore
// names. The first call is for server 0. from holds Restore's directory and selection of params, so that two roles with
// other options differ; it is "" without Restore.
func (o *origin) agrees(s int, w wire.Welcome, from string) error {
	if from != "" && w.From != from {
		return fmt.Errorf("this worker's Restore names %s, but server %d began from %s: call Restore on every role, "+
			"with the same directory and options", from, s, orNothing(w.From))
	}
	if s == 0 {
		o.found = w.Origin
	}
	if w.Origin != o.found {
		return fmt.Errorf("server %d began from %s, server 0 from %s: give all servers the same directory, "+
			"and save nothing to it while they start", s, orNothing(w.Origin), orNothing(o.found))
	}
	return nil
}

func orNothing(from string) string {
	if from == "" {
		return "nothing"
	}
	return from
}
