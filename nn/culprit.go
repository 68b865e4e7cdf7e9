package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// culprit is a number that was fed and is not finite. The trainer knows gradients alone, and with merged gradients the
// gradients of several steps, so that the executor looks for it: in a step whose loss is not finite, and when the
// trainer refuses. Good steps cost nothing, and a trainer that takes such gradients gets them.
type culprit struct {
	what string // feed, row, column and where the row comes from; empty when there is none
	step uint64
}

// locate finds the first number behind the loss that is not finite, in what was fed to a step.
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

// blame adds the culprit to the error of a step, if there is one and what the trainer got is not finite.
func (e *Executor) blame(cause error) error {
	if cause == nil || e.culprit.what == "" || e.finite() {
		return cause
	}
	return e.culprit.explain(cause, e.steps)
}

// explain is the error of a step with the number that is behind it.
func (u *culprit) explain(cause error, step uint64) error {
	when := ""
	if ago := step - u.step; ago > 0 {
		when = fmt.Sprintf(", in the batch %d before this", ago)
	}
	return fmt.Errorf("nn: %s%s: %w", u.what, when, cause)
}

// finite says whether all numbers that the trainer has of the step are finite.
func (e *Executor) finite() bool {
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
