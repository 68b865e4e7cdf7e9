package client

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/wire"
)

// origin is what server 0 began from.
type origin struct{ found string }

// agrees refuses a server that did not begin from what server 0 did, or not from where this worker was told. s is 0 in
// the first call. from is what this worker's Restore names, "" without one; the text has the directory and the
// selection of params, so that two roles with other options differ.
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
