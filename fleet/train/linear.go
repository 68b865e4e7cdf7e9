package train

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer/local"
)

// checkLinear refuses a linear model that could not be trained beside the job's.
func (j *Job) checkLinear() error {
	switch l := j.Linear; {
	case l == nil:
		return nil
	case l.Loss == nil || l.Rule == nil:
		return errors.New("train: Job.Linear has no Loss or no Rule: it is trained as the job is")
	case l.Loss.Err() != nil:
		return fmt.Errorf("train: Job.Linear: %w", l.Loss.Err())
	case l.Loss.Graph() == j.Loss.Graph():
		return errors.New("train: Job.Linear has the graph of the job: make its nodes in another")
	case slices.ContainsFunc(l.Metrics, func(n *nn.Node) bool { return n == nil || n.Graph() != l.Loss.Graph() }):
		return errors.New("train: Job.Linear.Metrics has a node of another graph, or none")
	case j.Sharded:
		return errors.New("train: Job.Linear with Sharded: one worker trains it, which has a part of the rows alone: " +
			"leave one of them out")
	}
	return nil
}

// trainLinear trains the linear model in this process, until its loss on the test rows falls no more, and returns its
// best values there by name.
func (r *Run) trainLinear(ctx context.Context) (best map[string]float64, err error) {
	rows, known := r.shares.train.Len()
	if !known || rows > mostRows || r.tests.rows == nil {
		return nil, fmt.Errorf("it takes test rows, and at most %s rows that are in memory", grouped(mostRows))
	}
	l := tests{job: r.Job.Linear}
	if _, err := local.Minimize(l.job.Loss, l.job.Rule); err != nil {
		return nil, err
	}
	nodes, names, fit := l.nodes(), l.names()[1:], l.job.fitting(rows, 1)
	order := r.shares.train.Shuffle(r.Job.Seed)
	if grouped, is := l.job.together(r.shares.train, 1); is {
		order = grouped
	}
	exe, tested := nn.NewExecutor(l.job.Loss.Graph()), nn.NewExecutor(l.job.Loss.Graph())
	for epoch, worse := 0, 0; epoch < fit.Epochs && worse <= fit.Patience; epoch++ {
		batches := order.Epoch(epoch).BatchesContext(ctx, fit.Batch)
		if _, err := exe.TrainFrom(ctx, batches, nn.TrainOptions{}); err != nil {
			return nil, err
		}
		all, _, err := measure(ctx, tested, r.tests.rows, nodes, nil, nil, nil)
		if err != nil {
			return nil, err
		}
		values, _, err := valuesOf(nodes, all.sums, joined(all.scores))
		if err != nil {
			return nil, err
		}
		if worse++; best == nil || values[0] < best[EvalLoss] {
			best, worse = map[string]float64{}, 0
			for i, name := range names {
				best[name] = values[i]
			}
		}
	}
	return best, nil
}

// besideLinear measures the linear model, and warns if it is better than the model that the job leaves. It costs no
// job its result.
func (r *Run) besideLinear(ctx context.Context) {
	if r.Job.Linear == nil || len(r.History) == 0 {
		return
	}
	values, err := r.trainLinear(ctx)
	if err != nil {
		slog.Warn("train: no linear model was trained, to compare with", "error", err)
		return
	}
	r.linear = values
	if e := r.leaves(); values[EvalLoss] <= e.Value(nil) {
		slog.Warn("train: a linear model of the same rows does as well: keep that one (-linear in programs of "+
			"fleetrun new), or make this one smaller", EvalLoss, e.Value(nil), "linear "+EvalLoss, values[EvalLoss])
	}
}
