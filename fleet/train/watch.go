package train

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// watched is a value that evaluations have, as hooks look at it over the history.
type watched struct {
	hook   string
	metric *nn.Node // nil is the loss
}

// check refuses what no evaluation will have.
func (w *watched) check(r *Run) error {
	if r.test == nil {
		return fmt.Errorf("train: %s looks at evaluations, and Job.Data gives no test rows", w.hook)
	}
	if w.metric == nil {
		w.metric = r.Job.Loss
	}
	if w.metric == r.Job.Loss {
		return nil
	}
	for _, n := range r.Job.Metrics {
		if n == w.metric {
			return nil
		}
	}
	return fmt.Errorf("train: %s looks at %v, which is none of Job.Metrics", w.hook, w.metric)
}

// value is the watched one; what was not measured is worse than anything.
func (w *watched) value(r *Run, e Evaluation) float64 {
	name := testName(w.metric)
	if w.metric == r.Job.Loss {
		name = EvalLoss
	}
	if v, ok := e.Values[name]; ok {
		return v
	}
	if w.metric.Falls() {
		return math.Inf(1)
	}
	return math.Inf(-1)
}

// better says whether a is better than b by more than least.
func (w *watched) better(a, b, least float64) bool {
	if w.metric.Falls() {
		return a < b-least
	}
	return a > b+least
}

// EarlyStopping stops a job that no longer gets better.
type EarlyStopping struct {
	// Metric is one of the job's, or its loss on the test rows, which nil is.
	Metric *nn.Node
	// Patience is how many evaluations in a row are no better than the best when the job is stopped; 0 is 1.
	Patience int
	// Least is by how much a value has to be better to count as such.
	Least float64
}

// Hooks are those of a job that is stopped so.
func (s EarlyStopping) Hooks() Hooks {
	w := watched{"EarlyStopping", s.Metric}
	return Hooks{
		Begin: func(_ context.Context, r *Run) error {
			if s.Patience < 0 || s.Least < 0 {
				return fmt.Errorf("train: EarlyStopping with Patience %d and Least %v: neither may be negative", s.Patience, s.Least)
			}
			return w.check(r)
		},
		Evaluated: func(_ context.Context, r *Run, _ Evaluation) error {
			if at := w.best(r, s.Least); len(r.History)-1-at >= max(s.Patience, 1) {
				best := r.History[at]
				r.Stop(fmt.Sprintf("no evaluation since epoch %d is better than its %.4f", best.Epoch, w.value(r, best)))
			}
			return nil
		},
	}
}

// best is the index of the history's best value, the first of equals.
func (w *watched) best(r *Run, least float64) (at int) {
	for i, e := range r.History {
		if i > 0 && w.better(w.value(r, e), w.value(r, r.History[at]), least) {
			at = i
		}
	}
	return at
}

// BestModel saves a model for inference whenever an evaluation is the best of the job so far, so that at the job's end the best one is
// there. A job that is started again goes on with its best; one that begins anew replaces what an earlier job has left, and logs so.
type BestModel struct {
	// Dir is the model's directory.
	Dir string
	// Metric is one of the job's, or its loss on the test rows, which nil is.
	Metric *nn.Node
}

// Hooks are those of a job whose best model is kept.
func (b BestModel) Hooks() Hooks {
	w := watched{"BestModel", b.Metric}
	return Hooks{
		Begin: func(_ context.Context, r *Run) error {
			if b.Dir == "" || len(r.Job.Outputs) == 0 {
				return fmt.Errorf("train: BestModel with Dir %q and %d Job.Outputs: it needs both", b.Dir, len(r.Job.Outputs))
			}
			if err := files.CheckLocal(b.Dir); err != nil {
				return fmt.Errorf("train: BestModel: %w", err)
			}
			b.warn(r)
			return w.check(r)
		},
		Evaluated: func(ctx context.Context, r *Run, e Evaluation) error {
			if w.best(r, 0) != len(r.History)-1 || !r.Leads() {
				return nil
			}
			if err := r.Fleet.SaveInferenceModel(ctx, b.Dir, r.Job.model()); err != nil {
				return err
			}
			fmt.Fprintf(r.Job.Stdout, "%s: the best model so far is saved in %s\n", r.label(), b.Dir)
			return r.saved(ctx, b.Dir)
		},
	}
}

// warn says that a job which begins anew, and so knows no evaluations, is to replace the model of another.
func (b BestModel) warn(r *Run) {
	if !r.Leads() || len(r.History) > 0 {
		return
	}
	if there, err := os.ReadDir(b.Dir); err == nil && len(there) > 0 {
		slog.Warn("train: the best model of an earlier job is here, and this job's first evaluation replaces it, better or not: end "+
			"this job and give it another directory to keep the model", "dir", b.Dir)
	}
}

// Plateau lowers the learning rate when evaluations no longer get better, for all workers, see [fleet.Fleet.SetRate].
type Plateau struct {
	optimizer.ReduceOnPlateau
	// Metric is one of the job's, or its loss on the test rows, which nil is. It says itself whether larger is better.
	Metric *nn.Node
}

// Hooks are those of a job whose rate is lowered so.
func (p Plateau) Hooks() Hooks {
	w, plateau, set := watched{"Plateau", p.Metric}, p.ReduceOnPlateau, p.LR
	step := func(r *Run, e Evaluation) { plateau.Step(w.value(r, e)) }
	return Hooks{
		Begin: func(_ context.Context, r *Run) error {
			if err := errors.Join(p.check(), w.check(r)); err != nil {
				return err
			}
			plateau.Max = !w.metric.Falls()
			for _, e := range r.History {
				step(r, e)
			}
			return nil
		},
		Evaluated: func(ctx context.Context, r *Run, e Evaluation) error {
			step(r, e)
			rate := plateau.Rate()
			if rate == set || !r.Fleet.IsFirstWorker() {
				return nil
			}
			set = rate
			return r.setRate(ctx, rate)
		},
	}
}

// check refuses what would lower nothing.
func (p Plateau) check() error {
	if !(p.LR > 0) || p.Factor < 0 || p.Factor >= 1 {
		return fmt.Errorf("train: Plateau with LR %v and Factor %v: LR is the rule's rate, from which it is lowered, and Factor what "+
			"multiplies it, between 0 and 1 (0 is 0.1)", p.LR, p.Factor)
	}
	return nil
}

// setRate says what it does.
func (r *Run) setRate(ctx context.Context, rate float64) error {
	fmt.Fprintf(r.Job.Stdout, "%s: the learning rate is %g now\n", r.label(), rate)
	return r.Fleet.SetRate(ctx, rate)
}
