package train

import (
	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/nn"
)

// Unscaled returns numbers around 0 in the unit that they had before a scaling: a label whose column has the Scale s,
// and what the net predicts for it.
//
//	price := dataset.Scaling{Mean: 3931, Std: 3988}     // of the label's column: Scale: []dataset.Scaling{price}
//	predicted, label := nn.Linear(hidden, 1, nn.LinearOptions{}), g.Input("label", 1)
//	amount := train.Unscaled(predicted, price).Named("amount")
//	Loss:    nn.Mean(nn.SquareError(predicted, label))
//	Metrics: []*nn.Node{nn.RMSE(amount, train.Unscaled(label, price))}
//	Outputs: []*nn.Node{amount}
//
// So a loss is of numbers around 1, and metrics and outputs are in the label's own unit. What a job says of the label,
// such as the constant prediction beside a result, is in that unit too, if the format of Files has the Scale.
func Unscaled(x *nn.Node, s dataset.Scaling) *nn.Node {
	if s.Std == 0 {
		s.Std = 1
	}
	if x = nn.Scale(x, float32(s.Std), float32(s.Mean)); s.Log1p {
		x = nn.Scale(nn.Exp(x), 1, -1)
	}
	return x
}

// scalingOf is the scaling of a column of single numbers in a format of fields; none of other columns.
func scalingOf(f dataset.Format, column string) (s dataset.Scaling) {
	for _, c := range lined(f).Schema {
		if c.Name == column && len(c.Scale) == 1 {
			s = c.Scale[0]
		}
	}
	return s
}
