package optimizer

// Additive says whether a rule turns the sum of several gradients into the sum of their updates, so that pushes may be
// added up on their way without a change in training. Plain gradient descent does, alone, under [Decay], and under
// clips around either, whose limits then hold for each gradient before it is added. Of [Decay] the gradient is summed,
// and the decay itself counts once.
//
// Rules that keep state, and clips inside a [Decay], are not additive.
func Additive(r Rule) bool {
	_, plain := additive(r)
	return plain != nil
}

// Limit clips a gradient in place by the values of an additive rule. Clips by norm are another matter: [ClipGradients].
func Limit(r Rule, g []float32) {
	limits, _ := additive(r)
	for _, c := range limits {
		low, high := float32(c.limit()), float32(c.Max)
		for i, v := range g {
			g[i] = clamp(v, low, high)
		}
	}
}

// Unlimited is what an additive rule does with gradients that were clipped one by one; any other rule is returned as it
// is.
func Unlimited(r Rule) Rule {
	if _, plain := additive(r); plain != nil {
		return plain
	}
	return r
}

// additive takes an additive rule apart, into its clips by value from the outside in, and the rest; that is nil for
// other rules.
func additive(r Rule) (limits []ClipByValue, plain Rule) {
	switch r := r.(type) {
	case SGD:
		return nil, r
	case Decay:
		if _, ok := r.Rule.(SGD); ok {
			return nil, r
		}
	case ClipByValue:
		limits, plain = additive(r.Rule)
		return append([]ClipByValue{r}, limits...), plain
	case interface {
		GradientClipper
		Wrapper
	}:
		return additive(r.Unwrap())
	}
	return nil, nil
}
