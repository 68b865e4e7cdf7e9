package train

import (
	"math"

	"github.com/gofleet/gofleet/nn"
)

// Evaluation is what all workers measured at one moment; all have the same numbers.
type Evaluation struct {
	// Epoch is the epoch of the evaluation, from 1.
	Epoch int `json:"epoch"`
	// End says that the evaluation was at the end of the epoch.
	End bool `json:"end,omitempty"`
	// Examples is the number of examples that all workers have trained on since the job began.
	Examples int `json:"examples"`
	// Values are by name: [TrainLoss], the mean loss of the examples trained on in this epoch so far, each as of its
	// step and weighted as in an [nn.WeightedMean]; after a restart in the middle of the epoch, of the examples since
	// then; under "train " with its label each metric of these that counts over batches and that Job.Show has. On the
	// test rows, if there are any: [EvalLoss], and "test " with the label of each metric. Values that could not be
	// measured are absent. Under "constant " and the name of a value on the test rows is that of the prediction which
	// is the same for every row: the share of ones, the mean or the shares of classes of the labels that all workers
	// trained on in the first epoch, before its end of those so far. A model has to be better by more than "constant
	// standard error", that of the difference of both losses, if the loss is a Mean over rows.
	Values map[string]float64 `json:"values"`
}

// Value returns the value of one of the job's metrics on the test rows or, for nil, of its loss; NaN if it was not
// measured.
func (e Evaluation) Value(metric *nn.Node) float64 {
	name := EvalLoss
	if metric != nil {
		name = testName(metric)
	}
	if v, measured := e.Values[name]; measured {
		return v
	}
	return math.NaN()
}

func testName(n *nn.Node) string { return "test " + n.Label() }

func trainName(n *nn.Node) string { return "train " + n.Label() }

// Names of the values in every evaluation.
const (
	TrainLoss = "train loss"
	EvalLoss  = "test loss"
)
