package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// clipping computes the norms of whole gradients for updates, if a rule clips by them and several servers hold parts of
// the gradient: server 0 sums, the others send it their parts.
//
// All servers make the same updates in the same order, since workers send every push to every server, and rounds close
// alike. So each server's request for a round meets the requests of all others, and no server waits for one that waits
// for another round. The one exception is a worker's death, when a round may close on some servers alone; package
// roster describes that, and norms the consequence. A single server, or a rule without a norm, needs none of this.
type clipping struct {
	// summed is the record of a round's sums, to which all servers have contributed.
	st     *state.Job
	peers  *state.Peers
	summed state.Event[wire.Norms]
	// by is the rule's clip; nil if servers clip nothing, because workers have clipped or the rule does not clip.
	by optimizer.NormClipper
	// params is the number of params in the layout; sums are indexed by param.
	params int
	// norms is guarded by the lock.
	norms norms           // on server 0
	life  context.Context // ends when the server closes or the job fails
	// limit bounds a request to server 0, which answers when the slowest server has closed the round.
	limit time.Duration // of a wait for the others
}

// register makes complete sums survive a kill, for a server that missed them and asks again. Incomplete sums are in no
// record: their servers wait for an answer, and send them again.
func (c *clipping) register(m *state.Memory) {
	state.TryFact(m, "norms", func() (all []wire.Norms) {
		for _, r := range c.norms.order {
			if l := c.norms.byRound[r]; l.noted {
				all = append(all, l.saved(r))
			}
		}
		return all
	}, func(all []wire.Norms) (err error) {
		for _, n := range all {
			err = errors.Join(err, c.recall(n))
		}
		return err
	})
	c.summed = state.TryEvent(m, "norms", func(_ context.Context, n wire.Norms) error { return c.recall(n) })
}

// recall restores the complete sums of a round. The caller holds the lock. From then on no server is waited for in that
// round or an earlier one.
func (c *clipping) recall(n wire.Norms) error {
	sums, err := gradient.ParseSquares(n.Sums, c.params)
	if err != nil {
		return err
	}
	l, err := c.norms.of(mode.Round(n.Round), c.params)
	if err != nil {
		return err
	}
	l.sums, l.noted = sums, true
	for i := range l.have {
		l.have[i], c.norms.at[i] = true, max(c.norms.at[i], mode.Round(n.Round))
	}
	return nil
}

// clipOf is the clip that servers apply under a rule, nil if they apply none: in modes without rounds workers have
// clipped what they push. A clip that needs all gradients in one place is an error, which New returns.
func clipOf(rule optimizer.Rule, m mode.Traits) (optimizer.NormClipper, error) {
	clip, clips := rules.ClipperOf(rule)
	if !clips || !m.Rounds {
		return nil, nil
	}
	by, ok := clip.(optimizer.NormClipper)
	if !ok {
		return nil, fmt.Errorf("server: %T wants the gradients of a round in one place, which servers share: mode "+
			"sync takes clips that are optimizer.NormClipper", clip)
	}
	return by, nil
}

// needsPeers reports whether updates have to wait for other servers, and are made on goroutines of their own. It never
// changes.
func (c *clipping) needsPeers() bool { return c.by != nil && len(c.peers.Endpoints) > 1 }

// sum adds the other servers' sums of squares of a round's gradient to this server's, by param. It is called while an
// update is applied, without the lock, and waits for the other servers: on server 0 in gather, elsewhere for the answer
// to a repeated request. An error fails the job.
func (c *clipping) sum(r mode.Round, own []gradient.Squares) ([]gradient.Squares, error) {
	if c.peers.Index == 0 {
		return c.gather(r, 0, own)
	}
	ctx, cancel := context.WithTimeout(c.life, c.limit)
	defer cancel()
	var all wire.Norms
	msg := wire.Norms{Server: c.peers.Index, Round: uint64(r), Sums: gradient.AppendSquares(nil, own)}
	if err := c.peers.Ask(ctx, wire.OpNorms, msg, &all); err != nil {
		what := fmt.Sprintf("the norm of round %v's gradient", r)
		return nil, c.peers.About(0, what, fmt.Errorf("%s: %w", what, err))
	}
	return gradient.ParseSquares(all.Sums, len(own))
}

// handle answers another server, on server 0, when every server has sent its sums of that round. It answers repeated
// requests as long as norms keeps the round.
func (c *clipping) handle(_ *wire.Frame, msg *wire.Norms, r *state.Reply) error {
	if c.peers.Index != 0 || !c.needsPeers() || msg.Server <= 0 || msg.Server >= len(c.peers.Endpoints) {
		return wire.Refuse(wire.StatusRefused, "server %d asked server %d for norms, which it does not sum", msg.Server,
			c.peers.Index)
	}
	sums, err := gradient.ParseSquares(msg.Sums, c.params)
	if err != nil {
		return wire.Refuse(wire.StatusRefused, "server %d: %v", msg.Server, err)
	}
	all, err := c.gather(mode.Round(msg.Round), msg.Server, sums)
	if err != nil {
		return err
	}
	return r.JSON(wire.Norms{Round: msg.Round, Sums: gradient.AppendSquares(nil, all)})
}

// gather adds a server's sums to a round's and waits for the others'. It has no bound but the wait timeout: a server
// that closes the round late makes all wait.
func (c *clipping) gather(r mode.Round, from int, own []gradient.Squares) ([]gradient.Squares, error) {
	c.st.Lock()
	defer c.st.Unlock()
	l, err := c.norms.add(r, from, own)
	if err != nil {
		return nil, err
	}
	c.st.Broadcast()
	err = c.st.Await(func() bool { return len(c.norms.missing(r, l)) == 0 }, func() string {
		return fmt.Sprintf("for the norm of round %v's gradient: missing %s", r, c.lacking(r, l))
	})
	if missing := c.norms.missing(r, l); err != nil && c.st.Failure == nil && len(missing) > 0 {
		err = c.peers.About(missing[0], fmt.Sprintf("the norm of round %v's gradient", r), err)
	}
	if err == nil && !l.noted {
		l.noted = true
		c.summed.Note(l.saved(r))
		err = c.st.Failure
	}
	return l.sums, err
}

// lacking names the servers that a round's norm waits for, for a person. The caller holds the lock.
func (c *clipping) lacking(r mode.Round, l *roundNorms) string {
	var names []string
	for _, i := range c.norms.missing(r, l) {
		names = append(names, fmt.Sprintf("server %d (%s)", i, c.peers.Endpoints[i]))
	}
	return strings.Join(names, ", ")
}

// expire ends the wait for sums that no server will send, when every worker has been gone for the peers' timeout.
// Server 0's watch for deaths calls it at each tick.
func (c *clipping) expire() {
	c.st.Lock()
	defer c.st.Unlock()
	if c.needsPeers() && c.st.Roster.Hope.Over() && c.norms.expire(time.Now(), c.peers.Timeout) {
		c.st.Broadcast()
	}
}
