package optimizer

import (
	"fmt"
	"math"
	"slices"
)

// A GradientClipper is a rule that scales the gradients of a whole step before they are applied one by one. Only the
// process that holds all gradients can do so: trainers call ClipGradients once per step, and Update does not clip.
type GradientClipper interface {
	Rule
	ClipGradients(params []*Param, rows []Rows)
}

// A NormClipper is a GradientClipper that depends only on norms and multiplies each variable's gradient by one factor.
// So gradients may be spread over several processes: each sums the squares of its part, and all scale by the factors of
// the total sums.
//
// It may have a method Spares(p *Param) bool, which names params that neither count in the norm nor are clipped.
type NormClipper interface {
	GradientClipper
	// Factors sets factors[i] to the factor for the gradient of variable i; squares[i] is the sum of that gradient's
	// squares.
	Factors(factors []float32, squares []float64)
}

// spares reports whether a clip leaves a param alone; every clip leaves frozen ones alone.
func spares(c GradientClipper, p *Param) bool {
	s, ok := c.(interface{ Spares(p *Param) bool })
	return p.Frozen || ok && s.Spares(p)
}

// ClipByNorm scales the gradient of each variable down to Norm if its norm is larger: g·Norm/‖g‖. The gradient of an
// embedding is that of all rows in the step together. In mode sync and in collective jobs the mean of all workers'
// gradients is clipped, not each gradient; see the table in the package documentation.
type ClipByNorm struct {
	Rule
	Norm float64
	// Except names params whose gradients are not clipped.
	Except []string
}

// ClipGradients implements [GradientClipper].
func (c ClipByNorm) ClipGradients(params []*Param, rows []Rows) { clip(c, gradients(c, params, rows)) }

// Factors implements [NormClipper].
func (c ClipByNorm) Factors(factors []float32, squares []float64) {
	for i, sum := range squares {
		factors[i] = shorten(c.Norm, math.Sqrt(sum))
	}
}

// ClipByGlobalNorm scales the gradients of all variables by the same factor if their joint norm is above Norm:
// g·Norm/√Σ‖g‖². Directions stay the same. In mode sync and in collective jobs the mean of all workers' gradients is
// clipped, not each gradient; see the table in the package documentation.
type ClipByGlobalNorm struct {
	Rule
	Norm float64
	// Except names params that are left out: they neither count in the norm nor are clipped.
	Except []string
}

// ClipGradients implements [GradientClipper].
func (c ClipByGlobalNorm) ClipGradients(params []*Param, rows []Rows) {
	clip(c, gradients(c, params, rows))
}

// Factors implements [NormClipper].
func (c ClipByGlobalNorm) Factors(factors []float32, squares []float64) {
	all := 0.0
	for _, sum := range squares {
		all += sum
	}
	one := shorten(c.Norm, math.Sqrt(all))
	for i := range factors {
		factors[i] = one
	}
}

// Unwrap implements [Wrapper].
func (c ClipByNorm) Unwrap() Rule { return c.Rule }

// Unwrap implements [Wrapper].
func (c ClipByGlobalNorm) Unwrap() Rule { return c.Rule }

// Spares is an optional method of [NormClipper].
func (c ClipByNorm) Spares(p *Param) bool { return slices.Contains(c.Except, p.Name) }

// Spares is an optional method of [NormClipper].
func (c ClipByGlobalNorm) Spares(p *Param) bool { return slices.Contains(c.Except, p.Name) }

func (c ClipByNorm) paramNames() []string       { return c.Except }
func (c ClipByGlobalNorm) paramNames() []string { return c.Except }

// gradients returns the gradients to clip.
func gradients(c GradientClipper, params []*Param, rows []Rows) (all [][]float32) {
	for _, p := range params {
		if !p.Embedding && !spares(c, p) {
			all = append(all, p.G)
		}
	}
	for _, r := range rows {
		if !spares(c, r.Param) {
			all = append(all, r.G)
		}
	}
	return all
}

// clip scales gradients that are all in one process.
func clip(c NormClipper, all [][]float32) {
	sums, factors := make([]float64, len(all)), make([]float32, len(all))
	for i, g := range all {
		sums[i] = squares(g)
	}
	c.Factors(factors, sums)
	for i, g := range all {
		if factors[i] == 1 {
			continue
		}
		for k := range g {
			g[k] *= factors[i]
		}
	}
}

// shorten returns the factor that reduces a length to the limit. It is NaN for a length that is NaN, so that the fault
// shows.
func shorten(limit, long float64) float32 {
	if long <= limit {
		return 1
	}
	return float32(limit / long)
}

// check returns what is wrong with the settings, as a [Checker] does.
func (c ClipByNorm) check() error { return checkNorm("clip by norm", c.Norm) }

// check returns what is wrong with the settings, as a [Checker] does.
func (c ClipByGlobalNorm) check() error { return checkNorm("clip by global norm", c.Norm) }

func checkNorm(name string, norm float64) error {
	if !(norm > 0) {
		return fmt.Errorf("optimizer: %s: Norm is %v: it must be above 0", name, norm)
	}
	return nil
}
