package train

import (
	"math"

	"github.com/gofleet/gofleet/nn"
)

// Evaluation is what all workers measured at one moment; all have the same numbers.
type Evaluation struct {
	// Epoch is the one that was under way, from 1.
	Epoch int `json:"epoch"`
	// End says that it was at its end.
	End bool `json:"end,omitempty"`
	// Examples are how many all workers have trained on since the job began.
	Examples int `json:"examples"`
	// Values are by name: [TrainLoss], the mean of the examples trained on in this epoch so far, each in its step, by
	// their weights of an [nn.WeightedMean], or of the examples since the job was started again in the middle of the
	// epoch; and on the test rows, if there are any, [EvalLoss] and "test " with the label of each metric. What could
	// not be measured is absent.
	Values map[string]float64 `json:"values"`
}

// Value is that of one of the job's metrics on the test rows, or of its loss, which nil is; NaN if it was not measured.
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

// Names of values that every evaluation has.
const (
	TrainLoss = "train loss"
	EvalLoss  = "test loss"
)
