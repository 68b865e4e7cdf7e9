package collective

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// sayEvery is the interval of log lines about a wait.
const sayEvery = 10 * time.Second

// watch probes all ranks while a collective waits, until the group ends.
func (g *Group) watch() {
	tick := time.NewTicker(g.c.ProbeInterval)
	defer tick.Stop()
	pulse := g.c.Pulses.Begin("nobody asks after the other ranks", max(g.c.SilenceTimeout, 30*g.c.ProbeInterval))
	defer pulse.End()
	said := time.Now()
	for {
		select {
		case <-g.life.Done():
			return
		case <-tick.C:
		}
		pulse.Beat()
		r, since := g.rounds.current()
		waited := g.members.clock.Since(since)
		if r == nil || waited < g.c.ProbeInterval {
			continue
		}
		if waited > sayEvery && time.Since(said) > sayEvery {
			said = time.Now()
			g.log.Warn("collective: waiting", "for", g.members.names(r.missing()), "at", r.what.String(),
				"waited", waited.Round(time.Second))
		}
		g.probe(since)
	}
}

// refusedProbes is for how many probe intervals a rank's machine may refuse connections. A rank listens as long as it
// takes part, so its process has ended.
const refusedProbes = 3

// probe probes all ranks at once, and ends the group if a rank has failed, has ended, or has been silent for too long.
func (g *Group) probe(since time.Time) {
	ctx, cancel := context.WithTimeout(g.life, g.c.ProbeInterval)
	defer cancel()
	q := g.members.request(verbProbe)
	_ = g.link.each(ctx, func(ctx context.Context, rank int) error {
		err, silent := g.link.once(ctx, rank, [][]byte{q.bytes()}, nil), g.members.silence(rank, since)
		if _, failed := err.(refusal); failed {
			g.fail(g.members.about(rank, fmt.Errorf("collective: %s: %w", g.members.name(rank), err)))
		} else if err != nil && silent > g.c.SilenceTimeout {
			g.fail(g.members.about(rank, fmt.Errorf("%w: %s has not answered for %v: %w", ErrDead, g.members.name(rank),
				silent.Round(time.Millisecond), err)))
		} else if errors.Is(err, syscall.ECONNREFUSED) && silent > refusedProbes*g.c.ProbeInterval {
			g.fail(g.members.about(rank, fmt.Errorf("%w: %s has ended: nobody listens there any more", ErrDead,
				g.members.name(rank))))
		}
		return nil
	})
}

// Waits returns the collective at which this rank waits, the ranks it waits for and for how long; "" if it waits for
// none. If no ranks are missing, some may be slow.
func (g *Group) Waits() (at string, ranks []int, waited time.Duration) {
	r, since := g.rounds.current()
	if r == nil {
		return "", nil, 0
	}
	return "at " + r.what.String(), r.missing(), g.members.clock.Since(since)
}
