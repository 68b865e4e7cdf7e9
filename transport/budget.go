package transport

import (
	"slices"
	"sync"
)

// budget bounds bytes in flight. A message without room waits: first come, first served, so that a large message is not
// overtaken for ever. Messages up to smallMessage never wait, so that heartbeats get through; they are counted, and may
// take used over the limit.
//
// The holder of a message gives back once each byte that take or admit has charged: a caller when its round trip is
// over, a listener when the answer has been sent or can't be. A ticket that is given up after its turn came has been
// charged, which giveUp reports.
type budget struct {
	mu      sync.Mutex
	used    int64
	waiting []*ticket
}

const smallMessage = 64 << 10

// ticket is a place in the queue of a budget.
type ticket struct {
	cost int64
	turn chan struct{} // closed when the cost has been charged
}

// charge charges n bytes, or returns a ticket to wait with. A message over the limit costs the limit: it goes alone.
func (b *budget) charge(n int, limit int64) *ticket {
	cost := min(int64(n), limit)
	b.mu.Lock()
	defer b.mu.Unlock()
	if n <= smallMessage || len(b.waiting) == 0 && b.used+cost <= limit {
		b.used += cost
		return nil
	}
	t := &ticket{cost: cost, turn: make(chan struct{})}
	b.waiting = append(b.waiting, t)
	return t
}

// give returns what take charged for n bytes.
func (b *budget) give(n int, limit int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= min(int64(n), limit)
	b.admit(limit)
}

// admit admits the waiting messages whose turn has come. The caller holds mu.
func (b *budget) admit(limit int64) {
	for len(b.waiting) > 0 && b.used+b.waiting[0].cost <= limit {
		b.used += b.waiting[0].cost
		close(b.waiting[0].turn)
		b.waiting = slices.Delete(b.waiting, 0, 1)
	}
}

// giveUp ends a wait, and reports whether it was in time: otherwise the turn had come, and the charge must be given
// back.
func (b *budget) giveUp(t *ticket, limit int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, t)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	b.admit(limit) // a smaller message behind it may fit now
	return true
}
