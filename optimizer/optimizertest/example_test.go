package optimizertest_test

import (
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/optimizertest"
)

// A rule is held to its formula, and to all that servers ask of a rule. In a test of one's own:
func ExampleRun() {
	var t *testing.T // of func TestMyRule(t *testing.T)
	optimizertest.Run(t, optimizer.SGD{LR: 0.1}, optimizertest.Exam{Twin: func(w, g, _ []float64, _ int64) {
		for i := range w {
			w[i] -= 0.1 * g[i]
		}
	}})
}
