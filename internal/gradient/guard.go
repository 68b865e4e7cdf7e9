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

// Dense checks the gradient of a variable. If it is not finite, Dense returns an error under the policy to refuse; else
// it makes the gradient finite in place, by zeros under the policy to skip.
func (d Guard) Dense(name string, g []float32) error {
	at := kernels.FirstNotFinite(g)
	switch {
	case at < 0:
		return nil
	case d.Policy == strategy.NotFiniteRefuse:
		return fmt.Errorf("the gradient of %q is %v at element %d: %s", name, g[at], at, remedy)
	case d.Policy == strategy.NotFiniteSkip:
		clear(g)
	default:
		kernels.MakeFinite(g)
	}
	d.Seen.Add(1)
	return nil
}

// Rows checks rows of an embedding, of width dim. If any is not finite, Rows returns an error under the policy to
// refuse; else it returns the remaining rows, all finite, as a copy in room, since the caller owns the ids.
func (d Guard) Rows(name string, dim int, r Rows, room *Rows) (Rows, error) {
	at := kernels.FirstNotFinite(r.G)
	if at < 0 {
		return r, nil
	}
	first := at / dim
	if d.Policy == strategy.NotFiniteRefuse {
		return Rows{}, fmt.Errorf("the gradient of row %d of %q is %v: %s", r.IDs[first], name, r.G[at], remedy)
	}
	room.Set(r.Slice(0, first, dim))
	for i := first; i < len(r.IDs); i++ {
		row := r.Slice(i, i+1, dim)
		bad := kernels.FirstNotFinite(row.G) >= 0
		if bad {
			d.Seen.Add(1)
		}
		if bad && d.Policy == strategy.NotFiniteSkip {
			continue
		}
		room.Append(row)
		if bad {
			kernels.MakeFinite(room.G[len(room.G)-dim:])
		}
	}
	return *room, nil
}
