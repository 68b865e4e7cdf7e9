package verdict

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/histogram"
	"github.com/gofleet/gofleet/nn"
)

// Comparison is a prediction of each row's class that a loss compares with its label.
type Comparison struct {
	Pred, Label *nn.Node
	weight      *nn.Node // of rows, 0 leaves a row out; nil means that all count
	kind        kind
	classes     int
	column      int // of predictions and labels, if a row has several binary ones
}

// Name is the label's name, with the column if a row has several.
func (c *Comparison) Name() string {
	if Width(c.Label) == 1 {
		return c.Label.Label()
	}
	return fmt.Sprintf("%s_%d", c.Label.Label(), c.column)
}

// kind is the meaning of a prediction's numbers.
type kind int

const (
	chance   kind = iota // the probability of label 1
	logit                // its sigmoid is that probability
	weighing             // a number for each class, the largest for the likeliest: logits of two or more
	chances              // the probability of each class
)

// kinds are the ops that compare predictions of classes with labels.
var kinds = map[string]kind{
	"binary_cross_entropy": chance, "log_loss": chance,
	"binary_cross_entropy_with_logits": logit, "focal_loss": logit,
	"softmax_with_cross_entropy": weighing, "cross_entropy": chances,
}

// mostClasses bounds a matrix that a person can read.
const mostClasses = 20

// Of returns the comparisons that a loss is computed from, in its order: of one class a row, out of at most
// mostClasses, or of up to as many binary labels.
func Of(loss *nn.Node) (all []Comparison) {
	walk(loss, func(n *nn.Node, in []*nn.Node, weight *nn.Node) bool {
		some := compared(n, in, weight)
		all = append(all, some...)
		return some == nil
	})
	return all
}

// walk calls see with each node that a loss is computed from, its inputs, and the weight of rows in its mean, and goes
// on to the inputs where see says so.
func walk(loss *nn.Node, see func(n *nn.Node, in []*nn.Node, weight *nn.Node) bool) {
	seen := map[*nn.Node]bool{}
	var walk func(n, weight *nn.Node)
	walk = func(n, weight *nn.Node) {
		in := n.Inputs()
		if seen[n] || !see(n, in, weight) {
			return
		}
		seen[n], weight = true, nil
		if n.Op() == "weighted_mean" && in[1].Shape()[0] == -1 {
			weight = in[1]
		}
		for _, of := range in {
			walk(of, weight)
		}
	}
	walk(loss, nil)
}

// compared returns the comparisons of a node, if it compares classes of rows.
func compared(n *nn.Node, in []*nn.Node, weight *nn.Node) (all []Comparison) {
	k, is := kinds[n.Op()]
	if !is || len(in[0].Shape()) != 2 {
		return nil
	}
	c := Comparison{Pred: in[0], Label: in[1], weight: weight, kind: k, classes: max(Width(in[0]), 2)}
	switch {
	case c.classes > mostClasses:
	case k < weighing && Width(in[0]) == Width(in[1]):
		for c.classes = 2; c.column < Width(in[0]); c.column++ {
			all = append(all, c)
		}
	case k >= weighing && Width(in[1]) == 1:
		all = append(all, c)
	}
	return all
}

// Width is the number of values that a node has for each row.
func Width(n *nn.Node) int {
	all := 1
	for i, d := range n.Shape() {
		if i > 0 {
			all *= d
		}
	}
	return all
}

// Binary reports whether there are two classes, so that there is one probability a row.
func (c *Comparison) Binary() bool { return c.classes == 2 }

// Tally has sums over rows, which can be added over workers: for two classes, for each bin of probabilities, the rows,
// their probabilities and their labels; for more, how often each class was predicted for each.
type Tally struct {
	Comparison
	Sums []float64
}

// bins are bins of probabilities: 16 for each doubling of the odds.
const (
	bins    = histogram.OddsBuckets >> finer
	finer   = 6
	columns = 3
	rows    = 0 // place within a bin
	chanced = 1
	labels  = 2
)

// NewTally returns a tally without rows.
func NewTally(c Comparison) *Tally {
	if c.Binary() {
		return &Tally{c, make([]float64, bins*columns)}
	}
	return &Tally{c, make([]float64, c.classes*c.classes)}
}

// Fetch are the nodes whose values See needs for a batch.
func (t *Tally) Fetch() []*nn.Node {
	if t.weight != nil {
		return []*nn.Node{t.Pred, t.Label, t.weight}
	}
	return []*nn.Node{t.Pred, t.Label}
}

// See adds a batch's rows, without those whose weight is 0, whose label is no class, or whose prediction is NaN.
func (t *Tally) See(fetched []*tensor.Dense) {
	pred, label := fetched[0].Float32s(), numbers(fetched[1])
	each := len(pred) / max(fetched[0].Shape()[0], 1)
	weights := func(int) float64 { return 1 }
	if t.weight != nil {
		weights = numbers(fetched[2])
	}
	for i := range fetched[0].Shape()[0] {
		y, of := label(t.at(i, t.Label)), pred[i*each:(i+1)*each]
		if t.kind < weighing {
			of = of[t.column:][:1]
		}
		switch {
		case weights(t.at(i, t.weight)) == 0 || y < 0 || y > float64(t.classes-1):
		case t.Binary():
			t.add(t.chance(of), y)
		default:
			t.Sums[int(y)*t.classes+largest(of)]++
		}
	}
}

// at is the index of a row's value in a node with one value for each column, or one for all.
func (t *Tally) at(row int, n *nn.Node) int {
	if n == nil || Width(n) == 1 {
		return row
	}
	return row*Width(n) + t.column
}

// add adds a row of two classes.
func (t *Tally) add(p float32, label float64) {
	if p != p {
		return
	}
	bin := t.Sums[histogram.Odds(p)>>finer*columns:]
	bin[rows]++
	bin[chanced] += float64(p)
	bin[labels] += label
}

// Totals are the rows of two classes, and the sums of their probabilities and of their labels.
func (t *Tally) Totals() []float64 {
	all := make([]float64, columns)
	for at, v := range t.Sums {
		all[at%columns] += v
	}
	return all
}

// chance is the probability of the second of two classes.
func (t *Tally) chance(of []float32) float32 {
	switch x := float64(of[len(of)-1]); t.kind {
	case logit:
		return float32(1 / (1 + math.Exp(-x)))
	case weighing:
		return float32(1 / (1 + math.Exp(float64(of[0])-x)))
	}
	return of[len(of)-1]
}

// largest is the index of the largest number.
func largest(of []float32) (at int) {
	for i, x := range of {
		if x > of[at] {
			at = i
		}
	}
	return at
}

// numbers returns the values of a tensor by index.
func numbers(t *tensor.Dense) func(at int) float64 {
	if ids, is := t.Data().([]int64); is {
		return func(at int) float64 { return float64(ids[at]) }
	}
	return func(at int) float64 { return float64(t.Float32s()[at]) }
}

// matrix has in row i how many rows of class i were predicted as each class; of two classes, as the second from a
// probability of .5 on.
func (t *Tally) matrix() [][]float64 {
	m := make([][]float64, t.classes)
	for i := range m {
		if m[i] = make([]float64, t.classes); !t.Binary() {
			copy(m[i], t.Sums[i*t.classes:])
		}
	}
	for b := 0; t.Binary() && b < bins; b++ {
		bin, taken := t.Sums[b*columns:], 0
		if b >= histogram.Odds(.5)>>finer {
			taken = 1
		}
		m[1][taken] += bin[labels]
		m[0][taken] += bin[rows] - bin[labels]
	}
	return m
}
