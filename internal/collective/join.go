package collective

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var errLate = errors.New("collective: the time is over")

// Join waits until every rank has joined, at most Config.StartTimeout, and begins to probe them.
func (g *Group) Join(ctx context.Context) error {
	bounded, release := g.link.bound(ctx, g.c.StartTimeout, errLate)
	defer release()
	began, arrived := time.Now(), g.arrivals()
	stop := g.sayMissing(arrived)
	defer stop()
	err := g.link.each(bounded, func(ctx context.Context, rank int) error {
		q := g.members.request(verbJoin)
		q.generation = g.members.self
		err := g.link.call(ctx, rank, [][]byte{q.bytes()}, g.c.StartTimeout, func(a answer, _ []byte) error {
			return g.members.knows(rank, a.number)
		})
		if err == nil {
			arrived.arrive(rank)
		}
		return err
	})
	if errors.Is(err, errLate) {
		missing := arrived.missing()
		err = fmt.Errorf("%w: waited %v for %s to start (the last attempt: %v)",
			ErrDead, time.Since(began).Round(time.Millisecond), g.members.names(missing), g.members.why(missing))
	}
	if err != nil {
		return g.fail(err)
	}
	g.members.complete()
	g.rounds.wake() // messages that wait may be of another generation
	g.serving.Go(g.watch)
	return nil
}

// joinSayEvery is the interval of log lines about ranks that have not joined.
const joinSayEvery = 3 * time.Second

// sayMissing logs every few seconds which ranks have not joined, until stop is called.
func (g *Group) sayMissing(a *arrivals) (stop func()) {
	ended, began := make(chan struct{}), time.Now()
	var saying sync.WaitGroup
	saying.Go(func() {
		tick := time.NewTicker(joinSayEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				missing := a.missing()
				g.log.Warn("worker not ready, still waiting", "not ready", g.members.names(missing),
					"waited", time.Since(began).Round(time.Second), "why", g.members.why(missing))
			case <-ended:
				return
			}
		}
	})
	return func() {
		close(ended)
		saying.Wait()
	}
}

// arrivals records which ranks have joined.
type arrivals struct {
	mu    sync.Mutex
	there []bool
}

func (g *Group) arrivals() *arrivals {
	a := &arrivals{there: make([]bool, g.Ranks())}
	a.there[g.c.Rank] = true
	return a
}

func (a *arrivals) arrive(rank int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.there[rank] = true
}

func (a *arrivals) missing() (ranks []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for r, there := range a.there {
		if !there {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// Leave waits until every rank has called it, and ends the group. After an error, of Leave or before, the group has
// ended too. It may be called twice.
func (g *Group) Leave(ctx context.Context) error {
	if g.left.Load() {
		return nil
	}
	err := g.Barrier(ctx)
	if err == nil {
		g.sayGoodbye(ctx)
	}
	return errors.Join(err, g.Close(ctx, nil))
}

// goodbyeTime is how long a rank stays for others that may have to ask again for the last result. A rank that has given
// no answer for goneTime has left already.
const (
	goodbyeTime = 10 * time.Second
	goneTime    = time.Second
)

// sayGoodbye sends the others that this rank needs no more answers, and waits until all have sent the same, for at most
// goodbyeTime.
func (g *Group) sayGoodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, goodbyeTime)
	defer cancel()
	q := g.members.request(verbBye)
	_ = g.link.each(ctx, func(ctx context.Context, rank int) error {
		if g.link.call(ctx, rank, [][]byte{q.bytes()}, goneTime, nil) != nil {
			g.members.parted(rank)
		}
		return nil
	})
	if g.Ranks() == 1 {
		return
	}
	select {
	case <-g.members.byes:
	case <-g.life.Done():
	case <-ctx.Done():
	}
}

// abort makes one attempt to send the other ranks why this rank has failed.
func (g *Group) abort(ctx context.Context, reason error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	q := g.members.request(verbAbort)
	_ = g.link.each(ctx, func(ctx context.Context, rank int) error {
		_ = g.link.once(ctx, rank, [][]byte{q.bytes(), []byte(reason.Error())}, nil) // the silence shows it
		return nil
	})
}

// Fail ends the group and sends the reason to the other ranks.
func (g *Group) Fail(ctx context.Context, reason error) {
	g.end(reason)
	g.told.Do(func() { g.abort(ctx, reason) })
}
