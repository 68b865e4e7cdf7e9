package collective

import (
	"context"
	"fmt"
	"strings"
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
		if r == nil || time.Since(since) < g.c.ProbeInterval {
			continue
		}
		missing := r.missing()
		if time.Since(since) > sayEvery && time.Since(said) > sayEvery {
			said = time.Now()
			g.log.Warn("collective: waiting", "for", g.names(missing), "at", r.what.String(), "waited", time.Since(since).Round(time.Second))
		}
		g.probe(since)
	}
}

// probe asks all ranks at once, and ends the group if one has failed or been silent for too long.
func (g *Group) probe(since time.Time) {
	ctx, cancel := context.WithTimeout(g.life, g.c.ProbeInterval)
	defer cancel()
	q := g.request(verbProbe)
	_ = g.each(ctx, func(ctx context.Context, rank int) error {
		err := g.once(ctx, rank, [][]byte{q.append(nil)}, nil)
		if _, failed := err.(refusal); failed {
			g.fail(fmt.Errorf("collective: %s: %w", g.name(rank), err))
		} else if err != nil && g.silence(rank, since) > g.c.SilenceTimeout {
			g.fail(fmt.Errorf("%w: %s has not answered for %v: %w", ErrDead, g.name(rank), g.silence(rank, since).Round(time.Millisecond), err))
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
	return time.Since(since)
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
			last = fmt.Sprintf("last seen %v ago", time.Since(g.seen[r]).Round(time.Millisecond))
		}
		all[i] = fmt.Sprintf("rank %d (%s, %s)", r, g.c.Endpoints[r], last)
	}
	return strings.Join(all, ", ")
}
