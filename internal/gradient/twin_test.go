package gradient

import (
	"math"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// plain is the twin of a Step: one map from a variable or row to its gradient, in double precision. What the package does in slices
// that are used again and in one pass is here a loop over a map, as its formula reads.
type plain struct {
	samples int
	g       map[place][]float64
	clicks  map[place][2]float64
	said    map[place]bool // something is said of shows and clicks of the rows of that step
	counted map[place]bool // the row's entry counts them
}

// place is a variable, or a row of an embedding.
type place struct {
	param string
	row   bool
	id    uint64
}

func newPlain(samples int) plain {
	return plain{samples, map[place][]float64{}, map[place][2]float64{}, map[place]bool{}, map[place]bool{}}
}

// plainOf is a training step, without what is frozen. counted says that each row is a show though the step says nothing.
func plainOf(params []*optimizer.Param, st *optimizer.Step, counted bool) plain {
	s := newPlain(st.Samples)
	for _, p := range params {
		if !p.Embedding && !p.Frozen {
			s.g[place{param: p.Name}] = widened(p.G)
		}
	}
	for _, r := range st.Rows {
		if r.Param.Frozen {
			continue
		}
		for i, id := range r.IDs {
			at, n := place{r.Param.Name, true, id}, [2]float64{1, 0}
			if r.Show != nil {
				n[0] = float64(r.Show[i])
			}
			if r.Click != nil {
				n[1] = float64(r.Click[i])
			}
			s.counted[at] = r.Param.Entry.Counts()
			s.said[at] = s.counted[at] && (counted || r.Show != nil || r.Click != nil)
			s.g[at], s.clicks[at] = widened(r.G[i*r.Param.Dim():][:r.Param.Dim()]), n
		}
	}
	return s
}

func widened(g []float32) []float64 {
	wide := make([]float64, len(g))
	for i, v := range g {
		wide[i] = float64(v)
	}
	return wide
}

// together is Σ weight·g over steps; each row's is divided by the number of steps that have it, if means says so. Shows and clicks are
// summed, where entries count them: a step that says nothing is one show of each of its rows.
func together(all []plain, weight func(step int, at place) float64, means bool) plain {
	sum, has := newPlain(0), map[place]float64{}
	for step, s := range all {
		sum.samples += s.samples
		for at, g := range s.g {
			if sum.g[at] == nil {
				sum.g[at] = make([]float64, len(g))
			}
			for i, v := range g {
				sum.g[at][i] += weight(step, at) * v
			}
			n := sum.clicks[at]
			sum.clicks[at] = [2]float64{n[0] + s.clicks[at][0], n[1] + s.clicks[at][1]}
			has[at]++
			sum.said[at], sum.counted[at] = s.counted[at], s.counted[at]
		}
	}
	for at, g := range sum.g {
		for i := range g {
			if means && at.row {
				g[i] /= has[at]
			}
		}
	}
	return sum
}

// bySamples weighs steps by their samples.
func bySamples(all []plain) func(int, place) float64 {
	total := 0
	for _, s := range all {
		total += s.samples
	}
	return func(step int, _ place) float64 { return float64(all[step].samples) / float64(total) }
}

// guarded applies a policy for what is not finite, and says how much it found.
func (s plain) guarded(policy strategy.NotFinite) (seen int) {
	for at, g := range s.g {
		largest, bad := 0.0, false
		for _, v := range g {
			if v-v != 0 {
				bad = true
			} else {
				largest = max(largest, math.Abs(v))
			}
		}
		if !bad {
			continue
		}
		if seen++; policy == strategy.NotFiniteSkip && at.row {
			delete(s.g, at)
			continue
		}
		for i, v := range g {
			switch {
			case v != v || policy == strategy.NotFiniteSkip:
				g[i] = 0
			case math.IsInf(v, 0):
				g[i] = math.Copysign(largest, v)
			}
		}
	}
	return seen
}

// clipped shortens the gradients of groups of variables to norm: of each by itself, or of all together.
func (s plain) clipped(norm float64, together bool) {
	group := func(at place) string {
		if together {
			return ""
		}
		return at.param
	}
	squares := map[string]float64{}
	for at, g := range s.g {
		for _, v := range g {
			squares[group(at)] += v * v
		}
	}
	for at, g := range s.g {
		if long := math.Sqrt(squares[group(at)]); long > norm {
			for i := range g {
				g[i] *= norm / long
			}
		}
	}
}

// limited keeps each element between −most and most.
func (s plain) limited(most float64) {
	for _, g := range s.g {
		for i, v := range g {
			g[i] = min(max(v, -most), most)
		}
	}
}
