package server

import (
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
)

// norms holds, on server 0, the per-round sums of squares that clipping by global norm needs: a machine without clock,
// lock or network.
//
// Each server sends the sums of its part of a round's gradient before it makes the round's update, and goes on with the
// sums of all. They are needed until every server has them, and a server that missed the answer asks again. A server
// that never closes a round, which a worker's death can cause, sends nothing for it: one that has sent sums of a later
// round is not waited for.
type norms struct {
	byRound map[mode.Round]*roundNorms
	order   []mode.Round // the rounds, oldest first
	at      []mode.Round // the last round, by server, that has sent its sums: it sends none for earlier ones
	// over is the time since which every worker is gone; after a timeout, missing sums will never come, and ended is
	// set.
	over  time.Time
	ended bool
}

// roundNorms are the sums of squares of one round, by param. They are complete when have is true for every server that
// may send any.
type roundNorms struct {
	sums  []gradient.Squares
	have  []bool // by server
	noted bool   // in the journal
}

// keepNorms is how many rounds are remembered beyond those that servers can be in, for servers that missed the answer
// and ask again.
const keepNorms = 4

// newNorms has no round yet.
func newNorms(servers int) norms {
	return norms{byRound: map[mode.Round]*roundNorms{}, at: make([]mode.Round, servers)}
}

// add adds a server's sums to a round's, once however often they come. from is the server, and own is merged, not kept.
// A server that has sent sums of a later round is refused: it would be counted with a round that it has not closed.
func (n *norms) add(r mode.Round, from int, own []gradient.Squares) (*roundNorms, error) {
	l, err := n.of(r, len(own))
	switch {
	case err != nil:
		return nil, err
	case l.have[from]:
		return l, nil
	case n.at[from] > r:
		return nil, wire.Refuse(wire.StatusStale, "server %d has gone on from round %v to %v", from, r, n.at[from])
	}
	l.have[from], n.at[from] = true, max(n.at[from], r)
	for i := range own {
		l.sums[i].Merge(&own[i])
	}
	return l, nil
}

// of returns the sums of a round. A new round replaces the oldest one if as many are kept as servers can be in, plus
// keepNorms.
func (n *norms) of(r mode.Round, params int) (*roundNorms, error) {
	if l := n.byRound[r]; l != nil {
		return l, nil
	}
	if len(n.order) > 0 && r < n.order[0] {
		return nil, wire.Refuse(wire.StatusStale, "the norm of round %v was summed long ago", r)
	}
	if len(n.order) == len(n.at)+keepNorms {
		delete(n.byRound, n.order[0])
		n.order = n.order[1:]
	}
	l := &roundNorms{sums: make([]gradient.Squares, params), have: make([]bool, len(n.at))}
	n.byRound[r] = l
	n.order = append(n.order, r)
	slices.Sort(n.order)
	return l, nil
}

// saved returns a round's sums as the journal records them.
func (l *roundNorms) saved(r mode.Round) wire.Norms {
	return wire.Norms{Round: uint64(r), Sums: gradient.AppendSquares(nil, l.sums)}
}

// missing returns the servers whose sums of a round have not come and may still come. It is empty when the sums are
// complete, or will not become more complete.
func (n *norms) missing(r mode.Round, l *roundNorms) (servers []int) {
	for i, have := range l.have {
		if !have && n.at[i] <= r && !n.ended {
			servers = append(servers, i)
		}
	}
	return servers
}

// expire notes that every worker is gone. It returns true once, when so much time has passed since then that no server
// will send sums any more: if the last worker died with its push at some servers only, the others never close that
// round. now is any clock's time, the same clock in all calls.
func (n *norms) expire(now time.Time, timeout time.Duration) bool {
	switch {
	case n.ended:
		return false
	case n.over.IsZero():
		n.over = now
	}
	n.ended = now.Sub(n.over) > timeout
	return n.ended
}
