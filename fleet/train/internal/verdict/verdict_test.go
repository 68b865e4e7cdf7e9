package verdict

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
)

// scored is a row: its chance, and its label.
type scored struct {
	p     float32
	label float64
}

// tallyOf is a tally of rows with chances, as sums of two workers.
func tallyOf(rows []scored) *Tally {
	g := nn.NewGraph(1)
	c := Of(nn.Mean(nn.LogLoss(g.Input("p", 1), g.Input("y", 1))))[0]
	both := [2]*Tally{NewTally(c), NewTally(c)}
	for i, r := range rows {
		both[i%2].See([]*tensor.Dense{floats(r.p), floats(float32(r.label))})
	}
	for i, v := range both[1].Sums {
		both[0].Sums[i] += v
	}
	return both[0]
}

func floats(v ...float32) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
}

// TestCalibrationIsOfSortedRows: buckets of bins that add up are those of all rows, sorted by their chances, where no two chances share
// a bin.
func TestCalibrationIsOfSortedRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, rare := rapid.IntRange(1, 300).Draw(t, "rows"), rapid.Bool().Draw(t, "rare")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var rows []scored
		for i := range n {
			odds := math.Ldexp(1+(float64(i%16)+0.5)/16, i/16-9) // each in a bin of its own
			if rare {
				odds /= 4096
			}
			row := scored{p: float32(odds / (1 + odds))}
			if r.Float64() < 0.3 {
				row.label = 1
			}
			rows = append(rows, row)
		}
		r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		got, off := tallyOf(rows).Calibration()
		slices.SortFunc(rows, func(a, b scored) int { return cmp.Compare(a.p, b.p) })
		var want []Bucket
		wantOff, from := 0.0, 0
		for b := 1; b <= 10; b++ {
			end := (b*n + 9) / 10 // the first row count that reaches b tenths
			if end == from {
				continue
			}
			var of Bucket
			for _, row := range rows[from:end] {
				of.Rows, of.Predicted, of.Observed = of.Rows+1, of.Predicted+float64(row.p), of.Observed+row.label
			}
			wantOff += math.Abs(of.Predicted-of.Observed) / float64(n)
			want = append(want, Bucket{of.Rows, of.Predicted / of.Rows, of.Observed / of.Rows})
			from = end
		}
		if len(got) != len(want) || math.Abs(off-wantOff) > 1e-6 {
			t.Fatalf("%d rows: %v off by %v, want %v off by %v", n, got, off, want, wantOff)
		}
		for i := range got {
			if got[i].Rows != want[i].Rows || math.Abs(got[i].Predicted-want[i].Predicted) > 1e-6 || math.Abs(got[i].Observed-want[i].Observed) > 1e-6 {
				t.Fatalf("%d rows: bucket %d is %v, want %v", n, i, got[i], want[i])
			}
		}
	})
}

// TestEqualScoresShareABucket: rows with one chance are one bucket, and of no rows nothing is known.
func TestEqualScoresShareABucket(t *testing.T) {
	rows := slices.Repeat([]scored{{0.25, 0}, {0.25, 1}}, 50)
	if got, off := tallyOf(rows).Calibration(); len(got) != 1 || got[0] != (Bucket{100, 0.25, 0.5}) || off != 0.25 {
		t.Errorf("buckets are %v, off by %v", got, off)
	}
	if got, off := tallyOf(nil).Calibration(); len(got) != 0 || off == off {
		t.Errorf("of no rows buckets are %v, off by %v", got, off)
	}
	if got, _ := tallyOf([]scored{{float32(math.NaN()), 1}, {0.5, -1}, {0.5, 2}, {1, 1}}).Calibration(); len(got) != 1 || got[0].Rows != 1 {
		t.Errorf("a row counts without a number or a class: %v", got)
	}
}

// TestWhatIsCompared: of each loss the chances and the classes are those that it compares with labels, of rows that weigh something.
func TestWhatIsCompared(t *testing.T) {
	two := []float32{-2, 1, 0, 3, 1, -4} // of three rows
	labels := []int64{1, 0, 0}
	for name, c := range map[string]struct {
		loss  func(pred, two, label, class, weight *nn.Node) *nn.Node
		one   []float32 // predictions of a number
		right [2]float64
		mean  float64 // of chances
		rows  float64
	}{
		"chances":  {func(p, _, y, _, _ *nn.Node) *nn.Node { return nn.Mean(nn.BinaryCrossEntropy(p, y)) }, []float32{0.5, 0.25, 0.75}, [2]float64{0.5, 1}, 0.5, 3},
		"logits":   {func(p, _, y, _, _ *nn.Node) *nn.Node { return nn.Mean(nn.BinaryCrossEntropyWithLogits(p, y)) }, []float32{-1, 1, 0}, [2]float64{0, 0}, 0.5, 3},
		"focal":    {func(p, _, y, _, _ *nn.Node) *nn.Node { return nn.Mean(nn.FocalLoss(p, y, 2, 0)) }, []float32{-1, 1, 0}, [2]float64{0, 0}, 0.5, 3},
		"weighted": {func(p, _, y, _, w *nn.Node) *nn.Node { return nn.WeightedMean(nn.LogLoss(p, y), w) }, []float32{0.5, 0.25, 0.75}, [2]float64{1, 1}, 0.375, 2},
		"softmax": {func(_, x, _, y, _ *nn.Node) *nn.Node { return nn.Mean(nn.SoftmaxWithCrossEntropy(x, y)) }, nil, [2]float64{0.5, 1},
			(1/(1+math.Exp(-3)) + 1/(1+math.Exp(-3)) + 1/(1+math.Exp(5))) / 3, 3},
	} {
		g := nn.NewGraph(1)
		loss := c.loss(g.Input("p", 1), g.Input("x", 2), g.Input("y", 1), g.IDs("class", 1), g.Input("w", 1))
		law.Check(t, g.Err())
		all := Of(loss)
		if len(all) != 1 || !all[0].Binary() {
			t.Fatalf("%s: %v", name, all)
		}
		tally := NewTally(all[0])
		fetched := []*tensor.Dense{floats(c.one...), floats(1, 0, 0), floats(3, 2, 0)}
		if name == "softmax" {
			fetched = []*tensor.Dense{tensor.New(tensor.WithShape(3, 2), tensor.WithBacking(two)), tensor.New(tensor.WithShape(3, 1), tensor.WithBacking(labels))}
		}
		tally.See(fetched[:len(tally.Fetch())])
		buckets, _ := tally.Calibration()
		var mean, rows float64
		for _, b := range buckets {
			mean, rows = mean+b.Rows*b.Predicted, rows+b.Rows
		}
		m := tally.matrix()
		right := [2]float64{m[0][0] / (m[0][0] + m[0][1]), m[1][1] / (m[1][0] + m[1][1])}
		if rows != c.rows || math.Abs(mean/rows-c.mean) > 1e-6 || right != c.right {
			t.Errorf("%s: %v rows with chances of %v, right of each class %v; want %v, %v and %v", name, rows, mean/rows, right, c.rows, c.mean, c.right)
		}
	}
}

// TestSeveralLabels: a row with several labels of two classes has a tally for each, under the label's name and its place, with the rows
// that weigh something there.
func TestSeveralLabels(t *testing.T) {
	two := func(v ...float32) *tensor.Dense {
		return tensor.New(tensor.WithShape(len(v)/2, 2), tensor.WithBacking(v))
	}
	pred, label := two(0.25, 0.5, 0.75, 1, 0.5, 0.75), two(0, 1, 1, 1, 1, 0)
	for weight, want := range map[*tensor.Dense]string{
		nil:                   "y_0 3 0.500 0.667, y_1 3 0.750 0.667",
		two(1, 0, 1, 2, 0, 1): "y_0 2 0.500 0.500, y_1 2 0.875 0.500",
		floats(0, 1, 3):       "y_0 2 0.625 1.000, y_1 2 0.875 0.500",
	} {
		g := nn.NewGraph(1)
		each := nn.LogLoss(g.Input("p", 2), g.Input("y", 2))
		loss := nn.Mean(each)
		if weight != nil {
			loss = nn.WeightedMean(each, g.Input("w", weight.Shape()[1]))
		}
		law.Check(t, g.Err())
		var got []string
		for _, c := range Of(loss) {
			tally := NewTally(c)
			tally.See([]*tensor.Dense{pred, label, weight}[:len(tally.Fetch())])
			buckets, _ := tally.Calibration()
			var all Bucket
			for _, b := range buckets {
				all.Rows, all.Predicted, all.Observed = all.Rows+b.Rows, all.Predicted+b.Rows*b.Predicted, all.Observed+b.Rows*b.Observed
			}
			got = append(got, fmt.Sprintf("%s %v %.3f %.3f", tally.Name(), all.Rows, all.Predicted/all.Rows, all.Observed/all.Rows))
		}
		if said := strings.Join(got, ", "); said != want {
			t.Errorf("%s; want %s", said, want)
		}
	}
}

// TestConfusion: of several classes each row stands in its own line, under the class with the largest number.
func TestConfusion(t *testing.T) {
	g := nn.NewGraph(1)
	c := Of(nn.Mean(nn.SoftmaxWithCrossEntropyOf(g.Input("x", 3), g.IDs("digit", 1), nn.CrossEntropyOptions{Ignore: new(int64(-100))})))[0]
	tally := NewTally(c)
	tally.See([]*tensor.Dense{tensor.New(tensor.WithShape(4, 3), tensor.WithBacking([]float32{1, 2, 0, 0, 5, 6, 9, 1, 1, 9, 1, 1})),
		tensor.New(tensor.WithShape(4, 1), tensor.WithBacking([]int64{1, 1, 0, -100}))})
	r := Report{Rows: 4, Tallies: []*Tally{tally}}
	lines := strings.Split(r.String(), "\n")
	for _, want := range []string{"0 1 0 0 1.0000", "1 0 1 1 0.5000", "2 0 0 0 –"} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Join(strings.Fields(l), " ") == want }) {
			t.Errorf("no line %q in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	many := nn.Mean(nn.SoftmaxWithCrossEntropy(g.Input("wide", 21), g.IDs("word", 1)))
	if all := append(Of(many), Of(nn.Mean(nn.SquareError(g.Input("a", 1), g.Input("b", 1))))...); len(all) > 0 {
		t.Errorf("%v are no few classes", all)
	}
}
