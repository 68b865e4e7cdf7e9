package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// AllGather returns what every rank has given, by rank, empty where a rank gave nothing. The sizes may differ. data is copied.
func (g *Group) AllGather(ctx context.Context, data []byte) (all [][]byte, err error) {
	all = make([][]byte, g.Ranks())
	err = g.alone(ctx, func() error { return g.gather(ctx, data, all) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// gatherCut is the size of a message of a gather, in bytes.
const gatherCut = 16 << 20

func (g *Group) gather(ctx context.Context, data []byte, all [][]byte) error {
	w := what{op: opGather, number: g.next(), cut: gatherCut}
	r := newRound(w, g.c.Rank, g.Ranks(), 1)
	r.blob = slices.Clone(data)
	all[g.c.Rank] = append([]byte{}, data...)
	g.begin(r)
	defer g.idle()
	began := time.Now()
	ctx, release := g.bound(ctx, g.c.WaitTimeout, errLate)
	defer release()
	err := g.each(ctx, func(ctx context.Context, rank int) (err error) {
		if all[rank], err = g.fetch(ctx, w, rank); err == nil {
			r.hear(rank)
		}
		return err
	})
	if errors.Is(err, errLate) {
		err = fmt.Errorf("%w: %s waited %v at %v: missing %s", ErrDead, g.name(g.c.Rank), time.Since(began).Round(time.Millisecond), w,
			g.names(r.missing()))
	}
	return err
}

// fetch brings what a rank gave, in as many messages as it takes.
func (g *Group) fetch(ctx context.Context, w what, rank int) (data []byte, err error) {
	q := g.request(verbPart)
	q.what, data = w, []byte{}
	for total := uint64(1); uint64(len(data)) < total; q.chunk++ {
		err := g.call(ctx, rank, [][]byte{q.append(nil)}, g.c.SilenceTimeout, func(a answer, body []byte) error {
			total = a.number
			if want := min(total-uint64(len(data)), gatherCut); uint64(len(body)) != want {
				return fmt.Errorf("%w: an answer of %d bytes where %d are to come", ErrMessage, len(body), want)
			}
			data = append(data, body...)
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

// next is the number of a new collective.
func (g *Group) next() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.number + 1
}
