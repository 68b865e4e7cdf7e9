package transport

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// rooms are the budgets of the endpoints that are called: one each, so that a server that reads slowly holds up only
// the calls to itself. The listeners of a FastHTTP share one budget instead, since all their requests are in this
// process's memory. A job has a fixed set of endpoints, so no budget is ever removed.
type rooms struct {
	mu sync.Mutex
	to map[string]*budget
}

func (r *rooms) find(endpoint string) *budget {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to[endpoint] == nil {
		if r.to == nil {
			r.to = make(map[string]*budget)
		}
		r.to[endpoint] = new(budget)
	}
	return r.to[endpoint]
}

// enter waits until there is room for a request to an endpoint. It returns the budget to which the caller returns the
// bytes afterwards, nil for a small request.
func (f *FastHTTP) enter(ctx context.Context, endpoint string, size int) (*budget, error) {
	if size <= smallMessage {
		return nil, nil
	}
	limit, room := f.maxInFlight(), f.rooms.find(endpoint)
	t := room.charge(size, limit)
	if t == nil {
		return room, nil
	}
	start := time.Now()
	defer func() { f.calls.waited.Add(int64(time.Since(start))) }()
	select {
	case <-t.turn:
		return room, nil
	case <-ctx.Done():
	}
	if !room.giveUp(t, limit) {
		room.give(size, limit)
	}
	return nil, fmt.Errorf("%w: no room for %d bytes for %v: this process has requests of up to %d bytes under way "+
		"there (MaxInFlight), and the server is slow to take them: %w", ErrUnreachable, size, since(start), limit,
		ended(ctx))
}

// await waits for the ticket's turn, for at most patience or until closing closes, and reports whether the turn came.
func (b *budget) await(t *ticket, limit int64, patience time.Duration, closing <-chan struct{}) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-t.turn:
		return true
	case <-timer.C:
	case <-closing:
	}
	return !b.giveUp(t, limit) // or its turn came meanwhile
}

// admit waits until there is room to read a request of n bytes; without room in time it returns a refusal.
func (l *listener) admit(n int) *refusal {
	limit := l.f.maxInFlight()
	t := l.f.room.charge(n, limit)
	if t == nil {
		return nil
	}
	start := time.Now()
	in := l.f.room.await(t, limit, l.f.stallTimeout(), l.closing)
	l.f.serves.waited.Add(int64(time.Since(start)))
	if in {
		return nil
	}
	text := crowded(n, limit, start)
	select {
	case <-l.closing:
		text = "the server is closing"
	default:
	}
	return &refusal{fasthttp.StatusServiceUnavailable, &l.f.serves.busy, text}
}

func crowded(n int, limit int64, start time.Time) string {
	return fmt.Sprintf("no room for %d bytes for %v: the handlers hold requests up to the bound of %d bytes; "+
		"send less at once, or raise MaxInFlight on the server", n, since(start), limit)
}

// admit waits until there is room to decode a request to n bytes, as the transport below does for the bytes that it
// reads.
func (p *packet) admit(room *budget, n int, below Transport) error {
	limit, patience := 4*int64(LimitOf(below)), time.Minute
	if f, ok := below.(*FastHTTP); ok {
		limit, patience = f.maxInFlight(), f.stallTimeout()
	}
	if t := room.charge(n, limit); t != nil {
		start := time.Now()
		if !room.await(t, limit, patience, nil) {
			return fmt.Errorf("%w: %s", ErrBusy, crowded(n, limit, start))
		}
	}
	p.room, p.size, p.limit = room, n, limit
	return nil
}

func (l *listener) leave(n int) { l.f.room.give(n, l.f.maxInFlight()) }

func since(start time.Time) time.Duration { return time.Since(start).Round(time.Millisecond) }
