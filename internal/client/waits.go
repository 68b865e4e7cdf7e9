package client

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// waits says in the log that a request with data has waited for long: in rounds for other workers, else because a
// server has no room for it or the way there is slow. Many requests wait at once, of which one is spoken of for all.
type waits struct {
	log     *slog.Logger
	servers []string
	why     []atomic.Pointer[error]     // by server: how the last attempt that failed ended
	told    []atomic.Pointer[wire.Beat] // by server: what it waits for
	// Heartbeats send the number to servers.
	long atomic.Int32 // requests that have waited for long
	// said is when a line was written last, of whichever server.
	said atomic.Pointer[time.Time]
}

// How long a request waits before it is spoken of, and the pause between two lines.
const (
	waitsLong = 10 * time.Second
	saysAgain = 30 * time.Second
)

// failed keeps why an attempt failed.
func (w *waits) failed(server int, err error) { w.why[server].Store(&err) }

// watch speaks of a request to a server from now on, until stop is called. It begins no goroutine before waitsLong has
// passed. stop takes the request out of the count; it must be called once.
func (w *waits) watch(server int) (stop func()) {
	began := time.Now()
	w.why[server].Store(nil)
	var timer *time.Timer
	var long sync.Once
	var over atomic.Bool
	timer = time.AfterFunc(waitsLong, func() {
		if over.Load() {
			return // it was set anew beside its end
		}
		long.Do(func() { w.long.Add(1) })
		w.say(server, time.Since(began))
		timer.Reset(saysAgain)
	})
	return func() {
		over.Store(true)
		timer.Stop()
		counted := true
		long.Do(func() { counted = false })
		if counted {
			w.long.Add(-1)
		}
	}
}

// computes says whether a server waits for a worker that lives and computes.
func (w *waits) computes(server int) bool {
	told := w.told[server].Load()
	return told != nil && told.Computes
}

// of says what a server waits for, as its last answer to a heartbeat does.
func (w *waits) of(server int) string {
	if told := w.told[server].Load(); told != nil && told.Waits != "" {
		return "waits " + told.Waits
	}
	return "waits for other workers, or is slow to take the request"
}

// say writes one line for all requests that wait, unless one was written within saysAgain. The reason is the last
// failed attempt's, or what the server reports that it waits for.
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
