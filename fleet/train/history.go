package train

import (
	"context"
	"encoding/json"
	"fmt"
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
	// Examples are those that all workers have trained on since the job began.
	Examples int `json:"examples"`
	// Values are by name: [TrainLoss], the mean of the examples trained on in this epoch so far, each in its step; and on the test rows, if
	// there are any, [EvalLoss] and "test " with the label of each metric. What could not be measured is absent.
	Values map[string]float64 `json:"values"`
}

// Names of values that every evaluation has.
const (
	TrainLoss = "train loss"
	EvalLoss  = "test loss"
)

// Value is that of a node on the test rows, of [Job.Metrics] or the loss, NaN if it was not measured.
func (e Evaluation) Value(n *nn.Node) float64 {
	for _, name := range []string{testName(n), EvalLoss} {
		if v, ok := e.Values[name]; ok {
			return v
		}
		if n.Counts() {
			break
		}
	}
	return math.NaN()
}

func testName(n *nn.Node) string { return "test " + n.Label() }

// evaluate measures with the others, and calls the hooks.
func (r *Run) evaluate(ctx context.Context, so nn.TrainResult, end bool) error {
	nodes := append([]*nn.Node{r.Job.Loss}, r.Job.Metrics...)
	sums := []float64{float64(so.Samples), float64(so.Passed), so.Loss * float64(so.Samples)}
	if r.test != nil {
		measured, err := measure(ctx, r.judge, r.test.Shard(r.Fleet.WorkerIndex(), r.Fleet.WorkerNum()), nodes)
		if err != nil {
			return err
		}
		if err := r.judge.Close(ctx); err != nil {
			return err
		}
		sums = append(sums, measured...)
	}
	words, err := r.exchange(ctx, r.word(end, sums))
	if err != nil {
		return err
	}
	e, err := r.join(words, nodes, len(sums))
	if err != nil {
		return err
	}
	if e.End = end; end {
		r.before = e.Examples
	}
	r.History = append(r.History, e)
	if r.leads {
		fmt.Fprintf(r.Job.Stdout, "%s: %s\n", r.label(), r.describe(e))
	}
	if err := r.evaluated(ctx, e); err != nil {
		return err
	}
	return r.note()
}

// join adds up what workers measured. One that came meanwhile has measured nothing.
func (r *Run) join(words [][]float64, nodes []*nn.Node, width int) (e Evaluation, err error) {
	sums := make([]float64, width)
	for _, w := range words {
		switch {
		case w[wordMeasures] == 0:
			continue
		case len(w) != wordLen+width:
			return e, fmt.Errorf("train: a worker measured %d numbers, this one %d: do all have test rows, and the same metrics?",
				len(w)-wordLen, width)
		}
		for i, v := range w[wordLen:] {
			sums[i] += v
		}
	}
	e = Evaluation{Epoch: r.Epoch + 1, Examples: r.before + int(sums[0]+sums[1]), Values: map[string]float64{}}
	names, values := []string{TrainLoss}, []float64{sums[2] / sums[0]}
	if r.test != nil {
		measured, err := valuesOf(nodes, sums[3:])
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

// names are those of an evaluation's values, in the order of the job's.
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

// state is what a job that is started again needs of this one.
type state struct {
	History []Evaluation `json:"history,omitempty"`
	Stopped string       `json:"stopped,omitempty"`
	User    []byte       `json:"user,omitempty"`
}

// stateBytes bounds what checkpoints have of a job: of a history that is longer, the last part.
const stateBytes = 48 << 10

// note has checkpoints know of the history, and where the job is in it.
func (r *Run) note() error { return r.progress(r.Epoch) }

func (r *Run) progress(epoch int) error {
	st := state{History: r.History, User: r.User}
	if r.over {
		st.Stopped = r.why()
	}
	data, err := json.Marshal(st)
	for err == nil && len(data) > stateBytes && len(st.History) > 0 {
		st.History = st.History[(len(st.History)+1)/2:]
		data, err = json.Marshal(st)
	}
	if err != nil {
		return fmt.Errorf("train: the history can't be written: %w", err)
	}
	return r.Fleet.SetProgress(fleet.Progress{Epoch: epoch, User: data})
}

// resume takes up what a checkpoint has of the job.
func (r *Run) resume() error {
	p := r.Fleet.Progress()
	r.Epoch = max(p.Epoch, r.Fleet.Position().Epoch) // a worker that is started again alone may be further than the checkpoint
	if len(p.User) > 0 {
		var st state
		if err := json.Unmarshal(p.User, &st); err != nil {
			return fmt.Errorf("train: the checkpoint is of a program that has other progress than this package's: %w", err)
		}
		r.History, r.User = st.History, st.User
		if st.Stopped != "" {
			r.Stop(st.Stopped)
			r.over = true
		}
	}
	for _, e := range r.History {
		if e.End {
			r.before = e.Examples
		}
	}
	if at := r.Fleet.Position(); r.Epoch > 0 || at.Samples > 0 {
		fmt.Fprintf(r.Job.Stdout, "worker %d goes on after epoch %d/%d and %d examples\n",
			r.Fleet.WorkerIndex(), r.Epoch, r.Job.Epochs, at.Samples)
	}
	return nil
}
