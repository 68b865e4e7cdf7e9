package train

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
)

// memory is the state that a restarted job, or a worker that lacks evaluations, needs to decide like the others.
type memory struct {
	History []Evaluation `json:"history,omitempty"`
	// Evaluations is their number: a checkpoint may have room for some of them only.
	Evaluations int `json:"evaluations,omitempty"`
	// Before is the number of examples that all workers trained on in earlier epochs.
	Before int `json:"before,omitempty"`
	// Middles is the number of evaluations so far in the middle of the current epoch.
	Middles int `json:"middles,omitempty"`
	// Counted are, by worker, the epochs whose samples are in Before: a worker that was lost lacks some, and trains
	// them later.
	Counted []int `json:"counted,omitempty"`
	// Hooked is the number of epochs whose EpochEnd hooks have run on all workers.
	Hooked int `json:"hooked,omitempty"`
	// Labels are sums over the labels of all workers, from which the constant prediction follows.
	Labels []float64 `json:"labels,omitempty"`
	// Hooks are the states of hooks.
	Hooks map[string][]byte `json:"hooks,omitempty"`
}

// memory is this worker's state.
func (r *Run) memory() (m memory, err error) {
	m = memory{History: r.History, Evaluations: len(r.History) + r.past.lacking,
		Before: r.past.before, Middles: r.past.middles, Counted: r.past.counted, Hooked: r.past.hooked,
		Hooks: map[string][]byte{}}
	if c := r.tests.constant; c != nil {
		m.Labels = c.all
	}
	err = r.hooks.states(func(name string, s State) (err error) {
		m.Hooks[name], err = s.Save()
		return err
	})
	return m, err
}

// remember restores the state of a checkpoint, or of another worker.
func (r *Run) remember(m memory) error {
	r.History = m.History
	r.past.before, r.past.middles, r.past.lacking = m.Before, m.Middles, max(m.Evaluations-len(m.History), 0)
	if r.tests.constant != nil {
		r.tests.constant.recall(m.Labels)
	}
	for _, e := range r.History {
		if e.End {
			r.others.front = max(r.others.front, e.Epoch)
		}
	}
	r.past.hooked = m.Hooked
	if r.past.counted = slices.Clone(m.Counted); len(m.Counted) != r.Fleet.WorkerNum() { // shares are others now
		r.past.counted = slices.Repeat([]int{min(r.Epoch, r.others.front)}, r.Fleet.WorkerNum())
	}
	if m.Counted == nil { // of a new job
		r.past.hooked = r.others.front
	}
	return r.hooks.states(func(name string, s State) error { return s.Resume(m.Hooks[name]) })
}

// states calls do for the state of each of the hooks, with a unique name.
func (all hooks) states(do func(name string, s State) error) error {
	seen := map[string]int{}
	for _, h := range all {
		if h.State == nil {
			continue
		}
		seen[h.Name]++
		if err := do(fmt.Sprintf("%s %d", h.Name, seen[h.Name]), h.State); err != nil {
			return fmt.Errorf("train: what hooks %q remember: %w", h.Name, err)
		}
	}
	return nil
}

// readBack completes a history, if a checkpoint had room for a part only, from the files that it was written to.
func (r *Run) readBack(m memory) {
	for _, h := range r.hooks {
		if whole := completed(r.History, h.file); len(whole) > len(r.History) && len(whole) == m.Evaluations {
			r.History, r.past.lacking = whole, 0
		}
	}
	r.paces.recall(r.History, r.hooks)
	switch {
	case r.Fleet.WorkerIndex() > 0 || len(r.History) > len(m.History):
	case r.past.lacking > 0:
		slog.Warn("train: the checkpoint had no room for all evaluations, and no file of the history has the others: "+
			"what is written of the history lacks them; hooks know what they need", "lacking", r.past.lacking, "of",
			m.Evaluations)
	}
}

// completed is a history with the evaluations that a file has in between; nil if the file is not of this history.
func completed(history []Evaluation, file string) (whole []Evaluation) {
	rows, _, err := readHistory(file)
	if err != nil || len(history) == 0 {
		return nil
	}
	at := 0 // index in the history
	for _, e := range rows {
		if n := len(whole); n > 0 && whole[n-1].Epoch < e.Epoch { // the last evaluation of an epoch is at its end
			whole[n-1].End = true
		}
		if known := history[at]; known.Epoch == e.Epoch && known.Examples == e.Examples {
			for name, v := range e.Values {
				if known.Values[name] != v {
					return nil
				}
			}
			e, at = known, at+1
		}
		if whole = append(whole, e); at == len(history) {
			return whole
		}
	}
	return nil
}

// jsonState is a State that is saved as JSON.
type jsonState[T any] struct {
	now   T
	known bool // it was restored
}

func (s *jsonState[T]) Save() ([]byte, error) { return json.Marshal(s.now) }

func (s *jsonState[T]) Resume(saved []byte) error {
	s.now, s.known = *new(T), saved != nil
	if !s.known {
		return nil
	}
	return json.Unmarshal(saved, &s.now)
}

// stateBytes bounds a job's state in checkpoints: of a longer history they have the last part, and the best evaluations
// before.
const stateBytes = 48 << 10
