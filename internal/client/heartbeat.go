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

// endedAfter is how long nothing listens at a server's endpoint before it has ended.
const endedAfter = 2 * time.Second

// stuckAfter is how long heartbeats may stand still, at least, before this process does not live.
const stuckAfter = 30 * time.Second

// beatTo shows a server that this worker lives until the client ends, and ends it when the server does not. Where
// nothing listens it looks more often. It runs on a goroutine of its own for each server, from the server's answer to
// hello until the link ends. It fails the client for a server that has ended, refuses this worker, or was silent for
// the strategy's ServerTimeout.
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
		if l.ctx.Err() != nil { // select had both to choose from
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

// endedAfter is how long nothing listens at a server's endpoint before it has ended for good: one with a journal comes
// back.
func (l *link) endedAfter() time.Duration {
	if l.strategy.Recovery.Journal != "" {
		return l.strategy.ServerTimeout().Std()
	}
	return min(endedAfter, l.strategy.WorkerTimeout.Std()/4)
}

// paceOf is the pace of heartbeats to a server. A server where nothing listens is asked four times as often, so that
// its end is known soon.
func paceOf(absent peer.Absence, pace time.Duration) time.Duration {
	if absent != (peer.Absence{}) {
		return pace / 4
	}
	return pace
}

// pingTimeout is how long a server may take to answer what it need not think about: a fraction of the worker timeout,
// so that messages lost without a word are not silence yet.
func (l *link) pingTimeout() time.Duration { return l.strategy.WorkerTimeout.Std() / 10 }

// ping sends one heartbeat and reads what the server reports. The frame carries how many requests this server has
// acknowledged for good, and how many of this worker's requests have waited long; both are counters in fields of the
// header that heartbeats do not use otherwise. A report for the page that the server asked for goes with one heartbeat
// only: if a network loses large messages, the next heartbeat is small.
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
	if show := wire.Show(l.shows[server].Swap(0)); show != wire.ShowNothing && l.tells != nil {
		text := l.tells(show == wire.ShowAll)
		b.Blob(text)
		l.meter.links[server].sent.Add(-int64(len(text))) // a report is no traffic of the job
	}
	_, err := l.once(ctx, server, b.Parts(), func(f *wire.Frame) error { return l.told(server, f) })
	return err
}

// told reads what a server says in its answer to a heartbeat, if it says anything. It keeps what the server waits for,
// for messages of requests that wait. A wish for a checkpoint goes to asked, which has room for one: a second wish says
// nothing new.
func (l *link) told(server int, f *wire.Frame) error {
	var msg wire.Beat
	if _, says := f.Blob(); says {
		if err := f.JSON(&msg); err != nil {
			return err
		}
	}
	l.shows[server].Store(int32(msg.Show))
	if l.waits.told[server].Store(&msg); !msg.Save {
		return nil
	}
	select {
	case l.asked <- struct{}{}:
	default: // the worker that saves knows
	}
	return nil
}

// isRefusal says whether a server has answered with a refusal that repeating does not change. A server that is not
// ready yet has not refused.
func isRefusal(err error) bool {
	var r *wire.Refusal
	return errors.As(err, &r) && r.Status != wire.StatusNotReady
}

// fail ends the client, unless it is leaving anyway: then servers may be gone. All requests under way end with err, and
// so does each that follows. Only the first error counts.
func (l *link) fail(err error) {
	if !l.leaving.Load() {
		l.log.Error("training can't go on", "error", err)
		l.end(err)
	}
}

// hearing remembers when each server last did what it was asked, by a clock that stands still while this process does:
// who wakes up has not been kept waiting. The heartbeats read it.
type hearing struct {
	clock *awake.Clock
	began time.Time      // of the clock
	at    []atomic.Int64 // by server: nanoseconds since then, 0 for never
	// counts are, by server, what it has answered that counts there for good.
	counts []atomic.Uint64
}

// neverHeard is how long ago a server answered that has not.
const neverHeard = math.MaxInt64

// newHearing has heard of no server. pace is the time within which heartbeats are sure to read the clock.
func newHearing(servers int, pace time.Duration) hearing {
	clock := awake.NewClock(2*pace, time.Now)
	return hearing{clock: clock, began: clock.Now(), at: make([]atomic.Int64, servers),
		counts: make([]atomic.Uint64, servers)}
}

// now notes a sign of life of a server.
func (h *hearing) now(server int) { h.at[server].Store(max(1, int64(h.clock.Since(h.began)))) }

// since is how long ago that was.
func (h *hearing) since(server int) time.Duration {
	at := h.at[server].Load()
	if at == 0 {
		return neverHeard
	}
	return h.clock.Since(h.began) - time.Duration(at)
}
