package check

import (
	"math"

	"github.com/gofleet/gofleet/nn"
)

// Spread is how far a model's predictions for some rows lie apart, by the last number of each, in sums that add up over
// workers: the rows, the predictions, their squares, and how many are as good as 0 or 1.
type Spread [4]float64

// See adds a batch's predictions, of so many rows, which a node has computed. Numbers that are no probabilities, as
// logits are not, are nowhere as good as 0 or 1.
func (s *Spread) See(of *nn.Node, predictions []float32, rows int) {
	const edge = 1e-6
	width, chance := len(predictions)/max(rows, 1), of.Op() == "sigmoid" || of.Op() == "softmax"
	if width == 0 { // a mean of the batch, which says nothing of its rows
		return
	}
	for i := range rows {
		p := float64(predictions[(i+1)*width-1])
		s.Add([]float64{1, p, p * p, 0})
		if chance && (p < edge || p > 1-edge) {
			s[3]++
		}
	}
}

// Add adds the sums of others.
func (s *Spread) Add(sums []float64) {
	for i := range s {
		s[i] += sums[i]
	}
}

// enoughRows are so many that predictions which are all alike are no accident.
const enoughRows = 50

// Dead says in what way the predictions have nothing to do with the rows, "" if they may have. A loss of next to
// nothing is a model that is right.
func (s *Spread) Dead(loss float64) string {
	switch {
	case !(loss > 1e-3):
		return ""
	case s.alike():
		return "all alike"
	case s.certain() == 1 && loss > 0.5:
		return "all 0 or 1"
	}
	return ""
}

// alike says whether predictions are the same for all of enough rows.
func (s *Spread) alike() bool { return s[0] >= enoughRows && s[2]-s[1]*s[1]/s[0] <= 1e-12*s[2] }

// certain is the share of predictions that are as good as 0 or 1; 0 of too few.
func (s *Spread) certain() float64 {
	if s[0] < enoughRows {
		return 0
	}
	return s[3] / s[0]
}

// moments are mean and deviation.
func (s *Spread) moments() (mean, deviation float64) {
	n := max(s[0], 1)
	mean = s[1] / n
	return mean, math.Sqrt(max(s[2]/n-mean*mean, 0))
}
