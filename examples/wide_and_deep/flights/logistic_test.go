package flights

import (
	"math"
	"slices"
)

// logistic is a logistic regression on numbers and ids, trained by Adagrad one flight at a time.
type logistic struct {
	dense, denseSquares [13]float32
	weights, squares    []float32 // by id
	bias, biasSquares   float32
}

func (m *logistic) score(x []float32, ids []int64) float32 {
	z := m.bias
	for i, v := range x {
		z += m.dense[i] * v
	}
	for _, id := range ids {
		z += m.weights[id]
	}
	return z
}

func (m *logistic) train(x []float32, ids []int64, labels []float32) {
	for i, y := range labels {
		x, ids := x[i*13:][:13], ids[i*20:][:20]
		p := 1 / (1 + math.Exp(-float64(m.score(x, ids))))
		g := float32(p) - y
		adagrad(&m.bias, &m.biasSquares, g)
		for j, v := range x {
			adagrad(&m.dense[j], &m.denseSquares[j], g*v)
		}
		for _, id := range ids {
			adagrad(&m.weights[id], &m.squares[id], g)
		}
	}
}

func adagrad(w, squares *float32, g float32) {
	*squares += g * g
	*w -= 0.05 * g / float32(math.Sqrt(float64(*squares)+1e-6))
}

// auc is the probability that a late flight scores above another, ties as halves.
func auc(scores, labels []float32) float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case scores[a] < scores[b]:
			return -1
		case scores[a] > scores[b]:
			return 1
		}
		return 0
	})
	var ranks, positives float64
	for lo := 0; lo < len(order); {
		hi := lo
		for hi < len(order) && scores[order[hi]] == scores[order[lo]] {
			hi++
		}
		for _, i := range order[lo:hi] {
			if labels[i] == 1 {
				ranks += float64(lo+hi+1) / 2
				positives++
			}
		}
		lo = hi
	}
	return (ranks - positives*(positives+1)/2) / (positives * (float64(len(order)) - positives))
}
