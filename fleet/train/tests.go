package train

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train/internal/check"
	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
	"github.com/gofleet/gofleet/nn"
)

// tests are the measurements of evaluations: the job's nodes, on its test rows.
type tests struct {
	job      *Job
	rows     *dataset.Dataset // nil if there are none
	days     *days            // nil if epochs are none
	exe      *nn.Executor
	constant *constant // nil if the job has none
	dead     bool      // it was reported that predictions ignore the rows
	// judged is what was predicted and observed at the last evaluation, of all workers; nil if unknown
	judged []*verdict.Tally
}

// tallies returns empty tallies for the job's binary predictions.
func (t *tests) tallies() (all []*verdict.Tally) {
	for _, c := range verdict.Of(t.job.Loss) {
		if c.Binary() {
			all = append(all, verdict.NewTally(c))
		}
	}
	return all
}

// chances sums what workers have predicted and observed; nil if one has not.
func (t *tests) chances(shares []share) []*verdict.Tally {
	sums := t.tallies()
	for _, s := range shares {
		told := s.Chances
		for _, all := range sums {
			if n := len(all.Sums); len(told) >= n {
				tallies(all.Sums).plus(told[:n])
				told = told[n:]
			}
		}
		if len(s.Chances) == 0 {
			return nil
		}
	}
	return sums
}

// measured is what this worker measures of rows.
func (t *tests) measured(ctx context.Context, rows *dataset.Dataset) (s share, err error) {
	chances := t.tallies()
	own, spreads, err := measure(ctx, t.exe, rows, t.nodes(), t.predictions(), chances, t.constant)
	s.Sums, s.Scores, s.Spreads = own.sums, own.scores, spreads
	for _, c := range chances {
		s.Chances = append(s.Chances, c.Sums...)
	}
	return s, err
}

// nodes are the nodes that are evaluated.
func (t *tests) nodes() []*nn.Node { return append([]*nn.Node{t.job.Loss}, t.job.Metrics...) }

// names are the names of an evaluation's values, in the job's order.
func (t *tests) names() []string {
	names := []string{TrainLoss, EvalLoss}
	for _, n := range t.job.Metrics {
		names = append(names, testName(n))
	}
	if t.constant != nil {
		names = append(names, t.constant.names...)
	}
	for _, n := range t.counted() {
		names = append(names, trainName(n))
	}
	return names
}

// counted are the metrics that steps of training count too.
func (t *tests) counted() (all []*nn.Node) {
	for _, n := range t.job.Metrics {
		if n.Counts() && slices.Contains(t.job.Show, n) {
			all = append(all, n)
		}
	}
	return all
}

// trained are the sums of these over the steps of an epoch; zeros where there were none.
func (t *tests) trained(so nn.TrainResult) (sums []float64) {
	for _, n := range t.counted() {
		own, err := so.Sums(n)
		if so.Samples == 0 || err != nil {
			own = make([]float64, n.SumsLen())
		}
		sums = append(sums, own...)
	}
	return sums
}

// describe is an evaluation as a line of text, with what the constant prediction has if always describes that, and
// what a linear model has.
func (t *tests) describe(e Evaluation, always string, linear map[string]float64) string {
	var parts []string
	told := always != ""
	for _, name := range t.names()[:2+len(t.job.Metrics)] {
		v, ok := e.Values[name]
		if !ok {
			continue
		}
		var beside []string
		if c, known := e.Values[ofConstant+name]; known && told {
			beside, always = append(beside, fmt.Sprintf("%s%.4f", always, c)), ""
		}
		if l, known := linear[name]; known {
			beside = append(beside, fmt.Sprintf("linear: %.4f", l))
		}
		part := fmt.Sprintf("%s %.4f", name, v)
		if len(beside) > 0 {
			part += " (" + strings.Join(beside, ", ") + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// share is a worker's share of the rows, by its place among the workers that divide them.
func (t *tests) share(place, of int) *dataset.Dataset {
	if t.job.Sharded {
		return t.rows
	}
	if grouped, is := t.job.together(t.rows, of); is {
		return grouped.Shard(place, of)
	}
	return t.rows.Shard(place, of)
}

// join sums the workers' measurements, of test rows if tested, with the examples of the epoch so far.
func (t *tests) join(shares []share, tested bool) (e Evaluation, err error) {
	var sums tallies
	var scores [][][]byte
	for _, s := range shares {
		scores = append(scores, s.Scores)
		for _, some := range s.Slices {
			scores = append(scores, some.Scores)
		}
		if sums != nil && len(sums) != len(s.Sums) {
			return e, fmt.Errorf("train: workers measured %d and %d numbers: do all have test rows, and the same "+
				"metrics?", len(sums), len(s.Sums))
		}
		sums = sums.plus(s.Sums)
	}
	if len(sums) < 4 {
		return e, fmt.Errorf("train: no worker has measured anything")
	}
	e = Evaluation{Examples: int(sums[0] + sums[1]), Values: map[string]float64{}}
	names, values := []string{TrainLoss}, []float64{sums[2] / sums[3]}
	if tested {
		measured, rest, err := valuesOf(t.nodes(), sums[4:], joined(scores...))
		if err == nil && t.constant != nil {
			rest, err = t.constant.values(rest, measured)
			measured = append(measured, rest...)
		}
		if err != nil {
			return e, err
		}
		names, values = append(names, t.names()[1:]...), append(values, measured...)
	}
	for i, v := range values {
		if finite(v) {
			e.Values[names[i]] = v
		}
	}
	return e, t.joinTrained(shares, e)
}

// joinTrained sums the workers' metrics over examples that they trained on.
func (t *tests) joinTrained(shares []share, e Evaluation) error {
	at := 0
	for _, n := range t.counted() {
		sums := make([]float64, n.SumsLen())
		for _, s := range shares {
			for i := range min(len(sums), max(len(s.Trained)-at, 0)) {
				sums[i] += s.Trained[at+i]
			}
		}
		at += len(sums)
		v, err := n.OfSums(sums)
		if err != nil {
			return err
		}
		if finite(v) {
			e.Values[trainName(n)] = v
		}
	}
	return nil
}

// warnUnmeasured warns that the rows have no loss, or about metrics without a value.
func (t *tests) warnUnmeasured(e Evaluation) {
	if t.rows == nil {
		return
	}
	if _, tested := e.Values[EvalLoss]; !tested {
		slog.Warn("train: the test rows have no loss, which hooks take as worse than any: a feed, a label or a "+
			"prediction is not finite, or no worker has test rows", "epoch", e.Epoch)
		return
	}
	for _, n := range t.job.Metrics {
		if _, measured := e.Values[testName(n)]; !measured {
			slog.Warn("train: the test rows have no value of a metric: an AUC needs labels of both classes, and "+
				"finite scores", "metric", n.Label(), "epoch", e.Epoch)
		}
	}
}

// predictions are what the loss compares with labels; of several tasks, the predictions of classes.
func (t *tests) predictions() (all []*nn.Node) {
	if pred := t.job.Loss.Prediction(); pred != nil {
		return []*nn.Node{pred}
	}
	for _, c := range verdict.Of(t.job.Loss) {
		if !slices.Contains(all, c.Pred) {
			all = append(all, c.Pred)
		}
	}
	return all
}

// warnDead warns once that the model's predictions ignore the rows. The predictions of one task may be all 0 or 1 and
// right while the loss is another's.
func (t *tests) warnDead(shares []share, e Evaluation) {
	preds, certain := t.predictions(), 0
	for i, pred := range preds {
		if t.rows == nil || t.dead {
			return
		}
		var s check.Spread
		for _, its := range shares {
			if at := i * len(s); at+len(s) <= len(its.Spreads) {
				s.Add(its.Spreads[at : at+len(s)])
			}
		}
		how := s.Dead(e.Values[EvalLoss])
		if how == check.Certain {
			certain++
		}
		if how == "" || how == check.Certain && certain < len(preds) {
			continue
		}
		t.dead = true
		slog.Warn("train: the model predicts the same whatever it is fed, so that it learns nothing more: most often "+
			"numbers are fed as they are (Scale or Standardize them, or begin with nn.BatchNorm), or the learning "+
			"rate or the rule's WeightDecay is too high", "predictions", how, "node", pred.Label(), "epoch", e.Epoch)
	}
}
