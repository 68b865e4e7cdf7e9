package nn

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// gate bounds how many rows are computed at a time. Of calls that wait the one of the fewest rows begins first, and
// large ones leave a part to others, so that a call of few rows does not wait for them.
type gate struct {
	most int // 0 is no bound

	mu      sync.Mutex // guards what follows
	busy    int        // rows
	waiting []*waiter  // by rows
}

// waiter is a call that waits until its channel is closed.
type waiter struct {
	rows int
	turn chan struct{}
}

// enter waits for room for a call; leave gives it back. A call of more rows than may be waits until no large one
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

// large is how many rows calls have at a time of which each has more than an eighth of all.
func (g *gate) large() int { return g.most - g.most/4 }

// change makes a change, and begins the calls that there is room for.
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
