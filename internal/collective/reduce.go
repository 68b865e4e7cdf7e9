package collective

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// AllReduce replaces every element of x by op of all ranks' elements at its place. The slices of x must have the same
// lengths on all ranks. After an error the values of x are undefined.
func AllReduce[E Element](ctx context.Context, g *Group, op Op, x ...[]E) error {
	if op < Sum || op > Min {
		return fmt.Errorf("collective: all-reduce with %v: it can be Sum, Max or Min", op)
	}
	_, err := reduce(ctx, g, what{op: op}, Part{Weight: 1}, x)
	return err
}

// Broadcast replaces x by the root's x.
func Broadcast[E Element](ctx context.Context, g *Group, root int, x ...[]E) error {
	if root < 0 || root >= g.Ranks() {
		return fmt.Errorf("collective: broadcast from rank %d of %d", root, g.Ranks())
	}
	_, err := reduce(ctx, g, what{op: opFirst, root: root}, Part{}, x)
	return err
}

// Mean replaces every element of x by Σ wᵢxᵢ / Σ wᵢ over the ranks, where p has this rank's weight, and returns the sum
// of all ranks' parts. x of a rank of weight 0 is not read. If all weights are 0 the mean is 0.
func (g *Group) Mean(ctx context.Context, p Part, x ...[]float32) (Members, error) {
	return reduce(ctx, g, what{op: mean}, p, x)
}

// Barrier returns when every rank has called it.
func (g *Group) Barrier(ctx context.Context) error {
	_, err := reduce[int64](ctx, g, what{op: Sum}, Part{}, nil)
	return err
}

// reduce reduces x bucket by bucket; an empty x is one bucket too.
func reduce[E Element](ctx context.Context, g *Group, w what, p Part, x [][]E) (m Members, err error) {
	err = g.alone(ctx, func() error {
		v := newVector(x)
		w.element, w.cut = elementOf[E](), max(1, g.c.Chunk/sizeOf[E]())
		bucket := max(1, g.c.Bucket/sizeOf[E]())
		for from := 0; ; from += bucket {
			b := job[E]{g: g, v: &v, part: p, base: from, w: w}
			b.w.length = min(bucket, v.len()-from)
			if m, err = b.run(ctx); err != nil || from+bucket >= v.len() {
				return err
			}
		}
	})
	return m, err
}

// alone runs f, one collective at a time. An error of f ends the group, and is sent to the other ranks.
func (g *Group) alone(ctx context.Context, f func() error) error {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-g.life.Done():
		return context.Cause(g.life)
	}
	if g.life.Err() != nil {
		return context.Cause(g.life)
	}
	if !g.members.joined() {
		return errors.New("collective: call Join first")
	}
	err := f()
	if err != nil {
		err = g.fail(err)
		g.told.Do(func() { g.abort(ctx, err) })
	}
	return err
}

// job reduces one bucket.
type job[E Element] struct {
	g     *Group
	v     *vector[E]
	w     what
	part  Part
	base  int // where the bucket begins in v
	round *round
}

func (j *job[E]) run(ctx context.Context) (Members, error) {
	g := j.g
	j.w.number = g.rounds.at() + 1
	j.open()
	defer g.rounds.end()
	began := time.Now()
	ctx, release := g.link.bound(ctx, g.c.WaitTimeout, errLate)
	defer release()
	err := g.link.each(ctx, j.trade)
	for i := 0; i < len(j.round.slots) && err == nil; i++ {
		select {
		case <-j.round.slots[i].done:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	j.round.end()
	return j.round.members(0), g.tooLate(err, j.round, began)
}

// tooLate replaces errLate by an error that names the missing ranks.
func (g *Group) tooLate(err error, r *round, began time.Time) error {
	if !errors.Is(err, errLate) {
		return err
	}
	return fmt.Errorf("%w: %s waited %v at %v: missing %s", ErrDead, g.members.name(g.c.Rank),
		time.Since(began).Round(time.Millisecond), r.what, g.members.names(r.missing()))
}

// open begins the round and puts this rank's own parts into it.
func (j *job[E]) open() {
	g, size := j.g, sizeOf[E]()
	r := newRound(j.w, g.c.Rank, g.Ranks(), size)
	r.result = g.rounds.memory(j.w.number, (r.to-r.from)*size)
	r.fold = j.fold
	j.round = r
	for i := range r.slots {
		r.put(g.c.Rank, i, j.part, nil)
	}
	g.rounds.open(r)
}

// fold reduces a chunk of this rank's segment into the result and into the vector.
func (j *job[E]) fold(chunk int, s *slot) {
	r, self := j.round, j.g.c.Rank
	from, to := chunkAt(r.from, r.to, chunk, r.what.cut)
	bytes := r.result[(from-r.from)*r.size : (to-r.from)*r.size]
	result, theirs := Elements[E](bytes), make([][]E, len(s.parts))
	for rank, b := range s.parts {
		if rank != self && !silent(r.what, rank, s.shares[rank]) {
			theirs[rank] = Elements[E](b)
		}
	}
	f, pieces, own := factors(s.shares), make([][]E, len(theirs)), !silent(r.what, self, j.part)
	j.v.spans(j.base+from, j.base+to, func(at int, mine []E) {
		at -= j.base + from
		for rank, p := range theirs {
			if p != nil {
				pieces[rank] = p[at : at+len(mine)]
			}
		}
		if own {
			pieces[self] = mine
		}
		foldInto(result[at:at+len(mine)], pieces, r.what.op, r.what.root, f)
		copy(mine, result[at:])
	})
	if !nativeOrder {
		copy(bytes, Bytes(result))
	}
}

// trade sends another rank this one's parts of its segment and receives the results, up to Window chunks at a time.
func (j *job[E]) trade(ctx context.Context, rank int) error {
	from, to := segment(j.w.length, rank, j.g.Ranks())
	n := chunks(to-from, j.w.cut)
	var next atomic.Int64
	lane := func() error {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			lo, hi := chunkAt(from, to, i, j.w.cut)
			if err := j.exchange(ctx, rank, i, lo, hi); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, min(n, j.g.c.Window))
	var lanes sync.WaitGroup
	for l := 1; l < len(errs); l++ {
		lanes.Go(func() { errs[l] = lane() })
	}
	errs[0] = lane()
	lanes.Wait()
	err := errors.Join(errs...)
	if err == nil {
		j.round.answered(rank)
	}
	return err
}

// exchange sends this rank's part of one chunk and copies the answer, the result, over it: the part is sent whole
// before the owner can answer.
func (j *job[E]) exchange(ctx context.Context, rank, chunk, lo, hi int) error {
	q := j.g.members.request(verbPart)
	q.what, q.chunk, q.part = j.w, chunk, j.part
	msg := [][]byte{q.bytes()}
	if !silent(j.w, j.g.c.Rank, j.part) {
		msg = j.v.appendBytes(msg, j.base+lo, j.base+hi)
	}
	if frozen := q.part.At.Frozen; rank == 0 && chunk == 0 && frozen != "" { // rank 0 writes checkpoints
		msg = append(msg, []byte(frozen))
	}
	return j.g.link.call(ctx, rank, msg, j.g.c.SilenceTimeout, func(a answer, body []byte) error {
		if len(body) != (hi-lo)*j.round.size {
			return fmt.Errorf("%w: an answer of %d bytes to a chunk of %d", ErrMessage, len(body), (hi-lo)*j.round.size)
		}
		j.round.hear(rank)
		j.v.set(j.base+lo, Elements[E](body))
		return nil
	})
}
