package collective

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// AllGather returns the data of every rank, by rank, empty for a rank that gave none. The sizes may differ. data is
// copied.
func (g *Group) AllGather(ctx context.Context, data []byte) ([][]byte, error) {
	all := make([][]byte, g.Ranks())
	if err := g.AllGatherInto(ctx, data, all); err != nil {
		return nil, err
	}
	return all, nil
}

// AllGatherInto is AllGather into all, which has one slice for each rank; it reuses their memory if that suffices.
func (g *Group) AllGatherInto(ctx context.Context, data []byte, all [][]byte) error {
	if len(all) != g.Ranks() {
		return fmt.Errorf("collective: an all-gather of %d ranks into %d slices", g.Ranks(), len(all))
	}
	return g.alone(ctx, func() error { return g.gather(ctx, data, all) })
}

// gatherCut is the size of a message of a gather, in bytes.
const gatherCut = 16 << 20

// maxGrow bounds the bytes allocated ahead for the size that a rank announces.
const maxGrow = 4 * gatherCut

func (g *Group) gather(ctx context.Context, data []byte, all [][]byte) error {
	w := what{op: opGather, number: g.rounds.at() + 1, cut: gatherCut}
	r := newRound(w, g.c.Rank, g.Ranks(), 1)
	r.result = g.rounds.memory(w.number, len(data))
	copy(r.result, data)
	all[g.c.Rank] = append(empty(all[g.c.Rank]), data...)
	g.rounds.open(r)
	defer g.rounds.end()
	began := time.Now()
	ctx, release := g.link.bound(ctx, g.c.WaitTimeout, errLate)
	defer release()
	err := g.link.each(ctx, func(ctx context.Context, rank int) (err error) {
		if all[rank], err = g.fetch(ctx, w, rank, all[rank]); err == nil {
			r.hear(rank)
			r.answered(rank)
		}
		return err
	})
	return g.tooLate(err, r, began)
}

// empty returns a slice without elements in b's memory, and never nil.
func empty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b[:0]
}

// fetch reads a rank's data, in as many messages as needed, into data's memory if that suffices.
func (g *Group) fetch(ctx context.Context, w what, rank int, data []byte) ([]byte, error) {
	q := g.members.request(verbPart)
	q.what, data = w, empty(data)
	for total := uint64(1); uint64(len(data)) < total; q.chunk++ {
		err := g.link.call(ctx, rank, [][]byte{q.bytes()}, g.c.SilenceTimeout, func(a answer, body []byte) error {
			total = a.number
			if want := min(total-uint64(len(data)), gatherCut); uint64(len(body)) != want {
				return fmt.Errorf("%w: an answer of %d bytes where %d are to come", ErrMessage, len(body), want)
			}
			data = append(slices.Grow(data, int(min(total-uint64(len(data)), maxGrow))), body...)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if total == 0 {
			break
		}
	}
	return data, nil
}
