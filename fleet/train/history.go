package train

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
)

// Evaluation is what all workers measured at one moment; all have the same numbers.
type Evaluation struct {
	// Epoch is the one that was under way, from 1.
	Epoch int `json:"epoch"`
	// End says that it was at its end.
	End bool `json:"end,omitempty"`
	// Examples are how many all workers have trained on since the job began.
	Examples int `json:"examples"`
	// Values are by name: [TrainLoss], the mean of the examples trained on in this epoch so far, each in its step, or
	// of the examples since the job was started again in the middle of the epoch; and on the test rows, if there are
	// any, [EvalLoss] and "test " with the label of each metric. What could not be measured is absent.
	Values map[string]float64 `json:"values"`
}

// Names of values that every evaluation has.
const (
	TrainLoss = "train loss"
	EvalLoss  = "test loss"
)

// Value is that of one of the job's metrics on the test rows, or of its loss, which nil is; NaN if it was not measured.
func (e Evaluation) Value(metric *nn.Node) float64 {
	name := EvalLoss
	if metric != nil {
		name = testName(metric)
	}
	if v, measured := e.Values[name]; measured {
		return v
	}
	return math.NaN()
}

func testName(n *nn.Node) string { return "test " + n.Label() }

// evaluate measures with the others, and calls the hooks.
func (r *Run) evaluate(ctx context.Context, so nn.TrainResult, end bool) error {
	sums := []float64{float64(so.Samples), float64(so.Passed + r.extra), so.Loss * float64(so.Samples)}
	if r.test != nil {
		measured, err := measure(ctx, r.judge, r.mine(r.test), r.nodes(), r.Job.Loss.Prediction())
		if err != nil {
			return err
		}
		if err := r.judge.Close(ctx); err != nil {
			return err
		}
		sums = append(sums, measured...)
	}
	words, _, err := r.meet(ctx, word{Kind: measures, Ended: end, Sums: sums})
	if err != nil {
		return err
	}
	return r.conclude(ctx, words)
}

// adopt takes an evaluation that the others have made without this worker, and says whether it is the epoch's last.
func (r *Run) adopt(ctx context.Context, words []word) (end bool, err error) {
	err = r.conclude(ctx, words)
	return err == nil && r.History[len(r.History)-1].End, err
}

// conclude makes an evaluation of what all have measured, and calls the hooks.
func (r *Run) conclude(ctx context.Context, words []word) error {
	e, err := r.join(words)
	if err != nil {
		return err
	}
	r.middles++
	if e.End {
		r.middles = 0
		r.partly = part{Trained: e.Examples - r.before, Rows: r.all}
		r.before, r.front, r.extra = e.Examples, max(r.front, e.Epoch), 0
		r.miss()
	}
	r.History = append(r.History, e)
	if r.leads {
		fmt.Fprintf(r.Job.Stdout, "%s: %s\n", r.label(), r.describe(e))
		r.warnUnmeasured(e)
		r.warnDead(words, e)
	}
	if err := r.evaluated(ctx, e); err != nil {
		return err
	}
	if err := r.note(); err != nil || e.End { // behind an epoch's end all meet in any case
		return err
	}
	_, _, err = r.meet(ctx, word{Kind: acts}) // no worker trains on before what was measured is saved
	return err
}

// miss remembers which workers are gone as an epoch ends without them.
func (r *Run) miss() {
	before := r.lost
	r.lost = map[int]int{}
	for _, w := range r.gone {
		r.lost[w] = r.Epoch
		if epoch, known := before[w]; known {
			r.lost[w] = epoch
		}
	}
}

// join adds up what workers measured. One that came meanwhile has measured nothing.
func (r *Run) join(words []word) (e Evaluation, err error) {
	var sums []float64
	end := true
	for _, w := range words {
		switch {
		case w.Kind != measures:
			continue
		case sums == nil:
			sums = make([]float64, len(w.Sums))
		case len(sums) != len(w.Sums):
			return e, fmt.Errorf("train: workers measured %d and %d numbers: do all have test rows, and the same "+
				"metrics?",
				len(sums), len(w.Sums))
		}
		end = end && w.Ended
		for i, v := range w.Sums {
			sums[i] += v
		}
	}
	if len(sums) < 3 {
		return e, fmt.Errorf("train: no worker has measured anything")
	}
	e = Evaluation{Epoch: min(r.Epoch+1, r.Job.Epochs), End: end, Examples: r.before + int(sums[0]+sums[1]),
		Values: map[string]float64{}}
	names, values := []string{TrainLoss}, []float64{sums[2] / sums[0]}
	if r.test != nil {
		measured, err := valuesOf(r.nodes(), sums[3:])
		if err != nil {
			return e, err
		}
		names, values = append(names, r.names()[1:]...), append(values, measured...)
	}
	for i, v := range values {
		if finite(v) {
			e.Values[names[i]] = v
		}
	}
	return e, nil
}

// nodes are what is evaluated.
func (r *Run) nodes() []*nn.Node { return append([]*nn.Node{r.Job.Loss}, r.Job.Metrics...) }

// names are the names of an evaluation's values, in the job's order.
func (r *Run) names() []string {
	names := []string{TrainLoss, EvalLoss}
	for _, n := range r.Job.Metrics {
		names = append(names, testName(n))
	}
	return names
}

// describe is an evaluation as a line.
func (r *Run) describe(e Evaluation) string {
	var parts []string
	for _, name := range r.names() {
		if v, ok := e.Values[name]; ok {
			parts = append(parts, fmt.Sprintf("%s %.4f", name, v))
		}
	}
	return strings.Join(parts, ", ")
}

// warnUnmeasured says which metrics the rows have no value of.
func (r *Run) warnUnmeasured(e Evaluation) {
	if _, tested := e.Values[EvalLoss]; !tested {
		return
	}
	for _, n := range r.Job.Metrics {
		if _, measured := e.Values[testName(n)]; !measured {
			slog.Warn("train: the test rows have no value of a metric: an AUC needs labels of both classes, and "+
				"finite scores",
				"metric", n.Label(), "epoch", e.Epoch)
		}
	}
}

// state is what a job that is started again needs of this one.
type state struct {
	memory
	Stopped string `json:"stopped,omitempty"`
	User    []byte `json:"user,omitempty"`
	Curve   curve  `json:"curve,omitzero"`
	// Partly is how much of its last epoch a job has trained that was stopped.
	Partly part `json:"partly,omitzero"`
	// Order is absent in checkpoints of earlier versions.
	Order *order `json:"order,omitempty"`
	// At is the epoch that the worker which saved was in. A checkpoint of an earlier one is of a job that had lost a
	// worker.
	At int `json:"at,omitempty"`
}

// stateBytes bounds what checkpoints have of a job: of a history that is longer, the last part, and what was best
// before.
const stateBytes = 48 << 10

// note has checkpoints know of the history, and where the job is in it.
func (r *Run) note() error { return r.progress(r.Epoch) }

func (r *Run) progress(epoch int) error {
	m, err := r.memory()
	if err != nil {
		return err
	}
	o := r.order()
	st := state{memory: m, User: r.User, Curve: r.curve, Order: &o, At: epoch}
	if r.over {
		st.Stopped, st.Partly = r.why(), r.partly
	}
	data, err := json.Marshal(st)
	for err == nil && len(data) > stateBytes && len(st.History) > 1 {
		st.History = shortened(st.History)
		data, err = json.Marshal(st)
	}
	if err != nil {
		return fmt.Errorf("train: the history can't be written: %w", err)
	}
	return r.Fleet.SetProgress(fleet.Progress{Epoch: epoch, User: data})
}

// shortened is the later half of a history behind the evaluations of the first half that had the least or the most of a
// value: hooks which look for the best find it.
func shortened(h []Evaluation) []Evaluation {
	first, rest := h[:(len(h)+1)/2], h[(len(h)+1)/2:]
	least, most := map[string]int{}, map[string]int{}
	for i, e := range first {
		for name, v := range e.Values {
			if at, known := least[name]; !known || v < first[at].Values[name] {
				least[name] = i
			}
			if at, known := most[name]; !known || v > first[at].Values[name] {
				most[name] = i
			}
		}
	}
	var kept []Evaluation
	for i, e := range first {
		for name := range e.Values {
			if least[name] == i || most[name] == i {
				kept = append(kept, e)
				break
			}
		}
	}
	if len(kept) == len(first) { // else it would never be short
		return rest
	}
	return append(kept, rest...)
}

// resume takes up what a checkpoint has of the job.
func (r *Run) resume() error {
	p, short := r.Fleet.Progress(), r.late
	// a worker may be further than one that was lost, or than the checkpoint
	r.Epoch = max(p.Epoch, r.Fleet.Position().Epoch)
	if len(p.User) == 0 {
		if err := r.remember(memory{}); err != nil {
			return err
		}
	} else {
		var st state
		if err := json.Unmarshal(p.User, &st); err != nil {
			return fmt.Errorf("train: the checkpoint is of a program that has other progress than this package's: %w",
				err)
		}
		r.User, r.curve, r.partly, r.then = st.User, st.Curve, st.Partly, st.Order
		if err := r.remember(st.memory); err != nil {
			return err
		}
		r.readBack(st.memory, len(p.User))
		if short = short || p.Epoch < st.At; short && r.inStep {
			r.Epoch = p.Epoch // all begin the same epochs
		}
		if st.Stopped != "" {
			r.Stop(st.Stopped)
			r.over = true
		}
	}
	for _, e := range r.History {
		if e.End {
			r.front = e.Epoch
		}
	}
	switch {
	case !short: // the job ended between an epoch's evaluation and the next epoch
		r.Epoch = max(r.Epoch, r.front)
	case !r.inStep && r.finished(): // with that epoch alone
		r.Epoch = max(r.Epoch, min(r.Epoch+1, r.front))
	}
	if at := r.Fleet.Position(); r.Epoch > 0 || at.Samples > 0 {
		fmt.Fprintf(r.Job.Stdout, "worker %d goes on after epoch %d/%d and %s examples\n",
			r.Fleet.WorkerIndex(), r.Epoch, r.Job.Epochs, grouped(at.In(r.Epoch)))
	}
	if r.Fleet.WorkerIndex() == 0 && (r.over || r.Epoch >= r.Job.Epochs) {
		fmt.Fprintln(r.Job.Stdout, "nothing is left to train: more -epochs go on, unless the job was stopped; another "+
			"-checkpoint begins anew")
	}
	return r.note() // positions are of this epoch
}

// finished says whether this worker has trained on all of its share of the epoch.
func (r *Run) finished() bool {
	rows := r.rows()
	if rows == nil || r.Epoch >= r.Job.Epochs {
		return false
	}
	share, known := r.mine(rows).Len()
	return known && r.Fleet.Position().In(r.Epoch) >= share
}

// counted takes from the history how many examples the epochs before had, and how often the last was evaluated in its
// middle.
func (r *Run) counted() {
	for _, e := range r.History {
		if r.middles++; e.End {
			r.before, r.middles = e.Examples, 0
		}
	}
}

// recall takes a history that is longer than this worker's.
func (r *Run) recall(words []word) error {
	for _, w := range words {
		var m memory
		if w.Kind != recalls || w.Known <= len(r.History) || len(w.History) == 0 {
			continue
		}
		if err := json.Unmarshal(w.History, &m); err != nil {
			return fmt.Errorf("train: the history of another worker: %w", err)
		}
		if err := r.remember(m); err != nil {
			return err
		}
	}
	return nil
}
