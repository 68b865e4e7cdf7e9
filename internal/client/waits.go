package client

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// waits logs that a request with data has waited for long: in rounds for other workers, else because a server has no
// room for it or the network is slow. If many requests wait at once, one line stands for all.
type waits struct {
	log     *slog.Logger
	servers []string
	why     []atomic.Pointer[error]     // by server: the last failed attempt's error
	told    []atomic.Pointer[wire.Beat] // by server: its last report, with what it waits for
	// long is sent to servers by heartbeats.
	long atomic.Int32 // how many requests have waited for long
	// said is the time of the last line, about any server.
	said atomic.Pointer[time.Time]
	// watches are not in use.
	watches spares[*watch]
}

// The time that a request waits before a line is logged, and the least time between two lines.
const (
	waitsLong = 10 * time.Second
	saysAgain = 30 * time.Second
)

// failed stores the error of an attempt.
func (w *waits) failed(server int, err error) { w.why[server].Store(&err) }

// watch is a request that waits; waits keeps its memory for later ones.
type watch struct {
	alarm
	waits  *waits
	server int
	began  time.Time
	long   bool // it is in the count; guarded by mu
}

// watch logs lines about a request to a server, which began at some time, until stop is called, once.
func (w *waits) watch(server int, began time.Time) *watch {
	w.why[server].Store(nil)
	is, ok := w.watches.get()
	if !ok {
		is = &watch{waits: w}
		is.ring = is.late
	}
	is.server, is.began = server, began
	is.set(began.Add(waitsLong))
	return is
}

// late logs a line, and counts the request.
func (is *watch) late(now time.Time) (next time.Time) {
	if !is.long {
		is.long = true
		is.waits.long.Add(1)
	}
	is.waits.say(is.server, now.Sub(is.began))
	return now.Add(saysAgain)
}

// stop takes the request out of the count.
func (is *watch) stop() {
	if is.set(time.Time{}); is.long {
		is.long = false
		is.waits.long.Add(-1)
	}
	is.waits.watches.put(is)
}

// computes reports whether a server waits for a worker that lives and computes.
func (w *waits) computes(server int) bool {
	told := w.told[server].Load()
	return told != nil && told.Computes
}

// of returns what a server waits for, by its last answer to a heartbeat.
func (w *waits) of(server int) string {
	if told := w.told[server].Load(); told != nil && told.Waits != "" {
		return "waits " + told.Waits
	}
	return "waits for other workers, or is slow to take the request"
}

// say logs one line for all requests that wait, unless one was logged within saysAgain. The reason is the last failed
// attempt's error, or what the server reports that it waits for.
func (w *waits) say(server int, waited time.Duration) {
	now, last := time.Now(), w.said.Load()
	if last != nil && now.Sub(*last) < saysAgain || !w.said.CompareAndSwap(last, &now) {
		return
	}
	why := "no answer yet: the server " + w.of(server)
	if err := w.why[server].Load(); err != nil {
		why = (*err).Error()
	}
	w.log.Warn("still waiting for a server", "server", server, "endpoint", w.servers[server],
		"waited", waited.Round(time.Second), "why", why)
}
