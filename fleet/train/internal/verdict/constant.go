package verdict

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/nn"
)

// Aim is a prediction that a loss compares with labels. The constant prediction is learned from the labels: their mean,
// or the shares of classes.
type Aim struct {
	Pred, Label *nn.Node
	Weight      *nn.Node // of rows; nil means that all count
	Group       *nn.Node // of rows, which the loss compares with each other; nil if it does not
	shape       shape
}

// shape is how a prediction's numbers follow from the mean of the labels.
type shape int

const (
	asMean  shape = iota // the mean itself
	asShare              // a mean from 0 to 1, whose logarithm a loss takes
	asOdds               // the logarithm of the odds
	asClass              // the shares of classes
	asLogs               // their logarithms
	asSign               // the sign of the class that most rows have
)

// shapes are the ops that compare predictions with labels of which a constant can be learned.
var shapes = map[string]shape{
	"square_error": asMean, "absolute_error": asMean, "smooth_l1": asMean,
	"binary_cross_entropy": asShare, "log_loss": asShare,
	"binary_cross_entropy_with_logits": asOdds, "focal_loss": asOdds,
	"cross_entropy": asClass, "softmax_with_cross_entropy": asLogs, "hinge": asSign, "group_pairs": asMean,
}

// mostNumbers bounds the numbers of a prediction of which a constant is learned: checkpoints keep their sums.
const mostNumbers = 256

// Aims are the predictions that a loss compares with labels, in its order, each once.
func Aims(loss *nn.Node) (all []Aim) {
	known := map[*nn.Node]bool{}
	walk(loss, func(n *nn.Node, in []*nn.Node, weight *nn.Node) bool {
		s, is := shapes[n.Op()]
		if is && !known[in[0]] && in[0].Shape()[0] == -1 && Width(in[0]) <= mostNumbers {
			known[in[0]] = true
			a := Aim{Pred: in[0], Label: in[1], Weight: weight, shape: s}
			if n.Op() == "group_pairs" {
				a.Group = in[2]
			}
			all = append(all, a)
		}
		return !is
	})
	return all
}

// classes is the number of classes whose shares are the prediction, 0 if it is of no classes.
func (a *Aim) classes() int {
	if a.shape != asClass && a.shape != asLogs {
		return 0
	}
	s := a.Pred.Shape()
	return s[len(s)-1]
}

// Size is the number of sums over labels.
func (a *Aim) Size() int {
	if n := a.classes(); n > 0 {
		return n
	}
	return 2 * Width(a.Pred)
}

// Add adds a batch's labels, with the weights of rows or nil, to sums: of each class its rows, else of each number of
// the prediction the weights and the weighted labels.
func (a *Aim) Add(sums []float64, label, weight *tensor.Dense) {
	rows, y, w, of := label.Shape()[0], numbers(label), func(int) float64 { return 1 }, 1
	each := label.Size() / rows
	if weight != nil {
		w, of = numbers(weight), weight.Size()/rows
	}
	n := a.classes()
	for i := range rows * each {
		v, by := y(i), w(i/each*of+i%each%of)
		switch {
		case n == 0:
			sums[2*(i%each)] += by
			sums[2*(i%each)+1] += by * v
		case each == Width(a.Pred): // a share of each class
			sums[i%n] += by * v
		case v >= 0 && v < float64(n):
			sums[int(v)] += by
		}
	}
}

// Constant is the prediction that is the same for every row. A class without a label has half a row, since losses take
// logarithms.
func (a *Aim) Constant(sums []float64) (row []float32) {
	if n := a.classes(); n > 0 {
		all := 0.0
		for _, of := range sums {
			all += of
		}
		for i := range Width(a.Pred) {
			share := max(sums[i%n], 0.5) / all
			if a.shape == asLogs {
				share = math.Log(share)
			}
			row = append(row, float32(share))
		}
		return row
	}
	for i := 0; i < len(sums); i += 2 {
		mean, least := sums[i+1]/sums[i], 0.5/sums[i]
		share := min(max(mean, least), 1-least)
		switch a.shape {
		case asShare:
			mean = share
		case asOdds:
			mean = math.Log(share / (1 - share))
		case asSign:
			mean = math.Copysign(1, mean-0.5)
		}
		row = append(row, float32(mean))
	}
	return row
}

// Always describes the constant predictions: a number where there is one, as unscaled gives it.
func Always(aims []Aim, sums []float64, unscaled func(float64) float64) string {
	switch a := aims[0]; {
	case len(aims) == 1 && a.classes() > 0:
		return "always the shares of the classes"
	case len(aims) == 1 && a.Size() == 2:
		return fmt.Sprintf("always %.4f", unscaled(sums[1]/sums[0]))
	}
	return "always the means of the labels"
}
