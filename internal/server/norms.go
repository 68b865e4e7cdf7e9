package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// A rule that clips by lengths needs those of the whole gradient, of which each server has a part. In rounds every server makes
// the same updates in the same order: before each, all send the sums of squares of their parts to server 0, and go on with the
// sums of all. They are exact, so that every server scales by the same factors, whoever holds what.

// norms holds the per-round sums of squares that clipping by global norm needs.
type norms struct {
	clip optimizer.NormClipper // nil where servers have nothing to clip
	// byRound are, on server 0, the sums that have come.
	byRound map[mode.Round]*lengths
	// order are those rounds, oldest first.
	order []mode.Round
	// at is the last round, by server, that has sent its sums: it sends none for those before.
	at []mode.Round
	// over is since when every worker has gone; after a worker timeout more, sums that have not come never will.
	over  time.Time
	ended bool
}

// lengths are the sums of squares of one round, by param.
type lengths struct {
	sums []gradient.Squares
	have []bool // by server
}

// keepLengths is how many rounds are remembered beyond those that servers can be in, for servers that missed the answer and ask
// again.
const keepLengths = 4

// newNorms finds out whether servers clip: in other modes workers have.
func newNorms(c Config) (n norms, err error) {
	clip, clips := optimizer.ClipperOf(c.Rule)
	if !clips || !mode.Of(c.Strategy.Mode).Rounds {
		return n, nil
	}
	var ok bool
	if n.clip, ok = clip.(optimizer.NormClipper); !ok {
		return n, fmt.Errorf("server: %T wants the gradients of a round in one place, which servers share: mode sync takes clips that are "+
			"optimizer.NormClipper", clip)
	}
	n.byRound, n.at = map[mode.Round]*lengths{}, make([]mode.Round, len(c.Endpoints))
	return n, nil
}

// asks says whether an update has to wait for other servers.
func (s *Server) asks() bool { return s.norms.clip != nil && len(s.c.Endpoints) > 1 }

// lengths are the sums of all servers.
func (s *Server) lengths(r mode.Round, own []gradient.Squares) ([]gradient.Squares, error) {
	switch {
	case !s.asks():
		return own, nil
	case s.c.Index == 0:
		return s.gatherLengths(r, 0, own)
	}
	msg := wire.Norms{Server: s.c.Index, Round: uint64(r), Sums: gradient.AppendSquares(nil, own)}
	var all wire.Norms
	if err := s.ask(msg, &all); err != nil {
		return nil, fmt.Errorf("asking server 0 (%s) for the length of the gradient: %w", s.c.Endpoints[0], err)
	}
	return gradient.ParseSquares(all.Sums, len(own))
}

// ask sends this server's sums to server 0, again and again until all have sent theirs and it answers, or it can't be reached
// for a worker timeout.
func (s *Server) ask(msg wire.Norms, all *wire.Norms) error {
	ctx, cancel := context.WithTimeout(s.life, s.c.Strategy.WaitTimeout.Std())
	defer cancel()
	var b wire.Builder
	b.Reset(wire.Header{Op: wire.OpNorms, Job: s.job})
	if err := b.JSON(msg); err != nil {
		return err
	}
	heard := time.Now()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		answered, err := s.tellOnce(ctx, 0, b.Parts(), all)
		switch {
		case err == nil || answered:
			return err
		case errors.Is(err, context.DeadlineExceeded):
			heard, pause = time.Now(), time.Millisecond // it may be waiting for others
		case time.Since(heard) > s.c.Strategy.WorkerTimeout.Std():
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// takeNorms is server 0's part: it answers when every server has sent its sums of that round.
func (s *Server) takeNorms(f *wire.Frame, r *reply) error {
	var msg wire.Norms
	if err := f.JSON(&msg); err != nil {
		return err
	}
	if s.c.Index != 0 || !s.asks() || msg.Server <= 0 || msg.Server >= len(s.c.Endpoints) {
		return wire.Refuse(wire.StatusRefused, "server %d sums no lengths of server %d", s.c.Index, msg.Server)
	}
	sums, err := gradient.ParseSquares(msg.Sums, len(s.c.Layout.Params))
	if err != nil {
		return wire.Refuse(wire.StatusRefused, "server %d: %v", msg.Server, err)
	}
	all, err := s.gatherLengths(mode.Round(msg.Round), msg.Server, sums)
	if err != nil {
		return err
	}
	return r.JSON(wire.Norms{Round: msg.Round, Sums: gradient.AppendSquares(nil, all)})
}

// gatherLengths adds a server's sums to a round's, once however often they come, and waits for those of the others. One that has
// sent sums of a later round never closed this one: the death of a worker can do that.
func (s *Server) gatherLengths(r mode.Round, from int, own []gradient.Squares) ([]gradient.Squares, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.norms.of(r, len(own))
	if err != nil {
		return nil, err
	}
	switch {
	case l.have[from]:
	case s.norms.at[from] > r:
		return nil, wire.Refuse(wire.StatusStale, "server %d has gone on from round %v to %v", from, r, s.norms.at[from])
	default:
		l.have[from], s.norms.at[from] = true, max(s.norms.at[from], r)
		for i := range own {
			l.sums[i].Merge(&own[i])
		}
		s.broadcast()
	}
	err = s.await(func() bool { return len(s.norms.missing(r, l)) == 0 }, func() string {
		return fmt.Sprintf("for the length of round %v's gradient: missing %s", r, s.lacking(r, l))
	})
	return l.sums, err
}

// of are the sums of a round.
func (n *norms) of(r mode.Round, params int) (*lengths, error) {
	if l := n.byRound[r]; l != nil {
		return l, nil
	}
	if len(n.order) > 0 && r < n.order[0] {
		return nil, wire.Refuse(wire.StatusStale, "the gradient of round %v was measured long ago", r)
	}
	if len(n.order) == len(n.at)+keepLengths {
		delete(n.byRound, n.order[0])
		n.order = n.order[1:]
	}
	l := &lengths{sums: make([]gradient.Squares, params), have: make([]bool, len(n.at))}
	n.byRound[r] = l
	n.order = append(n.order, r)
	slices.Sort(n.order)
	return l, nil
}

// missing are the servers whose sums have not come and may come yet.
func (n *norms) missing(r mode.Round, l *lengths) (servers []int) {
	for i, have := range l.have {
		if !have && n.at[i] <= r && !n.ended {
			servers = append(servers, i)
		}
	}
	return servers
}

// lacking names them.
func (s *Server) lacking(r mode.Round, l *lengths) string {
	var names []string
	for _, i := range s.norms.missing(r, l) {
		names = append(names, fmt.Sprintf("server %d (%s)", i, s.c.Endpoints[i]))
	}
	return strings.Join(names, ", ")
}

// endNorms ends the wait for sums that no server will send: when the last worker has died with its push at some servers only, the others
// never close that round.
func (s *Server) endNorms() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n := &s.norms; {
	case !s.asks() || !s.over() || n.ended:
	case n.over.IsZero():
		n.over = time.Now()
	case time.Since(n.over) > s.c.Strategy.WorkerTimeout.Std():
		n.ended = true
		s.broadcast()
	}
}
