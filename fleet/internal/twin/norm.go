package twin

import (
	"math"
	"slices"
)

// Names of batch norm's params: two that rules change, and the averages that training moves.
const (
	normScale    = "norm.w_0"
	normShift    = "norm.b_0"
	normMean     = "norm.w_1"
	normVariance = "norm.w_2"
)

// frozen are the names of params that no rule changes.
func (n Net) frozen() []string {
	if n.Norm == 0 {
		return nil
	}
	return []string{normMean, normVariance}
}

// firstOf are a variable's first values.
func (p *Program) firstOf(name string) []float64 {
	switch name {
	case normScale:
		return slices.Repeat([]float64{1}, p.Net.Inputs)
	case normShift:
		return make([]float64, p.Net.Inputs)
	}
	return firstDense(p.Seed, name, spread, p.Net.size(name))
}

// moments are the mean and the variance of each of an example's numbers: of a batch, or moving averages of those of
// batches.
type moments map[string][]float64

func (m moments) clone() moments {
	c := moments{}
	for name, w := range m {
		c[name] = copied(w)
	}
	return c
}

// firstMoments are those before the first batch.
func (n Net) firstMoments() moments {
	if n.Norm == 0 {
		return moments{}
	}
	return moments{normMean: make([]float64, n.Inputs), normVariance: slices.Repeat([]float64{1}, n.Inputs)}
}

// moments are those of a batch.
func (p Program) moments(samples []int) moments {
	if p.Net.Norm == 0 {
		return nil
	}
	of, n := moments{normMean: make([]float64, p.Net.Inputs), normVariance: make([]float64, p.Net.Inputs)},
		float64(len(samples))
	for _, i := range samples {
		for k, x := range p.example(i).x {
			of[normMean][k] += float64(x) / n
		}
	}
	for _, i := range samples {
		for k, x := range p.example(i).x {
			of[normVariance][k] += (float64(x) - of[normMean][k]) * (float64(x) - of[normMean][k]) / n
		}
	}
	return of
}

// normalised is an example whose numbers are as far from their mean as their deviation says.
func (e example) normalised(of moments) example {
	for k := range of[normMean] {
		e.normal = append(e.normal, (float64(e.x[k])-of[normMean][k])/math.Sqrt(of[normVariance][k]+1e-5))
	}
	return e
}

// average are the moving averages of a worker, and how many steps have moved them since all met.
type average struct {
	moments
	steps int
}

// moves moves a worker's averages by a batch that it trains on.
func (m *model) moves(worker int, batch []int) {
	a := &m.averages[worker]
	for name, of := range m.p.moments(batch) {
		for k, x := range of {
			a.moments[name][k] += (x - a.moments[name][k]) * (1 - float64(m.p.Net.Norm))
		}
		m.now.round(a.moments[name])
	}
	a.steps++
}

// average makes the averages of all workers their mean, by the steps that each has made since they met last.
func (m *model) average() {
	all := 0
	for _, a := range m.averages {
		all += a.steps
	}
	if all == 0 {
		return
	}
	for _, name := range m.p.Net.frozen() {
		sum := make([]float64, m.p.Net.Inputs)
		for _, a := range m.averages {
			for k, x := range a.moments[name] {
				sum[k] += x * float64(a.steps) / float64(all)
			}
		}
		for _, a := range m.averages {
			copy(a.moments[name], sum)
		}
	}
	for w := range m.averages {
		m.averages[w].steps = 0
	}
}

// begin has all workers begin with averages that were saved: all, or those that are named.
func (m *model) begin(with moments, only []string) {
	for w := range m.averages {
		a := &m.averages[w]
		for name, x := range with {
			if len(only) == 0 || slices.Contains(only, name) {
				a.moments[name] = copied(x)
			}
		}
		a.steps = 0
	}
}
