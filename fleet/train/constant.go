package train

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
	"github.com/gofleet/gofleet/nn"
)

// constant is the prediction that is the same for every row, which a model has to beat. It is learned from the labels
// of the first epoch, as they are trained on, and measured on the test rows beside the model, by the same nodes.
type constant struct {
	aims  []verdict.Aim
	seen  []*nn.Node // labels, and weights of their rows
	gauge gauge      // the loss and the metrics, as far as they have a value for a constant
	names []string   // of the values
	half  []int      // which of all nodes are AUCs, not measured: those of a constant are ½
	daily bool       // it is learned from rows that are evaluated, and used from the next day on
	own   *nn.Node   // the model's loss of each row; nil if the loss is no mean of rows

	mu        sync.Mutex // threads learn together
	mine, all []float64  // sums over labels, of this worker and of all; nil until they are known
}

const (
	ofConstant    = "constant " // begins the names of its values
	standardError = ofConstant + "standard error"
	modelFeed     = "the loss of the model"
)

// newConstant returns the constant prediction for a loss and metrics with such names; nil if none can be learned.
func newConstant(nodes []*nn.Node, names []string) *constant {
	c, loss := &constant{aims: verdict.Aims(nodes[0])}, nodes[0]
	var preds, seen, weights []*nn.Node
	for _, a := range c.aims {
		preds, seen, weights = append(preds, a.Pred), append(seen, a.Label), append(weights, cmp.Or(a.Weight, a.Label))
	}
	seen = append(seen, weights...)
	if c.own = loss; loss.Op() == "mean" && slices.Equal(loss.Inputs()[0].Shape(), []int{-1, 1}) {
		c.own = loss.Inputs()[0]
	}
	copies, alone := nn.Given(preds, slices.Concat(nodes, seen, []*nn.Node{c.own})...), nn.Given(nil, nodes...)
	c.seen = copies[len(nodes) : len(copies)-1]
	for i, n := range copies[:len(nodes)] {
		switch {
		case n == nil || alone[i] != nil: // it is of no prediction
		case (n.Op() == "auc" || n.Op() == "group_auc") && len(c.gauge.nodes) > 0:
			c.half = append(c.half, i)
		default:
			c.gauge.nodes, c.names = append(c.gauge.nodes, n), append(c.names, ofConstant+names[i])
		}
	}
	for _, i := range c.half {
		c.names = append(c.names, ofConstant+names[i])
	}
	if len(c.names) == 0 || slices.Contains(c.seen, nil) {
		return nil
	}
	c.gauge.exe = nn.NewExecutor(c.seen[0].Graph())
	if each := copies[len(copies)-1]; each == nil || c.own == loss {
		c.own = nil
	} else {
		apart := nn.Subtract(each, each.Graph().Input(modelFeed, 1))
		c.gauge.nodes = append(c.gauge.nodes, nn.Mean(apart), nn.Mean(nn.Square(apart)))
		c.names = append(c.names, standardError)
	}
	return c
}

// learning passes on the batches of an epoch, and learns from the labels of the first one. What is wrong with them
// their step reports.
func (c *constant) learning(ctx context.Context, epoch int,
	batches iter.Seq2[dataset.Batch, error]) iter.Seq2[dataset.Batch, error] {
	if c == nil || epoch > 0 || c.daily {
		return batches
	}
	return func(yield func(dataset.Batch, error) bool) {
		for batch, err := range batches {
			if err == nil {
				c.learn(ctx, batch)
			}
			if !yield(batch, err) {
				return
			}
		}
	}
}

func (c *constant) learn(ctx context.Context, batch dataset.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, err := c.gauge.exe.Eval(ctx, batch, c.seen...)
	if err != nil {
		return
	}
	if c.mine == nil {
		c.mine = make([]float64, c.size())
	}
	sums := c.mine
	for i, a := range c.aims {
		weight := out[len(c.aims)+i]
		if a.Weight == nil {
			weight = nil
		}
		a.Add(sums, out[i], weight)
		sums = sums[a.Size():]
	}
}

// size is the number of sums over labels.
func (c *constant) size() (n int) {
	for _, a := range c.aims {
		n += a.Size()
	}
	return n
}

// learned is what this worker has learned, for the others; nil if that is nothing.
func (c *constant) learned() (text []byte) {
	if c != nil && c.mine != nil {
		text, _ = tallies(c.mine).GobEncode()
	}
	return text
}

// took is what this worker has learned of rows that it has evaluated; nil if that is nothing.
func (c *constant) took() tallies {
	if c == nil {
		return nil
	}
	return c.mine
}

// add adds what workers have learned of a day.
func (c *constant) add(shares []share) {
	if c == nil {
		return
	}
	all := slices.Clone(c.all)
	if all == nil {
		all = make([]float64, c.size())
	}
	for _, s := range shares {
		for i, v := range s.Labels[:min(len(s.Labels), len(all))] {
			all[i] += v
		}
	}
	c.recall(all)
}

// gather sums what all workers have learned.
func (c *constant) gather(said [][]byte) error {
	all := make(tallies, c.size())
	for _, text := range said {
		var its tallies
		if len(text) == 0 {
			continue
		}
		if err := its.GobDecode(text); err != nil {
			return fmt.Errorf("train: what a worker has learned of its labels cannot be decoded: %w", err)
		}
		if len(its) != len(all) {
			return fmt.Errorf("train: a worker has learned %d numbers of its labels, this one %d: do all run the "+
				"same program?", len(its), len(all))
		}
		all.plus(its)
	}
	c.recall(all)
	return nil
}

// recall takes sums over all labels, unless they are others or not finite.
func (c *constant) recall(all []float64) {
	if c.all = all; len(all) != c.size() || !finite(slices.Max(all)-slices.Min(all)) {
		c.all = nil
	}
}

// see measures the constant on a batch of test rows; own is the model's loss of each, if it is needed.
func (c *constant) see(ctx context.Context, batch dataset.Batch, rows int, own []*tensor.Dense) {
	if c.daily {
		c.learn(ctx, batch)
	}
	given, sums := maps.Clone(batch), c.all
	for _, a := range c.aims {
		if c.all == nil {
			return
		}
		given[a.Pred.Name()] = tensor.New(tensor.WithShape(append([]int{rows}, a.Pred.Shape()[1:]...)...),
			tensor.WithBacking(slices.Repeat(a.Constant(sums[:a.Size()]), rows)))
		sums = sums[a.Size():]
	}
	if len(own) > 0 {
		given[modelFeed] = own[0]
	}
	_, _ = c.gauge.see(ctx, given) // a mean of no labels is no number
}

// values are the constant's, from the sums of all workers, beside those of the model; NaN where one is not known.
func (c *constant) values(sums, model []float64) ([]float64, error) {
	values, _, err := valuesOf(c.gauge.nodes, sums, nil)
	if err != nil {
		return nil, err
	}
	var apart []float64
	if last := len(values) - 1; c.own != nil {
		rows, mean, square := sums[len(sums)-1], values[last-1], values[last]
		values, apart = values[:last-1], []float64{math.Sqrt(max(square-mean*mean, 0) / (rows - 1))}
	}
	for _, i := range c.half { // where both have labels
		values = append(values, 0.5+0*values[0]+0*model[i])
	}
	return append(values, apart...), nil
}

// always describes the constant, in the unit that labels have in a format's files; "" if it is not known.
func (c *constant) always(f dataset.Format) string {
	if c == nil || c.all == nil {
		return ""
	}
	return verdict.Always(c.aims, c.all, scalingOf(f, c.aims[0].Label.Name()).Inverse) + ": "
}

// noBetter reports whether the model of an evaluation is no better than the constant, within one standard error, or its
// loss has the wrong sign.
func (e Evaluation) noBetter() bool {
	always, known := e.Values[ofConstant+EvalLoss]
	return known && (always < 0 || always-e.Value(nil) <= e.Values[standardError])
}

// few is a number of steps in which most models learn little.
const few = 1000

// warnUseless warns if the model that the job leaves is no better than the constant, with the likeliest cause, or too
// good to be true.
func (r *Run) warnUseless() {
	e := r.leaves()
	many := r.tests.rows != nil
	if many {
		n, known := r.tests.rows.Len()
		many = n >= few/10 || !known
	}
	for _, m := range r.Job.Metrics {
		switch v := e.Value(m); {
		case !many || m.Op() != "auc":
		case v == 1:
			slog.Warn("train: a metric says that no test row is predicted wrong", "metric", m.Label(), "do", "look "+
				"for inputs that are made from the label, and for test rows that are trained on: -check does")
		case v < 0.4 && !e.noBetter():
			slog.Warn("train: a metric is below what guessing has, of a model that is better than a constant", "metric",
				m.Label(), "value", v, "do", "give it the scores, not their opposite, and labels of which 1 is the "+
					"one that high scores are for")
		}
	}
	if !e.noBetter() {
		return
	}
	steps, always := max(e.Examples/r.Job.Batch, e.Epoch), e.Values[ofConstant+EvalLoss]
	rows := r.shares.stock.Rows
	if r.inStep {
		steps /= r.Fleet.WorkerNum()
	}
	why, do := "it learns nothing from its inputs", "scale numbers (Standardize, or nn.BatchNorm), try another -lr, "+
		"and look whether labels belong to their rows: -check looks for all three"
	switch {
	case always < 0:
		why, do = "its loss is below 0, where what should fall rises", "minimise the loss, not its negative"
	case rows >= 0 && rows < few/10:
		why = fmt.Sprintf("%d rows to train on are few for any model", rows)
		do = "more rows, or fewer to test on (Files.HeldOut)"
	case steps < few:
		why = fmt.Sprintf("it has made about %d steps, of batch %d in %d epochs", steps, r.Job.Batch, e.Epoch)
		do = "more -epochs, with -patience=3, and a smaller -batch; or look whether labels belong to their rows"
	case e.Values[TrainLoss] < always:
		why = "it knows the rows to train on by heart, or the test rows are of another kind"
		do = "-patience=3, a smaller model, or test rows that were drawn as the others were"
	}
	slog.Warn("train: on the test rows a prediction that is the same for every row does as well as the model: "+why,
		EvalLoss, e.Value(nil), ofConstant+EvalLoss, always, "do", do)
}

// leaves is the evaluation of the model that the job leaves.
func (r *Run) leaves() Evaluation {
	if k := r.keeps; k != nil && k.best.Number > 0 {
		return k.best.At
	}
	return r.result().Last
}
