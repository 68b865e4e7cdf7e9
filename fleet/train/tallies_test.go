package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/nn"
)

// TestTalliesTravel: numbers come to the others as they are, bit by bit, and those of an AUC that has seen few rows in few bytes. What is
// cut off, or speaks of more numbers than there are, is refused.
func TestTalliesTravel(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	auc := make(tallies, 131_073)
	for range 20 {
		auc[r.IntN(len(auc))] = 1
	}
	for _, want := range []tallies{nil, {0}, {1}, {0, 0, 3}, {math.Copysign(0, -1), 0, math.Inf(1), math.NaN(), 0}, {0.1, 1e-300, -2, 0, 0}, auc} {
		b, err := want.GobEncode()
		var got tallies
		if err == nil {
			err = got.GobDecode(b)
		}
		if err != nil || !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Errorf("%d numbers come as %d, error %v", len(want), len(got), err)
		}
		if len(b) > 8*len(want)+1 && len(b) > 300 {
			t.Errorf("%d numbers take %d bytes", len(want), len(b))
		}
		for cut := range min(len(b), 40) {
			if err := got.GobDecode(b[:cut]); err == nil && len(got) != len(want) {
				t.Errorf("%d of %d bytes are %d numbers", cut, len(b), len(got))
			}
		}
	}
	for _, bad := range [][]byte{{}, {0, 0}, {2, 2, 0, 0, 0, 0, 0, 0, 0, 1}, {2, 0, 1}, {255, 255, 255, 255, 255, 255, 255, 255, 255, 1}} {
		if err := new(tallies).GobDecode(bad); err == nil {
			t.Errorf("%v are numbers", bad)
		}
	}
}

// TestSpreadsOfOneWorker: predictions that ignore the rows are found by the spreads of those that send them.
func TestSpreadsOfOneWorker(t *testing.T) {
	t.Parallel()
	g := nn.NewGraph(1)
	x, y := g.Input("x", 1), g.Input("y", 1)
	p := nn.Linear(x, 1, nn.LinearOptions{Act: nn.Sigmoid})
	rows := dataset.FromColumns(dataset.FloatValues("x", make([]float32, 60)), dataset.FloatValues("y", make([]float32, 60)))
	of := tests{job: &Job{Loss: nn.Mean(nn.BinaryCrossEntropy(p, y))}, rows: rows}
	own, spreads, err := measure(t.Context(), nn.NewExecutor(g), rows, of.nodes(), of.predictions(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	shares := []share{{Sums: append([]float64{60, 0, 60, 60}, own.sums...), Spreads: spreads}, {Sums: append([]float64{60, 0, 60, 60}, own.sums...)}}
	e, err := of.join(shares, true)
	if of.warnDead(shares, e); err != nil || e.Examples != 120 || math.Abs(e.Values[EvalLoss]-math.Ln2) > 1e-3 || !of.dead {
		t.Errorf("%+v, dead %v, error %v", e, of.dead, err)
	}
}
