package table

import (
	"fmt"
	"math"
	"sync"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/rules"
)

// PushAhead is a PushPull that copies into w the predicted weights after that many more updates, as far as momentum
// moves them: with a rule that carries a part β of each update over into the next, (β + β² + …) times this update
// further. Without momentum they are the new weights.
func (d *Dense) PushAhead(g, w []float32, step int64, updates int) error {
	if d.rule == nil {
		return d.noRule()
	}
	if len(w) != d.n {
		return fmt.Errorf("%w: pull of a dense block of %d weights with %d", ErrShape, d.n, len(w))
	}
	ahead := coast(rules.InertiaOf(d.rule), updates)
	if ahead == 0 {
		return d.PushPull(g, w, step)
	}
	before := befores.Get().(*[]float32)
	defer befores.Put(before)
	return d.each("push", g, func(c *chunk, g []float32) {
		c.change()
		defer c.Unlock()
		*before = append((*before)[:0], c.w...)
		c.update(d, g, step)
		kernels.Beyond(ahead, w[:len(g)], *before, c.w)
		w = w[len(g):]
	})
}

// befores are buffers for the weights of a chunk before an update, which stay in the cache.
var befores = sync.Pool{New: func() any { return new([]float32) }}

// coast is the distance, in multiples of the last update, that weights move in the next n updates without gradients: β
// + β² + … + βⁿ.
func coast(beta float64, n int) float32 {
	if beta <= 0 || n <= 0 {
		return 0
	}
	return float32(beta * (1 - math.Pow(beta, float64(n))) / (1 - beta))
}
