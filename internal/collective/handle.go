package collective

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/transport"
)

// handle answers one message of another rank.
func (g *Group) handle(msg []byte, reply *transport.Reply) {
	var q request
	body, err := q.parse(msg)
	if err == nil && (q.ranks != g.Ranks() || q.rank < 0 || q.rank >= q.ranks || q.rank == g.c.Rank) {
		err = fmt.Errorf("%w: it is of rank %d of %d, this is rank %d of %d: give every rank the same endpoints",
			ErrMessage, q.rank, q.ranks, g.c.Rank, g.Ranks())
	}
	if err != nil {
		refuse(reply, statusRefused, err)
		return
	}
	g.members.see(q.rank)
	switch q.verb {
	case verbJoin:
		err = g.welcome(&q, reply)
	case verbPart:
		err = g.part(&q, body, reply)
	case verbProbe:
		err = g.alive(&q)
		ok(reply, answer{number: g.rounds.at()})
	case verbAbort:
		err = g.aborted(&q, string(body))
		ok(reply, answer{})
	case verbBye:
		err = g.farewell(&q)
		ok(reply, answer{})
	default:
		err = fmt.Errorf("%w: verb %d", ErrMessage, q.verb)
	}
	switch {
	case g.life.Err() != nil && err != nil:
		refuse(reply, statusFailed, context.Cause(g.life))
	case err != nil:
		refuse(reply, statusRefused, err)
	}
}

func ok(reply *transport.Reply, a answer) { reply.Parts = [][]byte{a.bytes()} }

func refuse(reply *transport.Reply, s status, err error) {
	a := answer{status: s}
	reply.Parts = [][]byte{a.bytes(), []byte(err.Error())}
}

// alive returns an error for a message after the group's end, or of another generation.
func (g *Group) alive(q *request) error {
	if g.life.Err() != nil {
		return context.Cause(g.life)
	}
	return g.members.check(q)
}

// part answers a rank's part of a collective with the result, once that is complete.
func (g *Group) part(q *request, body []byte, reply *transport.Reply) error {
	r, err := g.await(q)
	if err != nil {
		return err
	}
	if r.what != q.what {
		return g.fail(fmt.Errorf("%w: %s is at %v, %s at %v: all must make the same calls in the same order", ErrOrder,
			g.members.name(q.rank), q.what, g.members.name(g.c.Rank), r.what))
	}
	if body, err = r.check(q, body); err != nil {
		return err
	}
	if r.what.op == opGather {
		r.hear(q.rank)
		a := answer{number: uint64(len(r.result))}
		reply.Parts, reply.Done = [][]byte{a.bytes(), r.read(q.chunk)}, r.doneReading
		return nil
	}
	if err := r.give(g.life, q.rank, q.chunk, q.part, body); err != nil {
		return err
	}
	m := r.members(q.chunk)
	a := answer{number: r.what.number, weight: m.Weight, ended: m.Ended}
	reply.Parts = [][]byte{a.bytes(), r.read(q.chunk)}
	reply.Done = r.doneReading
	return nil
}

// await waits until this rank has reached the collective of a message, and returns its round.
func (g *Group) await(q *request) (*round, error) {
	for {
		r, changed, late := g.rounds.find(q.what.number)
		if err := g.alive(q); err != nil { // checked after find returned the channel, which a new generation closes
			return nil, err
		}
		if r != nil || late != nil {
			return r, late
		}
		select {
		case <-changed:
		case <-g.life.Done():
			return nil, context.Cause(g.life)
		}
	}
}

// aborted ends the group because another rank's has ended.
func (g *Group) aborted(q *request, reason string) error {
	if err := g.alive(q); err != nil {
		return err
	}
	g.fail(g.members.about(q.rank, fmt.Errorf("%w: %s failed: %s", ErrDead, g.members.name(q.rank), reason)))
	return nil
}

// farewell records that a rank needs no more answers.
func (g *Group) farewell(q *request) error {
	if err := g.alive(q); err != nil {
		return err
	}
	g.members.parted(q.rank)
	return nil
}

// welcome answers a rank that joins with this one's life.
func (g *Group) welcome(q *request, reply *transport.Reply) error {
	if err := g.members.knows(q.rank, q.generation); err != nil {
		return g.fail(err)
	}
	if g.life.Err() != nil {
		return context.Cause(g.life)
	}
	ok(reply, answer{number: g.members.self})
	return nil
}
