package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// culprit is a fed number that is not finite. The trainer only has gradients, and with merged gradients those of
// several steps; therefore the executor searches for it: in a step whose loss is not finite, and when the trainer
// returns an error. Good steps cost nothing, and a trainer that accepts such gradients gets them.
type culprit struct {
	what string // feed, row, column and origin of the row; empty if there is none
	step uint64
}

// locate searches the feeds of a step for the first number behind the loss that is not finite.
func (u *culprit) locate(p *plan, b *feedBatch, step uint64) {
	loss := p.loss.node
	g := loss.graph
	behind := ancestors(g, append(g.counting([]*Node{loss}), loss))
	for feed, c := range p.feeds {
		i := kernels.FirstNotFinite(c.value)
		if i < 0 || !behind[c.node.index] {
			continue
		}
		row, column := position(c.node, b.offsets[feed], i)
		what := fmt.Sprintf("feed %q%s, row %d, column %d%s is %v", c.node.name, c.node.made, row, column,
			b.where(feed, row), c.value[i])
		*u = culprit{what, step}
		return
	}
}

// blame adds the culprit to the error of a step, if there is one and the trainer's numbers are not all finite.
func (e *engine) blame(cause error) error {
	if cause == nil || e.culprit.what == "" || e.finite() {
		return cause
	}
	return e.culprit.explain(cause, e.steps)
}

// explain returns the error of a step with the number that caused it.
func (u *culprit) explain(cause error, step uint64) error {
	when := ""
	if ago := step - u.step; ago > 0 {
		when = fmt.Sprintf(", in the batch %d before this", ago)
	}
	return fmt.Errorf("nn: %s%s: %w", u.what, when, cause)
}

// finite reports whether all numbers that the trainer has of the step are finite.
func (e *engine) finite() bool {
	for _, own := range e.held.params {
		if kernels.FirstNotFinite(own.G) >= 0 {
			return false
		}
	}
	for _, r := range e.step.Rows {
		for _, numbers := range [][]float32{r.G, r.Show, r.Click} {
			if kernels.FirstNotFinite(numbers) >= 0 {
				return false
			}
		}
	}
	return true
}
