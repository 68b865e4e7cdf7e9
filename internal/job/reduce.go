package job

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/collective"
)

// AllReduce combines the workers' x element by element by the operation of that name, in the order of workers. x is not
// changed.
func AllReduce[E int64 | float64](ctx context.Context, j *Job, call string, x []E, op string) ([]E, error) {
	by, known := ops[op]
	if !known {
		return nil, fmt.Errorf(`op is %q; it can be "sum", "max" or "min"`, op)
	}
	if m, ok := j.Backend.(meeter); ok {
		out := append([]E{}, x...)
		err := m.Meet(ctx, func(g *collective.Group) error { return collective.AllReduce(ctx, g, by, out) })
		return out, err
	}
	data, err := j.Backend.Gather(ctx, fmt.Sprintf("%s (%s of %d values)", call, op, len(x)), pack(x))
	if err != nil {
		return nil, err
	}
	all := make([][]E, len(data))
	var out []E
	for w, b := range data {
		if b == nil {
			continue
		}
		if all[w] = unpack[E](b); out == nil {
			out = make([]E, len(all[w]))
		}
		if len(all[w]) != len(out) {
			return nil, fmt.Errorf("worker %d sent %d values, the others %d", w, len(all[w]), len(out))
		}
	}
	collective.Fold(out, all, by)
	return out, nil
}

var ops = map[string]collective.Op{"sum": collective.Sum, "max": collective.Max, "min": collective.Min}

// meeter is a backend whose workers reduce without a server.
type meeter interface {
	Meet(ctx context.Context, do func(*collective.Group) error) error
}

// AllGather returns every worker's x, by index; nil for one that has left, and empty for one whose x was empty.
func (j *Job) AllGather(ctx context.Context, call string, x []float64) ([][]float64, error) {
	data, err := j.Gather(ctx, call, pack(x))
	if err != nil {
		return nil, err
	}
	all := make([][]float64, len(data))
	for w, b := range data {
		if b != nil {
			all[w] = unpack[float64](b)
		}
	}
	return all, nil
}

// pack returns numbers as messages have them, which are never nil; unpack is its inverse. Both copy.
func pack[E collective.Element](x []E) []byte { return append([]byte{}, collective.Bytes(x)...) }

func unpack[E collective.Element](b []byte) []E { return append([]E{}, collective.Elements[E](b)...) }
