package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Job is a training program, the same for every role: a model, an update rule, and rows. Every role makes its own.
type Job struct {
	Options

	// Loss is minimised, of shape [1].
	Loss *nn.Node
	// Rule updates the weights.
	Rule optimizer.Rule
	// Strategy says how the job trains; nil means the strategy of the options.
	Strategy *strategy.Strategy

	// Files are the files of the rows, unless Data is set. The saved model includes their format, so that it can score
	// raw lines.
	Files Files
	// Data returns the rows to train on, and the rows to evaluate on, which may be nil. Each worker calls it once;
	// servers don't. All workers must get the same rows: each trains on its share of every epoch, and evaluates its
	// share of the test rows. nil means Files.Load.
	Data func(ctx context.Context) (train, test *dataset.Dataset, err error)
	// Sharded says that each worker has its own rows, for training and testing, such as files that no other worker
	// reads (Files.Paths may then differ): it trains on all of them, and evaluates all of its test rows. Workers may
	// have different numbers of rows. If a worker dies, its rows are lost to the job. Without Sharded, workers whose
	// rows in memory differ are refused when the job begins.
	Sharded bool
	// Rows returns the rows of an epoch, from 0, given the training rows of Data; nil means
	// train.Shuffle(Seed).Epoch(epoch), which needs them in memory, or ShuffleGroups by the column of groups within
	// which the loss compares rows, as nn.RankNet does. The order must be the same whenever the epoch is repeated, so
	// that a restarted job can resume.
	Rows func(epoch int, train *dataset.Dataset) *dataset.Dataset

	// Days are rows that come by the day, in place of Data.
	Days *Days

	// Metrics are evaluated on the test rows, in addition to the loss: metrics over batches, such as [nn.AUC], or nodes
	// of one element, which are averaged over examples.
	Metrics []*nn.Node
	// Show are the nodes shown in the progress of training; nil means Metrics.
	Show []*nn.Node
	// Outputs are the outputs of the model saved for inference; without any, no model is saved. Outputs and Metrics may
	// depend only on params that the loss trains, or that are Frozen: others are refused.
	Outputs []*nn.Node

	// Linear is a smaller job on the same rows, such as a linear model of the same feeds in a graph of its own, which
	// the model has to beat. At the end the leading worker trains it by itself, its Loss by its Rule, with the batch,
	// epochs and patience that fit the rows; the last lines have its loss and Metrics of the same names on the test
	// rows, and a warning if its loss is the smaller one. It takes test rows, and at most a million rows, in memory.
	Linear *Job

	// Hooks are called in their order.
	Hooks []Hooks
	// Stdout is the destination of progress and results; nil means os.Stdout.
	Stdout io.Writer

	anew  func() (Job, error) // makes the program's job once more; nil if the program has not said how
	looks bool                // at its rows, before it trains
	daily bool                // check has seen its Days
	files bool                // Data reads Files
}

// Result is the result of a job on a worker; on a server it is zero.
type Result struct {
	// Last is the last evaluation, of all workers.
	Last Evaluation
	// History is all evaluations, including those from before the job was restarted.
	History []Evaluation
	// Epoch is this worker's result of the last epoch.
	Epoch nn.TrainResult
	// Stopped says why the job ended before its last epoch; empty if it did not.
	Stopped string
}

// check sets defaults, and returns what is missing.
func (j *Job) check() (s strategy.Strategy, err error) {
	switch {
	case j.Loss == nil:
		err = errors.New("train: Job.Loss is nil: it is the node to minimise")
	case j.Loss.Err() != nil: // the first of the graph, before what follows from it
		err = j.Loss.Err()
	case j.Rule == nil:
		err = errors.New("train: Job.Rule is nil: it is what updates the weights, such as optimizer.Adam{LR: 1e-3}")
	case j.Days == nil && j.passOver != "":
		err = errors.New("train: -pass_over passes over what is left of a day, and this job has no Days")
	case j.Days == nil && j.by != "" && j.eval == "":
		err = errors.New("train: -by groups what -eval reports: name rows with -eval, or train a job of days")
	case j.Days != nil && !j.daily:
		err, j.daily = j.Days.check(j), true
	case j.Data == nil && j.Files.Format == nil:
		err = errors.New("train: Job.Files is empty and Job.Data is nil: one of them gives the rows to train on")
	}
	if err == nil {
		err = errors.Join(checkNodes(j.Loss, "Metrics", j.Metrics), checkNodes(j.Loss, "Show", j.Show),
			checkNodes(j.Loss, "Outputs", j.Outputs), j.Options.Check())
	}
	if j.Data == nil && err == nil {
		err = j.Files.checkGroups(j.Loss)
	}
	if err == nil {
		err = errors.Join(j.checkMetrics(), j.checkTrained("Metrics", j.Metrics), j.checkTrained("Outputs", j.Outputs),
			j.modelErr(), j.checkLinear())
	}
	if err != nil {
		return s, err
	}
	if j.Sharded = j.Sharded || j.Days != nil; j.Data == nil && j.Days == nil {
		j.Data, j.files = j.Files.withLabels(j.Loss).Load, true
	}
	if j.Show == nil {
		j.Show = j.Metrics
	}
	j.Stdout = j.output()
	if j.Strategy != nil {
		return *j.Strategy, j.Strategy.Validate()
	}
	return j.Options.Strategy()
}

// output is the destination of results.
func (j *Job) output() io.Writer { return cmp.Or[io.Writer](j.Stdout, os.Stdout) }

// checkMetrics refuses metrics that evaluations could not measure, or not distinguish.
func (j *Job) checkMetrics() error {
	labels := map[string]*nn.Node{EvalLoss: j.Loss}
	for i, n := range j.Metrics {
		if err := measurable(n); err != nil {
			return fmt.Errorf("train: Job.Metrics[%d], %w", i, err)
		}
		if other := labels[testName(n)]; other != nil {
			return fmt.Errorf("train: Job.Metrics has %v, which evaluations call %q as they do %v: give one another "+
				"name (Named)", n, testName(n), other)
		}
		labels[testName(n)] = n
	}
	return nil
}

// checkNodes refuses nodes that are nil or of another graph than the loss.
func checkNodes(loss *nn.Node, field string, nodes []*nn.Node) error {
	for i, n := range nodes {
		switch {
		case n == nil:
			return fmt.Errorf("train: Job.%s[%d] is nil", field, i)
		case n.Graph() != loss.Graph():
			return fmt.Errorf("train: Job.%s[%d], %v, belongs to another graph than the loss", field, i, n)
		}
	}
	return nil
}

// checkTrained refuses nodes with params that keep their first values all through the job, since the loss is not
// computed from them.
func (j *Job) checkTrained(field string, nodes []*nn.Node) error {
	trained := j.Loss.Params()
	for i, n := range nodes {
		for _, p := range n.Params() {
			if !p.Frozen && !slices.Contains(trained, p) {
				return fmt.Errorf("train: Job.%s[%d], %v, is computed from param %q, which nothing trains: the loss "+
					"does not depend on it: add its part to the loss, leave the node out, or make the param Frozen",
					field, i, n, p.Name)
			}
		}
	}
	return nil
}

// model is the model that is saved for inference, of a job with outputs.
func (j *Job) model() nn.InferenceModel {
	m := nn.Inference(j.Outputs...)
	if j.Files.Format != nil {
		m = m.WithFormat(j.Files.Format)
	}
	return m
}

// modelErr returns why the model can't be saved, before hours of training.
func (j *Job) modelErr() error {
	if len(j.Outputs) == 0 {
		return nil
	}
	return j.model().Err()
}
