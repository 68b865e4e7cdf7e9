package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// endedAfter is how long nothing must listen at a server's endpoint until the server counts as ended.
const endedAfter = 2 * time.Second

// stuckAfter is the least time without heartbeats after which this process counts as stuck.
const stuckAfter = 30 * time.Second

// beatTo sends heartbeats to a server until the link ends, on a goroutine of its own, from the server's answer to hello
// on. It fails the client if the server has ended, refuses this worker, or was silent for the strategy's ServerTimeout.
// While nothing listens at the endpoint, heartbeats are more frequent.
func (l *link) beatTo(server int) {
	pace := l.strategy.HeartbeatInterval.Std()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	pulse := l.pulses.Begin(fmt.Sprintf("no heartbeat goes out to server %d", server),
		max(stuckAfter, 2*l.strategy.WorkerTimeout.Std()))
	defer pulse.End()
	l.heard.now(server)
	for absent := (peer.Absence{}); ; {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
		if l.ctx.Err() != nil { // select may choose the tick when both are ready
			return
		}
		pulse.Beat()
		err := l.ping(server)
		silent := l.heard.since(server)
		if was := absent; absent.Note(err, l.heard.clock.Now()) != (was != peer.Absence{}) {
			tick.Reset(paceOf(absent, pace))
		}
		switch {
		case err == nil:
		case absent.Ended(l.heard.clock.Now(), l.endedAfter()):
			l.fail(l.name(server, fmt.Errorf("it has ended, its port is closed: %w", wire.ErrWentBack)))
			return
		case isRefusal(err), hopeless(err):
			l.fail(l.name(server, err))
			return
		case silent > l.strategy.ServerTimeout().Std():
			l.fail(l.name(server, fmt.Errorf("silent for %v: %w", silent.Round(time.Millisecond), err)))
			return
		}
	}
}

// endedAfter returns how long nothing must listen at a server's endpoint until the server counts as ended for good. A
// server with a journal comes back, so it gets the ServerTimeout.
func (l *link) endedAfter() time.Duration {
	if l.strategy.Recovery.Journal != "" {
		return l.strategy.ServerTimeout().Std()
	}
	return min(endedAfter, l.strategy.WorkerTimeout.Std()/4)
}

// paceOf returns the interval of heartbeats to a server. If nothing listens, it is a quarter of pace, so that the
// server's end is noticed soon.
func paceOf(absent peer.Absence, pace time.Duration) time.Duration {
	if absent != (peer.Absence{}) {
		return pace / 4
	}
	return pace
}

// pingTimeout returns how long a server may take to answer a small request that waits for nothing: a fraction of the
// worker timeout, so that a few lost messages are not yet silence.
func (l *link) pingTimeout() time.Duration { return l.strategy.WorkerTimeout.Std() / 10 }

// ping sends one heartbeat and reads the server's report. Two fields of the header that heartbeats do not use otherwise
// carry counters: how many requests this server has acknowledged for good, and how many of this worker's requests have
// waited long.
func (l *link) ping(server int) error {
	ctx, cancel := context.WithTimeout(l.ctx, l.pingTimeout())
	defer cancel()
	var b wire.Builder
	h := l.header(server, wire.OpHeartbeat)
	h.Acked, h.Samples = l.heard.counts[server].Load(), uint32(l.waits.long.Load())
	if l.hurried.Load() {
		h.Seq = wire.Asked
	}
	b.Reset(h)
	_, err := l.attempt(ctx, server, b.Parts(), func(f *wire.Frame) error { return l.told(server, f) })
	return err
}

// told reads the message in a server's answer to a heartbeat, if there is one. It stores what the server waits for,
// which log lines and errors of waiting requests give. A wish for a checkpoint goes to the channel asked, which has
// room for one: a second wish adds nothing.
func (l *link) told(server int, f *wire.Frame) error {
	var msg wire.Beat
	if _, says := f.Blob(); says {
		if err := f.JSON(&msg); err != nil {
			return err
		}
	}
	if l.waits.told[server].Store(&msg); msg.Evict {
		l.full()
	}
	if !msg.Save {
		return nil
	}
	select {
	case l.asked <- struct{}{}:
	default: // a wish is waiting already
	}
	return nil
}

// isRefusal reports whether err is a server's refusal that another attempt does not change. A server that is not ready
// yet has not refused.
func isRefusal(err error) bool {
	var r *wire.Refusal
	return errors.As(err, &r) && r.Status != wire.StatusNotReady
}

// fail ends the client unless it is leaving, when servers may be gone. All requests under way end with err, and so does
// each later one. Only the first error counts.
func (l *link) fail(err error) {
	if !l.leaving.Load() {
		l.log.Error("training can't go on", "error", err)
		l.end(err)
	}
}

// hearing records when each server last answered, by a clock that stops while this process is suspended, so that a
// process that wakes up has not waited. Heartbeats read the clock.
type hearing struct {
	clock *awake.Clock
	began time.Time      // by clock
	at    []atomic.Int64 // by server: nanoseconds since then, 0 for never
	// counts holds, by server, how many requests it has acknowledged for good.
	counts []atomic.Uint64
}

// neverHeard is the time since the last answer of a server that has never answered.
const neverHeard = math.MaxInt64

// newHearing returns a record without answers. Heartbeats must read the clock at least once every pace.
func newHearing(servers int, pace time.Duration) hearing {
	clock := awake.NewClock(2*pace, time.Now)
	return hearing{clock: clock, began: clock.Now(), at: make([]atomic.Int64, servers),
		counts: make([]atomic.Uint64, servers)}
}

// now records an answer of a server.
func (h *hearing) now(server int) { h.at[server].Store(max(1, int64(h.clock.Since(h.began)))) }

// since returns the time since a server's last answer, or neverHeard.
func (h *hearing) since(server int) time.Duration {
	at := h.at[server].Load()
	if at == 0 {
		return neverHeard
	}
	return h.clock.Since(h.began) - time.Duration(at)
}
