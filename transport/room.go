package transport

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// rooms are the budgets of the endpoints that are called.
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

// enter waits until there is room for a request on its way to an endpoint. The caller gives back to the budget it returns,
// nil for a small request.
func (f *FastHTTP) enter(ctx context.Context, endpoint string, size int) (*budget, error) {
	if size <= smallMessage {
		return nil, nil
	}
	limit, room := f.maxInFlight(), f.rooms.find(endpoint)
	t := room.take(size, limit)
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
	return nil, fmt.Errorf("%w: no room for %d bytes for %v: this process has requests of up to %d bytes under way there "+
		"(MaxInFlight), and the server is slow to take them: %w", ErrUnreachable, size, since(start), limit, ended(ctx))
}

// admit waits until there is room to read a request of n bytes. If there is none in time it says why; leave frees the room.
func (l *listener) admit(n int) *refusal {
	limit := l.f.maxInFlight()
	t := l.f.room.take(n, limit)
	if t == nil {
		return nil
	}
	start, timer := time.Now(), time.NewTimer(l.f.stallTimeout())
	defer timer.Stop()
	defer func() { l.f.serves.waited.Add(int64(time.Since(start))) }()
	select {
	case <-t.turn:
		return nil
	case <-timer.C:
	case <-l.closing:
	}
	if !l.f.room.giveUp(t, limit) {
		return nil // its turn came just now
	}
	return &refusal{fasthttp.StatusServiceUnavailable, &l.f.serves.busy, fmt.Sprintf("no room for %d bytes for %v: the handlers "+
		"hold requests up to the bound of %d bytes; send less at once, or raise MaxInFlight on the server", n, since(start), limit)}
}

func (l *listener) leave(n int) { l.f.room.give(n, l.f.maxInFlight()) }

func since(start time.Time) time.Duration { return time.Since(start).Round(time.Millisecond) }
