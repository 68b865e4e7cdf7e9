package rules

import "github.com/gofleet/gofleet/optimizer"

// ClipperOf returns the clipper for the gradients of a step of a rule, which may be wrapped; false for most rules,
// which have none.
func ClipperOf(r optimizer.Rule) (optimizer.GradientClipper, bool) {
	return find[optimizer.GradientClipper](r)
}

// ClipGradients clips the gradients of a step, in place, before the rule is applied, if the rule has a clipper; most
// rules have none. A trainer that has a step's gradients in one place calls it once a step: a process that is alone,
// and a worker whose pushes are updates. In mode sync it is not called: servers clip the round's mean by
// [optimizer.NormClipper]. Package optimizer's documentation has a table.
func ClipGradients(r optimizer.Rule, params []*optimizer.Param, rows []optimizer.Rows) {
	if c, ok := find[optimizer.GradientClipper](r); ok {
		c.ClipGradients(params, rows)
	}
}

// Spares reports whether a clip leaves a param alone; every clip leaves frozen ones alone.
func Spares(c optimizer.GradientClipper, p *optimizer.Param) bool {
	s, ok := c.(interface{ Spares(p *optimizer.Param) bool })
	return p.Frozen || ok && s.Spares(p)
}
