package main

import (
	"os"
	"os/signal"
	"syscall"
)

// catchSignals delivers the signals that ask fleetrun to end. A signal that was ignored when fleetrun started, as nohup
// does with SIGHUP, stays ignored. release restores the earlier handling.
func catchSignals() (caught <-chan os.Signal, release func()) {
	c := make(chan os.Signal, 8)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	// If the console is no longer read, its writers get an error (see stream), and fleetrun goes on. Roles don't
	// inherit this, as they would if the signal were ignored.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	return c, func() { signal.Stop(c); signal.Stop(gone) }
}
