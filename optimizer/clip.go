package optimizer

import (
	"fmt"
	"math"
)

// A GradientClipper is a rule that shortens the gradients of a whole step before they are applied one by one, which only who has
// them all can do: [ClipGradients] does it for any rule. Update takes gradients as they are.
type GradientClipper interface {
	Rule
	ClipGradients(params []*Param, rows []Rows)
}

// ClipGradients changes the gradients of a step, in place, as the rule asks before it is applied; most rules ask for nothing.
// Trainers call it once a step, on the worker.
func ClipGradients(r Rule, params []*Param, rows []Rows) {
	if c, ok := find[GradientClipper](r); ok {
		c.ClipGradients(params, rows)
	}
}

// ClipByNorm shortens the gradient of each variable to Norm where it is longer: g·Norm/‖g‖. The gradient of an embedding is
// that of all rows in the step together.
type ClipByNorm struct {
	Rule
	Norm float64
}

// ClipGradients implements [GradientClipper].
func (c ClipByNorm) ClipGradients(params []*Param, rows []Rows) {
	for _, g := range gradients(params, rows) {
		shorten(g, c.Norm, norm(g))
	}
}

// ClipByGlobalNorm shortens the gradients of all variables by the same factor where all together are longer than Norm:
// g·Norm/√Σ‖g‖². Directions stay.
type ClipByGlobalNorm struct {
	Rule
	Norm float64
}

// ClipGradients implements [GradientClipper].
func (c ClipByGlobalNorm) ClipGradients(params []*Param, rows []Rows) {
	all, sum := gradients(params, rows), 0.0
	for _, g := range all {
		sum += squares(g)
	}
	for _, g := range all {
		shorten(g, c.Norm, math.Sqrt(sum))
	}
}

// Unwrap implements [Wrapper].
func (c ClipByNorm) Unwrap() Rule { return c.Rule }

// Unwrap implements [Wrapper].
func (c ClipByGlobalNorm) Unwrap() Rule { return c.Rule }

// gradients lists those that are trained.
func gradients(params []*Param, rows []Rows) (all [][]float32) {
	for _, p := range params {
		if !p.Frozen && !p.Embedding {
			all = append(all, p.G)
		}
	}
	for _, r := range rows {
		if !r.Param.Frozen {
			all = append(all, r.G)
		}
	}
	return all
}

// shorten scales g so that what is long becomes limit. A length that isn't a number scales too, so that it shows.
func shorten(g []float32, limit, long float64) {
	if long <= limit {
		return
	}
	scale := float32(limit / long)
	for i := range g {
		g[i] *= scale
	}
}

// Check implements [Checker].
func (c ClipByNorm) Check() error { return checkNorm("clip by norm", c.Rule, c.Norm) }

// Check implements [Checker].
func (c ClipByGlobalNorm) Check() error { return checkNorm("clip by global norm", c.Rule, c.Norm) }

func checkNorm(name string, r Rule, norm float64) error {
	if err := CheckRule(r); err != nil {
		return err
	}
	if _, ok := find[GradientClipper](r); ok {
		return fmt.Errorf("optimizer: %s: one clip by norm inside another", name)
	}
	if !(norm > 0) {
		return fmt.Errorf("optimizer: %s: Norm is %v: it must be above 0", name, norm)
	}
	return nil
}
