package gradient

import (
	"fmt"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/strategy"
)

// Guard keeps NaN and infinities out of the weights. It checks a worker's own gradients before they are sent: so a step
// is refused whole, and the error names the worker's variable or row.
type Guard struct {
	Policy strategy.NotFinite
	// Seen counts the variables and rows that were skipped or clipped.
	Seen *atomic.Int64
}

const remedy = "lower the learning rate or look at the batch (strategy.NotFinite can skip or clip it)"

// beyond tells of a finite number why it is refused.
func beyond(v, limit float32) string {
	if v-v != 0 {
		return ""
	}
	return fmt.Sprintf(", and its rule computes finite numbers up to %.3g", limit)
}

// Dense checks the gradient of a variable. If it is not finite, or above limit, Dense returns an error under the policy
// to refuse; else it makes the gradient finite in place, by zeros under the policy to skip.
func (d Guard) Dense(name string, g []float32, limit float32) error {
	at := kernels.FirstBeyond(g, limit)
	switch {
	case at < 0:
		return nil
	case d.Policy == strategy.NotFiniteRefuse:
		return fmt.Errorf("the gradient of %q is %v at element %d%s: %s", name, g[at], at, beyond(g[at], limit), remedy)
	case d.Policy == strategy.NotFiniteSkip:
		clear(g)
	default:
		kernels.MakeFinite(g, limit)
	}
	d.Seen.Add(1)
	return nil
}

// Rows checks rows of an embedding, of width dim. If any is not finite, or above limit, Rows returns an error under the
// policy to refuse; else it returns the remaining rows, all finite, as a copy in room, since the caller owns the ids.
func (d Guard) Rows(name string, dim int, r Rows, limit float32, room *Rows) (Rows, error) {
	at := kernels.FirstBeyond(r.G, limit)
	if at < 0 {
		return r, nil
	}
	first := at / dim
	if d.Policy == strategy.NotFiniteRefuse {
		return Rows{}, fmt.Errorf("the gradient of row %d of %q is %v%s: %s", r.IDs[first], name, r.G[at],
			beyond(r.G[at], limit), remedy)
	}
	room.Set(r.Slice(0, first, dim))
	for i := first; i < len(r.IDs); i++ {
		row := r.Slice(i, i+1, dim)
		bad := kernels.FirstBeyond(row.G, limit) >= 0
		if bad {
			d.Seen.Add(1)
		}
		if bad && d.Policy == strategy.NotFiniteSkip {
			continue
		}
		room.Append(row)
		if bad {
			kernels.MakeFinite(room.G[len(room.G)-dim:], limit)
		}
	}
	return *room, nil
}
