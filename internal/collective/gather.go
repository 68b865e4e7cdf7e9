package collective

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// AllGather returns what every rank has given, by rank, empty where a rank gave nothing. The sizes may differ. data is
// copied.
func (g *Group) AllGather(ctx context.Context, data []byte) ([][]byte, error) {
	all := make([][]byte, g.Ranks())
	if err := g.AllGatherInto(ctx, data, all); err != nil {
		return nil, err
	}
	return all, nil
}

// AllGatherInto is AllGather into all, one slice for each rank, whose memory is used where it suffices.
func (g *Group) AllGatherInto(ctx context.Context, data []byte, all [][]byte) error {
	if len(all) != g.Ranks() {
		return fmt.Errorf("collective: an all-gather of %d ranks into %d slices", g.Ranks(), len(all))
	}
	return g.alone(ctx, func() error { return g.gather(ctx, data, all) })
}

// gatherCut is the size of a message of a gather, in bytes.
const gatherCut = 16 << 20

// maxGrow bounds how much room is made for what a rank says it will send.
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

// empty is a slice without elements in b's memory, and never nil.
func empty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b[:0]
}

// fetch brings what a rank gave, in as many messages as it takes, in data's memory if that suffices.
func (g *Group) fetch(ctx context.Context, w what, rank int, data []byte) ([]byte, error) {
	q := g.members.request(verbPart)
	q.what, data = w, empty(data)
	for total := uint64(1); uint64(len(data)) < total; q.chunk++ {
		err := g.link.call(ctx, rank, [][]byte{q.append(nil)}, g.c.SilenceTimeout, func(a answer, body []byte) error {
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
