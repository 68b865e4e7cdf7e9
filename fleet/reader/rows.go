package reader

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// Rows are the rows of given ids, in the same order.
type Rows struct {
	W       []float32 // the rows one after another, Dim numbers each
	Has     []bool    // whether the row exists; otherwise W has its values as in an evaluation
	Moments []Moment  // of each row
}

// Rows reads the rows of ids, which may be in any order, with repetitions. Reading does not create rows: an id without
// one has its initial values if the embedding has a height, and zeros otherwise.
func (r *Reader) Rows(ctx context.Context, name string, ids []uint64) (*Rows, error) {
	p, err := r.param(name)
	if err != nil {
		return nil, err
	}
	shares := make([][]int, len(r.servers)) // places in ids
	for i, id := range ids {
		if p.Height > 0 && id >= uint64(p.Height) {
			return nil, fmt.Errorf("reader: id %d of embedding %q, whose height is %d", id, name, p.Height)
		}
		s := r.serverOf(p, id)
		shares[s] = append(shares[s], i)
	}
	rows := &Rows{W: make([]float32, len(ids)*p.Dim), Has: make([]bool, len(ids)), Moments: make([]Moment, len(ids))}
	err = peer.All(len(shares), func(s int) error { return r.share(ctx, p, s, ids, shares[s], rows) })
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// serverOf returns the server that has a row.
func (r *Reader) serverOf(p *wire.ReadableParam, id uint64) int {
	if p.Block == 0 {
		return int(kernels.Mix(id) % uint64(len(r.servers)))
	}
	return p.On[id/uint64(p.Block)]
}

// share reads a server's share of the rows; at are their places in ids.
func (r *Reader) share(ctx context.Context, p *wire.ReadableParam, server int, ids []uint64, at []int,
	rows *Rows) error {
	var own []uint64
	for _, i := range at {
		own = append(own, ids[i])
	}
	slices.Sort(own)
	own = slices.Compact(own)
	where := make(map[uint64][]int, len(own))
	for _, i := range at {
		where[ids[i]] = append(where[ids[i]], i)
	}
	for some := range slices.Chunk(own, p.Most) {
		err := r.ask(ctx, server, func(b *wire.Builder) error {
			b.IDs(p.Index, some)
			return b.JSON(wire.Read{What: wire.ReadRows})
		}, func(f *wire.Frame) error {
			s, out, err := rowsOf(f)
			if err != nil {
				return err
			}
			w, err := s.Rows()
			if err != nil || len(w) != len(some)*p.Dim || 8*len(out.Has) < len(some) {
				return cmp.Or(err, errAnswer)
			}
			for k, id := range some {
				for _, i := range where[id] {
					copy(rows.W[i*p.Dim:][:p.Dim], w[k*p.Dim:])
					rows.Has[i], rows.Moments[i] = out.Has[k/8]>>(k%8)&1 == 1, r.moment(server, f)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
