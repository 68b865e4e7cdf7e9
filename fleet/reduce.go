package fleet

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/collective"
)

// number is the type of what can be reduced.
type number interface {
	int64 | float64
	cmp.Ordered
}

func allReduce[E number](ctx context.Context, f *Fleet, call string, x []E, op ReduceOp, travel bits[E]) ([]E, error) {
	if _, ok := reduceOps[op]; !ok {
		return nil, fmt.Errorf("fleet: %s: op is %q; it can be %q, %q or %q", call, op, Sum, Max, Min)
	}
	b, err := f.meeting(ctx, call)
	if err != nil {
		return nil, err
	}
	defer f.meets.Store(nil)
	if m, ok := b.(meeter); ok {
		out := append([]E{}, x...)
		err := m.Meet(ctx, func(g *collective.Group) error { return collective.AllReduce(ctx, g, reduceOps[op], out) })
		return out, named(call, err)
	}
	data, err := b.Gather(ctx, fmt.Sprintf("%s (%s of %d values)", call, op, len(x)), travel.pack(x))
	if err != nil {
		return nil, named(call, err)
	}
	return reduce(call, data, op, travel)
}

// reduce folds the workers' data, in the order of workers.
func reduce[E number](call string, data [][]byte, op ReduceOp, travel bits[E]) ([]E, error) {
	var out []E
	for w, b := range data {
		switch theirs := travel.unpack(b); {
		case b == nil:
		case out == nil:
			out = theirs
		case len(theirs) != len(out):
			return nil, fmt.Errorf("fleet: %s: worker %d sent %d values, the others %d", call, w, len(theirs), len(out))
		default:
			fold(out, theirs, op)
		}
	}
	return out, nil
}

// meeter is a backend whose workers reduce without a server.
type meeter interface {
	Meet(ctx context.Context, do func(*collective.Group) error) error
}

func fold[E number](out, x []E, op ReduceOp) {
	for i, v := range x {
		switch op {
		case Sum:
			out[i] += v
		case Max:
			out[i] = max(out[i], v)
		case Min:
			out[i] = min(out[i], v)
		}
	}
}

// bits converts a number to and from the eight bytes in which it is sent, little-endian.
type bits[E number] struct {
	of   func(E) uint64
	back func(uint64) E
}

var (
	floatBits = bits[float64]{math.Float64bits, math.Float64frombits}
	intBits   = bits[int64]{func(v int64) uint64 { return uint64(v) }, func(b uint64) int64 { return int64(b) }}
)

// pack encodes numbers. It never returns nil.
func (t bits[E]) pack(x []E) []byte {
	b := make([]byte, 0, 8*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint64(b, t.of(v))
	}
	return b
}

func (t bits[E]) unpack(b []byte) []E {
	x := make([]E, len(b)/8)
	for i := range x {
		x[i] = t.back(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return x
}
