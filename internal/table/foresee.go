package table

import (
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// Foresee makes the block remember where its weights were before the last update, so that PullAhead can tell where momentum takes
// them, if the rule has any. It is called before the block is used.
func (d *Dense) Foresee() {
	if optimizer.InertiaOf(d.rule) == 0 {
		return
	}
	for i := range d.chunks {
		d.chunks[i].was = make([]float32, len(d.chunks[i].w))
	}
}

// PullAhead copies into w the weights from at on as they will be after some more updates, as far as momentum goes: with a rule that
// carries a part β of each update over into the next, that is (β + β² + … ) of the last one further. A block that doesn't foresee
// gives the weights as they are.
func (d *Dense) PullAhead(at int, w []float32, updates int) error {
	ahead := coast(optimizer.InertiaOf(d.rule), updates)
	return d.span("pull", at, w, func(c *chunk, at int, w []float32) {
		c.RLock()
		defer c.RUnlock()
		copy(w, c.w[at:])
		if c.was != nil && ahead > 0 {
			kernels.Scale(1+ahead, w)
			kernels.Axpy(-ahead, c.was[at:at+len(w)], w)
		}
	})
}

// coast is how many times as far as the last update weights move in the next n if no gradient follows: β + β² + … + βⁿ.
func coast(beta float64, n int) float32 {
	if beta <= 0 || n <= 0 {
		return 0
	}
	return float32(beta * (1 - math.Pow(beta, float64(n))) / (1 - beta))
}
