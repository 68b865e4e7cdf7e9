package train

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"reflect"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer/lr"
)

// watched is a value of evaluations that hooks follow over the history.
type watched struct {
	hook   string
	given  *nn.Node // nil means the loss
	metric *nn.Node // of the job that runs; set by check
}

// check refuses a value that no evaluation will have.
func (w *watched) check(r *Run) error {
	if r.tests.rows == nil {
		return fmt.Errorf("train: %s looks at evaluations, and Job.Data gives no test rows", w.hook)
	}
	w.metric = cmp.Or(w.given, r.Job.Loss)
	if w.metric == r.Job.Loss {
		return nil
	}
	for _, n := range r.Job.Metrics {
		if n == w.metric {
			return nil
		}
	}
	return fmt.Errorf("train: %s looks at %v, which is not in Job.Metrics", w.hook, w.metric)
}

// value is the watched value; one that was not measured is worse than any other.
func (w *watched) value(r *Run, e Evaluation) float64 {
	if v, ok := e.Values[w.name(r)]; ok {
		return v
	}
	if w.metric.Falls() {
		return math.Inf(1)
	}
	return math.Inf(-1)
}

func (w *watched) name(r *Run) string {
	if w.metric == r.Job.Loss {
		return EvalLoss
	}
	return testName(w.metric)
}

// better reports whether a is better than b by more than least.
func (w *watched) better(a, b, least float64) bool {
	if w.metric.Falls() {
		return a < b-least
	}
	return a > b+least
}

// best is the best of the evaluations so far, the first of equals.
type best struct {
	At     Evaluation
	Number int // its number, from 1; 0 before the first
	Seen   int
}

// look adds an evaluation, and reports whether it is the best so far, by more than least. One without the value is
// never the best.
func (b *best) look(w *watched, r *Run, e Evaluation, least float64) bool {
	b.Seen++
	_, measured := e.Values[w.name(r)]
	if !measured || b.Number > 0 && !w.better(w.value(r, e), w.value(r, b.At), least) {
		return false
	}
	b.At, b.Number = e, b.Seen
	return true
}

// EarlyStopping stops a job that no longer improves. If the job has an output directory (Options.Out), its model is
// that of the best evaluation, described in best.json; its checkpoint is that of the last step, so that the job can be
// continued.
type EarlyStopping struct {
	// Metric is one of the job's metrics; nil means its loss on the test rows. The metric determines whether higher is
	// better; your own declares it by [nn.Node.HigherIsBetter].
	Metric *nn.Node
	// Patience is the number of evaluations in a row that are no better than the best after which the job stops; 0
	// means 1.
	Patience int
	// Least is the smallest change that counts as better.
	Least float64
	// KeepLast leaves the model of the last step instead of the best evaluation's.
	KeepLast bool

	idle bool // it does nothing, since the job has no Patience
}

// stopping is the state of EarlyStopping.
type stopping struct {
	By   best // by more than Least
	Kept best
}

// Hooks returns the hooks for Job.Hooks.
func (s EarlyStopping) Hooks() Hooks { return s.hooks() }

// hooks are those of s as it is when they are called.
func (s *EarlyStopping) hooks() Hooks {
	w, state := watched{hook: "EarlyStopping", given: s.Metric}, new(jsonState[stopping])
	stop := func(r *Run) bool {
		b := state.now.By
		if b.Seen-b.Number < max(s.Patience, 1) {
			return false
		}
		why := "no evaluation has a " + w.name(r)
		if b.Number > 0 {
			why = fmt.Sprintf("no evaluation since epoch %d is better than its %.4f", b.At.Epoch, w.value(r, b.At))
		}
		r.Stop(why)
		return true
	}
	return Hooks{
		Name: "EarlyStopping", State: state,
		Begin: func(_ context.Context, r *Run) error {
			if s.idle {
				return nil
			}
			if s.Patience < 0 || s.Least < 0 {
				return fmt.Errorf("train: EarlyStopping with Patience %d and Least %v: neither may be negative",
					s.Patience, s.Least)
			}
			if err := w.check(r); err != nil {
				return err
			}
			if !state.known { // the job had no such hook when the checkpoint was saved
				for _, e := range r.History {
					state.now.By.look(&w, r, e, s.Least)
					state.now.Kept.look(&w, r, e, 0)
				}
			}
			if r.keeps == nil && !s.KeepLast {
				r.keeps = &keeper{watched: &w, best: &state.now.Kept}
			}
			if stop(r) { // the others decide the same
				r.ends.agreed.Store(true)
			}
			return nil
		},
		Evaluated: func(ctx context.Context, r *Run, e Evaluation) error {
			if s.idle {
				return nil
			}
			state.now.By.look(&w, r, e, s.Least)
			stop(r)
			if state.now.Kept.look(&w, r, e, 0) && r.keeps != nil && r.keeps.best == &state.now.Kept {
				return r.keeps.save(ctx, r)
			}
			return nil
		},
	}
}

// BestModel saves a model for inference whenever an evaluation is the best of the job so far. No worker trains during
// the save, so the model is exactly the one evaluated. A restarted job remembers its best; a new job replaces the model
// of an earlier job, and logs that.
type BestModel struct {
	// Dir is the model's directory.
	Dir string
	// Metric is one of the job's metrics; nil means its loss on the test rows. The metric determines whether higher is
	// better; your own declares it by [nn.Node.HigherIsBetter].
	Metric *nn.Node
}

// Hooks returns the hooks for Job.Hooks.
func (b BestModel) Hooks() Hooks {
	w, state := watched{hook: "BestModel", given: b.Metric}, new(jsonState[best])
	var failed error
	return Hooks{
		Name: "BestModel", State: state,
		Begin: func(_ context.Context, r *Run) error {
			if b.Dir == "" || len(r.Job.Outputs) == 0 {
				return fmt.Errorf("train: BestModel with Dir %q and %d Job.Outputs: it needs both", b.Dir,
					len(r.Job.Outputs))
			}
			if err := files.Check(b.Dir); err != nil {
				return fmt.Errorf("train: BestModel: %w", err)
			}
			b.warn(r)
			if err := w.check(r); err != nil {
				return err
			}
			if !state.known {
				for _, e := range r.History {
					state.now.look(&w, r, e, 0)
				}
			}
			return nil
		},
		Evaluated: func(ctx context.Context, r *Run, e Evaluation) error {
			if !state.now.look(&w, r, e, 0) || !r.Leads() {
				return nil
			}
			failed = insist(ctx, 3, "the best model", func() error {
				return r.Fleet.SaveInferenceModel(ctx, b.Dir, r.Job.model())
			})
			if failed != nil && !fatal(ctx, failed) {
				slog.Warn("train: the best model could not be written, and the job goes on: it ends with an error "+
					"unless a later one is better", "dir", b.Dir, "error", failed)
				return nil
			}
			if failed != nil {
				return failed
			}
			fmt.Fprintf(r.Job.Stdout, "%s: the best model so far is saved in %s\n", r.label(), b.Dir)
			return r.hooks.saved(ctx, r, b.Dir)
		},
		End: func(context.Context, *Run) error {
			if failed != nil {
				failed = fmt.Errorf("train: BestModel: the best evaluation's model is not in %s: %w", b.Dir, failed)
			}
			return failed
		},
	}
}

// warn warns that a new job, which has no evaluations, is about to replace the model of another.
func (b BestModel) warn(r *Run) {
	if !r.Leads() || len(r.History) > 0 {
		return
	}
	if there, err := files.ReadDir(b.Dir); err == nil && len(there) > 0 {
		slog.Warn("train: the best model of an earlier job is here, and this job's first evaluation replaces it, "+
			"better or not: end this job and give it another directory to keep the model", "dir", b.Dir)
	}
}

// Plateau lowers the learning rate of all workers when evaluations no longer improve; see [fleet.Fleet.SetRate].
type Plateau struct {
	lr.ReduceOnPlateau
	// Metric is one of the job's metrics; nil means its loss on the test rows. The metric determines whether higher is
	// better; your own declares it by [nn.Node.HigherIsBetter].
	Metric *nn.Node
}

// lowering is the state of Plateau.
type lowering struct {
	lr.PlateauState
	Set float64 // the rate of the job
}

// Hooks returns the hooks for Job.Hooks.
func (p Plateau) Hooks() Hooks {
	w, state, plateau := watched{hook: "Plateau", given: p.Metric}, new(jsonState[lowering]), p.ReduceOnPlateau
	step := func(r *Run, e Evaluation) {
		plateau.SetState(state.now.PlateauState) // another worker may have sent it
		plateau.Step(w.value(r, e))
		state.now.PlateauState = plateau.State()
	}
	led := false
	// takes over the rate of a worker that led, and may have ended before it had set it
	takes := func(ctx context.Context, r *Run) error {
		if led || !r.course.leads {
			led = r.course.leads
			return nil
		}
		led = true
		is, _, err := p.is(ctx, r)
		if err == nil && !is(state.now.Set) {
			state.now.Set = 0
		}
		return err
	}
	sets := func(ctx context.Context, r *Run) error {
		now := &state.now
		if now.Rate == now.Set {
			return nil
		}
		if r.course.leads {
			if err := r.setRate(ctx, now.Rate); err != nil {
				return err
			}
		}
		now.Set = now.Rate
		return nil
	}
	return Hooks{
		Name: "Plateau", State: state,
		Begin: func(ctx context.Context, r *Run) error {
			if err := errors.Join(p.check(r), w.check(r)); err != nil {
				return err
			}
			plateau.Max = !w.metric.Falls()
			if !state.known {
				for _, e := range r.History {
					step(r, e)
				}
			}
			led = r.course.leads
			return p.resume(ctx, r, &state.now)
		},
		Evaluated: func(ctx context.Context, r *Run, e Evaluation) error {
			if err := takes(ctx, r); err != nil {
				return err
			}
			step(r, e)
			return sets(ctx, r)
		},
		End: func(ctx context.Context, r *Run) error { return errors.Join(takes(ctx, r), sets(ctx, r)) },
	}
}

// resume sets the rate to that of the resumed job, which may have been lowered before the checkpoint.
func (p Plateau) resume(ctx context.Context, r *Run, now *lowering) error {
	is, factor, err := p.is(ctx, r)
	if err != nil {
		return err
	}
	by := cmp.Or(p.Factor, 0.1)
	lower := max(now.Rate*by, p.Min)
	switch {
	case is(now.Rate):
		now.Set = now.Rate
	case now.Measured && is(lower): // by an evaluation that the checkpoint lacks, and which is repeated
		now.Set = lower
	case now.Measured && is(now.Rate/by): // whoever was to set it ended before
		now.Set = now.Rate / by
	default:
		now.Rate = p.LR * factor
		now.Set = now.Rate
	}
	return nil
}

// is returns whether a rate is the job's, and the job's factor.
func (p Plateau) is(ctx context.Context, r *Run) (is func(rate float64) bool, factor float64, err error) {
	factor, err = r.Fleet.RateFactor(ctx)
	return func(rate float64) bool {
		f, err := rules.RateFactor(r.Job.Rule, rate)
		return err == nil && math.Abs(f-factor) <= 1e-9*factor
	}, factor, err
}

// check refuses options that would lower nothing.
func (p Plateau) check(r *Run) error {
	if !(p.LR > 0) || p.Factor < 0 || p.Factor >= 1 {
		return fmt.Errorf("train: Plateau with LR %v and Factor %v: LR is the rule's rate, from which it is lowered, "+
			"and Factor what multiplies it, between 0 and 1 (0 is 0.1)", p.LR, p.Factor)
	}
	factor, err := rules.RateFactor(r.Job.Rule, p.LR)
	switch { // reported before hours of training
	case err != nil:
		return fmt.Errorf("train: Plateau: %w", err)
	case math.Abs(factor-1) > 1e-6:
		return fmt.Errorf("train: Plateau with LR %v: the rate of rule %s is %v, from which it is lowered: give it "+
			"the rule's LR", p.LR, r.Job.Rule.Name(), float32(p.LR/factor))
	}
	return nil
}

// keeper makes the model that a job leaves that of its best evaluation.
type keeper struct {
	*watched
	best *best
}

// path is the file that describes the model's evaluation.
func (k *keeper) path(r *Run) string { return files.Join(r.Job.Out, "best.json") }

// save writes the model, and then the file with its evaluation, so that an existing file is correct.
func (k *keeper) save(ctx context.Context, r *Run) error {
	if r.Job.Out == "" || len(r.Job.Outputs) == 0 || !r.Leads() {
		return nil
	}
	err := insist(ctx, 3, "the model of the best evaluation", func() error {
		if err := r.Job.forget(); err != nil {
			return err
		}
		if err := r.Fleet.SaveInferenceModel(ctx, files.Join(r.Job.Out, "model"), r.Job.model()); err != nil {
			return err
		}
		return files.Write(k.path(r), func(to io.Writer) error { return json.NewEncoder(to).Encode(k.best.At) })
	})
	if err == nil || fatal(ctx, err) {
		return err
	}
	slog.Warn("train: the model of the best evaluation could not be written, and the job goes on: it leaves a later "+
		"one's, or the last step's", "error", err)
	return nil
}

// there reports whether the model of the best evaluation is in its place.
func (k *keeper) there(r *Run) bool {
	var of Evaluation
	text, err := files.ReadFile(k.path(r))
	return err == nil && json.Unmarshal(text, &of) == nil && reflect.DeepEqual(of, k.best.At)
}

// forget removes the file with the model's evaluation.
func (j *Job) forget() error { return remove(files.Join(j.Out, "best.json")) }

// remove removes a file, if it exists.
func remove(file string) error {
	if err := files.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// tellRate prints that the job does not begin with the rates of its rule.
func (r *Run) tellRate(ctx context.Context) error {
	if !r.course.leads {
		return nil
	}
	factor, err := r.Fleet.RateFactor(ctx)
	if err == nil && factor != 1 {
		fmt.Fprintf(r.Job.Stdout, "learning rates are %g of the rule's and of -lr: the checkpoint that the job goes "+
			"on from has set them so; a model (-load=.../model) sets none\n", factor)
	}
	return err
}

// setRate sets the rate, and prints it.
func (r *Run) setRate(ctx context.Context, rate float64) error {
	fmt.Fprintf(r.Job.Stdout, "%s: the learning rate is %g now\n", r.label(), rate)
	return r.Fleet.SetRate(ctx, rate)
}
