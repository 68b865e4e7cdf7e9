package collective

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// sayEvery is how often a wait is logged.
const sayEvery = 10 * time.Second

// watch asks ranks that are waited for whether they live, until the group ends.
func (g *Group) watch() {
	tick := time.NewTicker(g.c.ProbeInterval)
	defer tick.Stop()
	said := time.Now()
	for {
		select {
		case <-g.life.Done():
			return
		case <-tick.C:
		}
		r, since := g.current()
		waited := g.clock.Since(since)
		if r == nil || waited < g.c.ProbeInterval {
			continue
		}
		if waited > sayEvery && time.Since(said) > sayEvery {
			said = time.Now()
			g.log.Warn("collective: waiting", "for", g.names(r.missing()), "at", r.what.String(),
				"waited", waited.Round(time.Second))
		}
		g.probe(since)
	}
}

// refusedProbes is how many probes a rank's machine may answer with the news that nobody listens there. A rank listens as long as it
// takes part, so its process has ended.
const refusedProbes = 3

// probe asks all ranks at once, and ends the group if one has failed, has ended, or been silent for too long.
func (g *Group) probe(since time.Time) {
	ctx, cancel := context.WithTimeout(g.life, g.c.ProbeInterval)
	defer cancel()
	q := g.request(verbProbe)
	_ = g.each(ctx, func(ctx context.Context, rank int) error {
		err, silent := g.once(ctx, rank, [][]byte{q.append(nil)}, nil), g.silence(rank, since)
		if _, failed := err.(refusal); failed {
			g.fail(fmt.Errorf("collective: %s: %w", g.name(rank), err))
		} else if err != nil && silent > g.c.SilenceTimeout {
			g.fail(fmt.Errorf("%w: %s has not answered for %v: %w", ErrDead, g.name(rank), silent.Round(time.Millisecond), err))
		} else if errors.Is(err, syscall.ECONNREFUSED) && silent > refusedProbes*g.c.ProbeInterval {
			g.fail(fmt.Errorf("%w: %s has ended: nobody listens there any more", ErrDead, g.name(rank)))
		}
		return nil
	})
}

// silence is how long a rank has said nothing, counted from since at the earliest.
func (g *Group) silence(rank int, since time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen[rank].After(since) {
		since = g.seen[rank]
	}
	return g.clock.Since(since)
}

// names lists ranks, with their endpoints and when they were last heard of.
func (g *Group) names(ranks []int) string {
	if len(ranks) == 0 {
		return "nobody"
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]string, len(ranks))
	for i, r := range ranks {
		last := "never seen"
		if !g.seen[r].IsZero() {
			last = fmt.Sprintf("last seen %v ago", g.clock.Since(g.seen[r]).Round(time.Millisecond))
		}
		all[i] = fmt.Sprintf("rank %d (%s, %s)", r, g.c.Endpoints[r], last)
	}
	return strings.Join(all, ", ")
}
