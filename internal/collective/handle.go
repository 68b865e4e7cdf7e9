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
		err = fmt.Errorf("%w: it is of rank %d of %d, this is rank %d of %d: give every rank the same endpoints", ErrMessage, q.rank,
			q.ranks, g.c.Rank, g.Ranks())
	}
	if err != nil {
		refuse(reply, statusRefused, err)
		return
	}
	g.see(q.rank)
	switch q.verb {
	case verbJoin:
		err = g.welcome(&q, reply)
	case verbPart:
		err = g.part(&q, body, reply)
	case verbProbe:
		err = g.alive(&q)
		g.ok(reply, answer{number: g.at()})
	case verbAbort:
		err = g.aborted(&q, string(body))
		g.ok(reply, answer{})
	case verbBye:
		err = g.farewell(&q)
		g.ok(reply, answer{})
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

func (g *Group) ok(reply *transport.Reply, a answer) { reply.Parts = [][]byte{a.append(nil)} }

func refuse(reply *transport.Reply, s status, err error) {
	a := answer{status: s}
	reply.Parts = [][]byte{a.append(nil), []byte(err.Error())}
}

// see notes a sign of life.
func (g *Group) see(rank int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen[rank] = g.clock.Now()
}

func (g *Group) at() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.number
}

// alive checks that a message is of this group's generation; until that is known, of any. A rank that has not joined has none, and
// may ask and give up.
func (g *Group) alive(q *request) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.life.Err() != nil {
		return context.Cause(g.life)
	}
	early := q.generation == 0 && (q.verb == verbProbe || q.verb == verbAbort)
	if g.generation != 0 && q.generation != g.generation && !early {
		return fmt.Errorf("%w: generation %x, this one is %x: a process of an earlier job", ErrMessage, q.generation, g.generation)
	}
	return nil
}

// part answers a rank's part of a collective with the result.
func (g *Group) part(q *request, body []byte, reply *transport.Reply) error {
	r, err := g.await(q)
	if err != nil {
		return err
	}
	if r.what != q.what {
		return g.fail(fmt.Errorf("%w: %s is at %v, %s at %v: all must make the same calls in the same order", ErrOrder,
			g.name(q.rank), q.what, g.name(g.c.Rank), r.what))
	}
	if err := r.check(q, body); err != nil {
		return err
	}
	if r.what.op == opGather {
		r.hear(q.rank)
		a := answer{number: uint64(len(r.result))}
		reply.Parts, reply.Done = [][]byte{a.append(nil), r.read(q.chunk)}, r.doneReading
		return nil
	}
	if err := r.give(g.life, q.rank, q.chunk, q.part, body); err != nil {
		return err
	}
	m := r.members(q.chunk)
	a := answer{number: r.what.number, weight: m.Weight, ended: m.Ended}
	reply.Parts = [][]byte{a.append(nil), r.read(q.chunk)}
	reply.Done = r.doneReading
	return nil
}

// await returns the round that a message is of, when this rank has come to it.
func (g *Group) await(q *request) (*round, error) {
	for {
		r, changed, err := g.find(q)
		if r != nil || err != nil {
			return r, err
		}
		select {
		case <-changed:
		case <-g.life.Done():
			return nil, context.Cause(g.life)
		}
	}
}

func (g *Group) find(q *request) (*round, <-chan struct{}, error) {
	if err := g.alive(q); err != nil {
		return nil, nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.rounds[q.what.number%2]
	switch {
	case r != nil && r.what.number == q.what.number && g.generation != 0:
		return r, nil, nil
	case r != nil && r.what.number > q.what.number:
		return nil, nil, fmt.Errorf("%w: it is late: of collective %d, this rank is at %d", ErrMessage, q.what.number, g.number)
	}
	return nil, g.changed, nil
}

// aborted ends the group because another rank's has ended.
func (g *Group) aborted(q *request, reason string) error {
	if err := g.alive(q); err != nil {
		return err
	}
	g.fail(fmt.Errorf("%w: %s failed: %s", ErrDead, g.name(q.rank), reason))
	return nil
}

// farewell notes that a rank has all that it wants.
func (g *Group) farewell(q *request) error {
	if err := g.alive(q); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parted(q.rank)
	return nil
}

// parted notes that a rank needs nothing any more; g.mu is held.
func (g *Group) parted(rank int) {
	if g.bye[rank] {
		return
	}
	g.bye[rank] = true
	for _, b := range g.bye {
		if !b {
			return
		}
	}
	close(g.byes)
}

// welcome answers a rank that joins with this one's life.
func (g *Group) welcome(q *request, reply *transport.Reply) error {
	if err := g.knows(q.rank, q.generation); err != nil {
		return g.fail(err)
	}
	if g.life.Err() != nil {
		return context.Cause(g.life)
	}
	g.ok(reply, answer{number: g.self})
	return nil
}

// knows notes the life of a rank; one that was another before has been started again.
func (g *Group) knows(rank int, life uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if before := g.lives[rank]; g.generation != 0 && before != life {
		return fmt.Errorf("%w: %s was started again; the other ranks hold what it has lost: start all of them again", ErrDead, g.name(rank))
	}
	g.lives[rank] = life
	return nil
}
