package twin

import (
	"math"

	"github.com/gofleet/gofleet/strategy"
)

// push is what a worker gives to a round: the gradient of k steps.
type push struct {
	*gradient
	worker int
}

// merged is the gradient of several steps together: their sum, or the mean over their samples.
func merged(steps []*gradient, sum bool) *gradient {
	all := newGradient()
	for _, g := range steps {
		all.samples += g.samples
	}
	for _, g := range steps {
		scale := float64(g.samples) / float64(all.samples)
		if sum {
			scale = 1
		}
		all.add(g, scale)
	}
	return all
}

func (g *gradient) add(other *gradient, scale float64) {
	for name, x := range other.dense {
		g.addDense(name, scale, x)
	}
	for table, rows := range other.rows {
		for id, x := range rows {
			g.addRow(table, id, scale, x)
		}
	}
	for table, all := range other.marks {
		for id, m := range all {
			g.mark(table, id, m)
		}
	}
}

// folded is the gradient of a round, and how many of its pushes had each id.
func folded(pushes []push, weighting strategy.Weighting) (*gradient, map[string]map[uint64]int) {
	all, had := newGradient(), map[string]map[uint64]int{}
	for _, p := range pushes {
		all.samples += p.samples
		for table, rows := range p.rows {
			if had[table] == nil {
				had[table] = map[uint64]int{}
			}
			for id := range rows {
				had[table][id]++
			}
		}
	}
	for _, p := range pushes {
		scale := float64(p.samples) / float64(all.samples)
		if weighting == strategy.WeightEqual || weighting == strategy.WeightPushes {
			scale = 1 / float64(len(pushes))
		}
		all.add(p.gradient, scale)
	}
	if weighting == strategy.WeightPushes {
		for table, rows := range all.rows {
			for id, x := range rows {
				for i := range x {
					x[i] *= float64(len(pushes)) / float64(had[table][id])
				}
			}
		}
	}
	return all, had
}

// clip shortens the gradients of an update where they are too long.
func clip(rules Rules, g *gradient) {
	if rules.Clip == "" {
		return
	}
	spared := map[string]bool{}
	for _, name := range rules.Except {
		spared[name] = true
	}
	parts := map[string][][]float64{}
	for name, x := range g.dense {
		parts[name] = [][]float64{x}
	}
	for table, rows := range g.rows {
		for _, x := range rows {
			parts[table] = append(parts[table], x)
		}
	}
	all, each := 0.0, map[string]float64{}
	for name, xs := range parts {
		if spared[name] {
			continue
		}
		for _, x := range xs {
			each[name] += long(x) * long(x)
		}
		all += each[name]
	}
	for name, xs := range parts {
		square := all
		if rules.Clip == "each" {
			square = each[name]
		}
		if spared[name] || square <= rules.Norm*rules.Norm {
			continue
		}
		for _, x := range xs {
			for i := range x {
				x[i] *= rules.Norm / math.Sqrt(square)
			}
		}
	}
}
