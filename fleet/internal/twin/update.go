package twin

import "math"

// slot is a variable, a block of one or a row, with whatever its rule keeps beside the weights.
type slot struct {
	w       []float64
	a, b, c []float64 // one number for each weight
	one     [2]float64
	updates int // of the slot itself
	name    string
}

func newSlot(name string, w []float64) *slot {
	n := len(w)
	return &slot{w: w, a: make([]float64, n), b: make([]float64, n), c: make([]float64, n), name: name}
}

func (s *slot) clone() *slot {
	t := *s
	t.w, t.a, t.b, t.c = copied(s.w), copied(s.a), copied(s.b), copied(s.c)
	return &t
}

func copied(x []float64) []float64 { return append([]float64(nil), x...) }

// fresh is the slot without what its rule keeps.
func (s *slot) fresh() *slot { return newSlot(s.name, copied(s.w)) }

// rate is the learning rate of update number t, the first of which is 1.
func (r Rule) rate(t int, factor float64) float64 {
	n, lr := float64(t-1), r.Schedule.LR
	switch r.Schedule.Kind {
	case "":
		lr = r.LR
	case "exponential":
		lr *= math.Pow(0.8, n)
	case "staircase":
		lr *= math.Pow(0.5, math.Floor(n/3))
	case "inverse":
		lr /= 1 + 0.3*n
	case "piecewise":
		if n >= 5 {
			lr /= 2
		} else if n >= 2 {
			lr /= 4
		}
	case "steps":
		lr *= math.Pow(0.5, math.Floor(n/3))
	case "warmup":
		if n < 5 {
			lr = lr/10 + (lr-lr/10)*n/5
		} else {
			lr *= math.Exp(-0.1 * (n - 5))
		}
	}
	return lr * factor
}

// update is one update of a slot, the t-th of its variable. A row is updated in the steps that touch it alone.
func (r Rule) update(s *slot, gradient []float64, t int, row bool, factor float64, signs *signs) {
	g := copied(gradient)
	if r.Kind == "ftrl" && long(s.a) == 0 { // rounding may decide of a gradient as a whole, which another number scales
		sign := signs.of(long(g), s, "the length of the gradient of ", 0)
		for i := range g {
			g[i] *= sign
		}
	}
	for i := range g {
		if r.Max != 0 {
			g[i] = math.Max(-r.Max, math.Min(r.Max, g[i]))
		}
		g[i] += r.L2 * s.w[i]
		if r.L1 != 0 {
			g[i] += r.L1 * signs.of(s.w[i], s, "", i)
		}
		if r.Kind == "ftrl" && s.a[i] == 0 {
			g[i] = math.Max(math.Abs(g[i]), least32) * signs.of(g[i], s, "the gradient of ", i)
		}
	}
	if r.Kind == "lars" {
		switch sign := signs.of(long(g), s, "the length of the gradient of ", 0); {
		case sign == 0:
			clear(g)
		case long(g) == 0:
			g[0] = least32
		}
	}
	s.updates++
	formulas[r.Kind](r, s, g, r.rate(t, factor), t, row)
}

// least32 is a number of whose square float32 still has a few digits.
const least32 = 1e-21

type formula func(r Rule, s *slot, g []float64, lr float64, t int, row bool)

var formulas = map[string]formula{
	"sgd": func(_ Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		for i := range g {
			s.w[i] -= lr * g[i]
		}
	},
	"momentum": func(r Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		for i := range g {
			s.a[i] = 0.9*s.a[i] + g[i]
			if r.Nesterov {
				s.w[i] -= lr * (g[i] + 0.9*s.a[i])
			} else {
				s.w[i] -= lr * s.a[i]
			}
		}
	},
	"adam": func(r Rule, s *slot, g []float64, lr float64, t int, row bool) {
		adam(s, g, lr, exponent(t, row && !r.Dense))
	},
	"adamw": func(_ Rule, s *slot, g []float64, lr float64, t int, row bool) {
		for i := range g {
			s.w[i] -= lr * 0.01 * s.w[i]
		}
		adam(s, g, lr, exponent(t, row))
	},
	"adamax": func(_ Rule, s *slot, g []float64, lr float64, t int, _ bool) {
		for i := range g {
			s.a[i] = 0.9*s.a[i] + 0.1*g[i]
			s.b[i] = math.Max(0.999*s.b[i]+1e-8, math.Abs(g[i]))
			s.w[i] -= lr / (1 - math.Pow(0.9, float64(t))) * s.a[i] / s.b[i]
		}
	},
	"adagrad": func(_ Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		for i := range g {
			s.a[i] += g[i] * g[i]
			s.w[i] -= lr * g[i] / (math.Sqrt(s.a[i]) + 1e-6)
		}
	},
	"decayed": func(_ Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		for i := range g {
			s.a[i] = 0.95*s.a[i] + 0.05*g[i]*g[i]
			s.w[i] -= lr * g[i] / (math.Sqrt(s.a[i]) + 1e-6)
		}
	},
	"adadelta": func(_ Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		for i := range g {
			s.a[i] = 0.95*s.a[i] + 0.05*g[i]*g[i]
			d := math.Sqrt((s.b[i]+1e-6)/(s.a[i]+1e-6)) * g[i]
			s.b[i] = 0.95*s.b[i] + 0.05*d*d
			s.w[i] -= lr * d
		}
	},
	"rmsprop": func(r Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		for i := range g {
			s.a[i] = 0.95*s.a[i] + 0.05*g[i]*g[i]
			about := s.a[i]
			if r.Centered {
				s.c[i] = 0.95*s.c[i] + 0.05*g[i]
				about -= s.c[i] * s.c[i]
			}
			s.b[i] = r.Momentum*s.b[i] + lr*g[i]/math.Sqrt(about+1e-6)
			s.w[i] -= s.b[i]
		}
	},
	"ftrl": func(r Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		for i := range g {
			grown := s.a[i] + g[i]*g[i]
			s.b[i] += g[i] - (math.Sqrt(grown)-math.Sqrt(s.a[i]))/lr*s.w[i]
			s.a[i] = grown
			if math.Abs(s.b[i]) <= r.Shrink {
				s.w[i] = 0
				continue
			}
			s.w[i] = (math.Copysign(r.Shrink, s.b[i]) - s.b[i]) / (math.Sqrt(grown)/lr + 2*r.Shrink)
		}
	},
	"lamb": func(_ Rule, s *slot, g []float64, lr float64, t int, _ bool) {
		to := make([]float64, len(g))
		for i := range g {
			s.a[i], s.b[i] = 0.9*s.a[i]+0.1*g[i], 0.999*s.b[i]+0.001*g[i]*g[i]
			m, v := s.a[i]/(1-math.Pow(0.9, float64(t))), s.b[i]/(1-math.Pow(0.999, float64(t)))
			to[i] = m/(math.Sqrt(v)+1e-6) + 0.01*s.w[i]
		}
		if w, r := long(s.w), long(to); w != 0 && r != 0 {
			lr *= w / r
		}
		for i := range g {
			s.w[i] -= lr * to[i]
		}
	},
	"lars": func(_ Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		if w, l := long(s.w), long(g); w != 0 && l != 0 {
			lr *= 0.1 * w / (l + 0.0005*w)
		}
		for i := range g {
			s.a[i] = 0.9*s.a[i] + lr*(g[i]+0.0005*s.w[i])
			s.w[i] -= s.a[i]
		}
	},
	"naive": func(_ Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		for i := range g {
			s.w[i] = bounded(s.w[i] - lr*g[i])
		}
	},
	"shared": func(_ Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		for i := range g {
			s.w[i] = bounded(s.w[i] - lr*g[i]*math.Sqrt(3/(3+s.one[0])))
		}
		s.one[0] += long(g) * long(g) / float64(len(g))
	},
	"std": func(_ Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		for i := range g {
			s.w[i] = bounded(s.w[i] - lr*g[i]*math.Sqrt(3/(3+s.a[i])))
			s.a[i] += g[i] * g[i]
		}
	},
	"rowadam": func(_ Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		lr *= math.Sqrt(1-math.Pow(0.999, float64(s.updates))) / (1 - math.Pow(0.9, float64(s.updates)))
		for i := range g {
			s.a[i], s.b[i] = 0.9*s.a[i]+0.1*g[i], 0.999*s.b[i]+0.001*g[i]*g[i]
			s.w[i] = bounded(s.w[i] - lr*s.a[i]/(math.Sqrt(s.b[i])+1e-8))
		}
	},
	"twoadam": func(_ Rule, s *slot, g []float64, lr float64, _ int, _ bool) {
		lr *= math.Sqrt(1-math.Pow(0.999, float64(s.updates))) / (1 - math.Pow(0.9, float64(s.updates)))
		var first, second float64
		for i := range g {
			m, v := 0.9*s.one[0]+0.1*g[i], 0.999*s.one[1]+0.001*g[i]*g[i]
			s.w[i] = bounded(s.w[i] - lr*m/(math.Sqrt(v)+1e-8))
			first, second = first+m, second+v
		}
		s.one = [2]float64{first / float64(len(g)), second / float64(len(g))}
	},
}

// exponent is that of Adam's correction: rows that are updated in the steps that touch them alone have one more.
func exponent(t int, lazy bool) float64 {
	if lazy {
		return float64(t + 1)
	}
	return float64(t)
}

func adam(s *slot, g []float64, lr, t float64) {
	for i := range g {
		s.a[i], s.b[i] = 0.9*s.a[i]+0.1*g[i], 0.999*s.b[i]+0.001*g[i]*g[i]
		m, v := s.a[i]/(1-math.Pow(0.9, t)), s.b[i]/(1-math.Pow(0.999, t))
		s.w[i] -= lr * m / (math.Sqrt(v) + 1e-8)
	}
}

// long is a vector's length.
func long(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// bounded is within the default bounds of rules of rows.
func bounded(x float64) float64 { return math.Max(-10, math.Min(10, x)) }
