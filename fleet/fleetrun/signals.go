package main

import (
	"os"
	"os/signal"
	"syscall"
)

// catchSignals delivers what asks fleetrun to end. A signal that was ignored when fleetrun started, as nohup does with
// SIGHUP, stays so. release goes back to what was.
func catchSignals() (caught <-chan os.Signal, release func()) {
	c := make(chan os.Signal, 8)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	// A console that is not read any more is an error of its writers (see stream), not the end of fleetrun. Roles
	// don't inherit this, as they would if the signal were ignored.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	return c, func() { signal.Stop(c); signal.Stop(gone) }
}
