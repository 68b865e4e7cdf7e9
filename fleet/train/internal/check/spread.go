package check

import (
	"math"

	"github.com/gofleet/gofleet/nn"
)

// Spread is how far a model's predictions for some rows lie apart, in sums that add up over workers: the rows, the last
// number of each and its square, how many rows have nothing but what is as good as 0 or 1, and a mean of all numbers of
// each, in which later ones weigh more, and its square.
type Spread [6]float64

// See adds a batch's predictions, of so many rows, which a node has computed. Numbers that are no probabilities, as
// logits are not, are nowhere as good as 0 or 1.
func (s *Spread) See(of *nn.Node, predictions []float32, rows int) {
	const edge = 1e-6
	width, chance := len(predictions)/max(rows, 1), of.Op() == "sigmoid" || of.Op() == "softmax"
	if width == 0 { // a mean of the batch, which says nothing of its rows
		return
	}
	for i := range rows {
		mixed, certain := 0.0, 0.0
		if chance {
			certain = 1
		}
		for j, v := range predictions[i*width : (i+1)*width] {
			p := float64(v)
			mixed += p * float64(j+1) / float64(width)
			if !(p < edge || p > 1-edge) {
				certain = 0
			}
		}
		last := float64(predictions[(i+1)*width-1])
		s.Add([]float64{1, last, last * last, certain, mixed, mixed * mixed})
	}
}

// Add adds the sums of others.
func (s *Spread) Add(sums []float64) {
	for i := range s {
		s[i] += sums[i]
	}
}

// Certain is what Dead says of predictions that are as good as 0 or 1, and wrong.
const Certain = "all 0 or 1"

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
		return Certain
	}
	return ""
}

// alike says whether predictions are the same for all of enough rows.
func (s *Spread) alike() bool { return s[0] >= enoughRows && s[5]-s[4]*s[4]/s[0] <= 1e-12*s[5] }

// certain is the share of predictions that are as good as 0 or 1; 0 of too few.
func (s *Spread) certain() float64 {
	if s[0] < enoughRows {
		return 0
	}
	return s[3] / s[0]
}

// moments are mean and deviation of the last numbers.
func (s *Spread) moments() (mean, deviation float64) {
	n := max(s[0], 1)
	mean = s[1] / n
	return mean, math.Sqrt(max(s[2]/n-mean*mean, 0))
}
