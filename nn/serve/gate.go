package serve

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// gate bounds the number of rows that are computed at a time. Of waiting calls the one with the fewest rows begins
// first, and large calls leave a part of the bound to others, so that a call of few rows does not wait for them.
type gate struct {
	most int // 0 means no bound

	mu      sync.Mutex // guards the fields below
	busy    int        // rows
	waiting []*waiter  // by rows
}

// waiter is a call that waits until its channel is closed.
type waiter struct {
	rows int
	turn chan struct{}
}

// enter waits for room for a call; leave releases it. A call of more rows than the bound waits until no large call
// computes.
func (g *gate) enter(ctx context.Context, rows int) (leave func(), err error) {
	if g.most == 0 {
		return func() {}, nil
	}
	w := &waiter{min(rows, g.large()), make(chan struct{})}
	g.change(func() {
		at, _ := slices.BinarySearchFunc(g.waiting, w.rows+1,
			func(o *waiter, n int) int { return cmp.Compare(o.rows, n) })
		g.waiting = slices.Insert(g.waiting, at, w)
	})
	select {
	case <-w.turn:
		return func() { g.change(func() { g.busy -= w.rows }) }, nil
	case <-ctx.Done():
	}
	g.change(func() {
		if i := slices.Index(g.waiting, w); i >= 0 {
			g.waiting = slices.Delete(g.waiting, i, i+1)
		} else { // its turn came meanwhile
			g.busy -= w.rows
		}
	})
	return nil, ctx.Err()
}

// large is the bound on the rows of calls that each have more than an eighth of all.
func (g *gate) large() int { return g.most - g.most/4 }

// change makes a change with the lock held, and then begins the calls for which there is room.
func (g *gate) change(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for do(); len(g.waiting) > 0; g.waiting = g.waiting[1:] {
		w, most := g.waiting[0], g.most
		if w.rows > g.most/8 {
			most = g.large()
		}
		if g.busy+w.rows > most {
			return
		}
		g.busy += w.rows
		close(w.turn)
	}
}
