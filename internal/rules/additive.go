package rules

import (
	"fmt"

	"github.com/gofleet/gofleet/optimizer"
)

// Additive reports whether a rule turns the sum of several gradients into the sum of their updates, so that pushes may
// be added up on their way without a change in training. Additive rules are plain gradient descent, alone, under
// [optimizer.Decay], and under clips around either, whose limits then hold for each gradient before it is added. Under
// [optimizer.Decay] the gradients are summed, and the decay itself counts once.
//
// Rules that keep state, and clips inside a [optimizer.Decay], are not additive.
func Additive(r optimizer.Rule) bool {
	_, plain := additive(r)
	return plain != nil
}

// CheckPlain refuses what does not train by plain gradient descent at a constant rate, alone or under clips: only then
// the order of updates does not matter.
func CheckPlain(params []*optimizer.Param, rule optimizer.Rule) error {
	for _, p := range params {
		r := For(rule, p)
		if plain, ok := Unlimited(r).(optimizer.SGD); r != nil && (!ok || plain.Schedule != nil) {
			return fmt.Errorf("%q has rule %s; want optimizer.SGD without a Schedule, alone or in clips",
				p.Name, r.Name())
		}
		if p.Entry != (optimizer.Entry{}) {
			return fmt.Errorf("%q has an Entry, which counts each push", p.Name)
		}
	}
	return nil
}

// Limit clips a gradient in place by the values of an additive rule. [ClipGradients] clips by norm.
func Limit(r optimizer.Rule, g []float32) {
	limits, _ := additive(r)
	for _, c := range limits {
		c.Clip(g, g)
	}
}

// Unlimited returns the part of an additive rule to apply to gradients that were clipped one by one; it returns any
// other rule unchanged.
func Unlimited(r optimizer.Rule) optimizer.Rule {
	if _, plain := additive(r); plain != nil {
		return plain
	}
	return r
}

// additive divides an additive rule into its clips by value, from the outside in, and the rest; the rest is nil for
// other rules.
func additive(r optimizer.Rule) (limits []optimizer.ClipByValue, plain optimizer.Rule) {
	switch r := r.(type) {
	case optimizer.SGD:
		return nil, r
	case optimizer.Decay:
		if _, ok := r.Rule.(optimizer.SGD); ok {
			return nil, r
		}
	case optimizer.ClipByValue:
		limits, plain = additive(r.Rule)
		return append([]optimizer.ClipByValue{r}, limits...), plain
	case interface {
		optimizer.GradientClipper
		optimizer.Wrapper
	}:
		return additive(r.Unwrap())
	}
	return nil, nil
}
