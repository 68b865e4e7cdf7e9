package optimizer

// Decay adds the gradient of an L1 or L2 penalty to each gradient before another rule applies it, which pulls weights
// to zero:
//
//	g + L1·sign(w) + L2·w
//
// L2 is ½·L2·Σw² in the loss, L1 is L1·Σ|w|. A row of an embedding decays in the steps that touch it, unless the rule
// sweeps.
type Decay struct {
	Rule
	L1, L2 float64
}

// Unwrap implements [Wrapper].
func (d Decay) Unwrap() Rule { return d.Rule }

// Update implements [Rule].
func (d Decay) Update(w, g, state []float32, s *State) {
	l1, l2 := float32(d.L1), float32(d.L2)
	sum := s.Buffer(len(w))
	g = g[:len(w)]
	for i := range w {
		sum[i] = g[i] + l2*w[i]
	}
	if l1 != 0 {
		for i := range w {
			sum[i] += l1 * sign(w[i])
		}
	}
	d.Rule.Update(w, sum, state, s)
}

// check returns what is wrong with the settings, as a [Checker] does.
func (d Decay) check() error {
	return checks("decay", checkPositive("L1", d.L1), checkPositive("L2", d.L2))
}
