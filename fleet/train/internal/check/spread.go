package check

import (
	"math"

	"github.com/gofleet/gofleet/nn"
)

// Spread is the spread of a model's predictions, in sums that can be added over workers: the rows, the last number of
// each and its square, the number of rows whose numbers are all near 0 or 1, and a mean of all numbers of each, in
// which later ones weigh more, and its square.
type Spread [6]float64

// See adds the predictions of a batch of rows, which node of has computed. Numbers that are no probabilities, such as
// logits, do not count as near 0 or 1.
func (s *Spread) See(of *nn.Node, predictions []float32, rows int) {
	const edge = 1e-6
	width, chance := len(predictions)/max(rows, 1), of.Op() == "sigmoid" || of.Op() == "softmax"
	if width == 0 { // a mean over the batch, not over its rows
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

// Certain is Dead's description of predictions that are near 0 or 1, and wrong.
const Certain = "all 0 or 1"

// enoughRows is the number of rows for which equal predictions can't be chance.
const enoughRows = 50

// Dead describes how the predictions ignore the rows, "" if they may not. A loss near 0 is of a model that is right.
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

// alike reports whether predictions are the same for all of enough rows.
func (s *Spread) alike() bool { return s[0] >= enoughRows && s[5]-s[4]*s[4]/s[0] <= 1e-12*s[5] }

// certain is the share of predictions near 0 or 1; 0 for too few rows.
func (s *Spread) certain() float64 {
	if s[0] < enoughRows {
		return 0
	}
	return s[3] / s[0]
}

// moments are the mean and the deviation of the last numbers.
func (s *Spread) moments() (mean, deviation float64) {
	n := max(s[0], 1)
	mean = s[1] / n
	return mean, math.Sqrt(max(s[2]/n-mean*mean, 0))
}
