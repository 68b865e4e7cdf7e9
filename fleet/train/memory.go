package train

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// memory is what a job remembers of its evaluations, so that a restarted job, or a worker that lacks some, decides like
// the others.
type memory struct {
	History []Evaluation `json:"history,omitempty"`
	// Evaluations is their number: there is room for some of them only.
	Evaluations int `json:"evaluations,omitempty"`
	// Before is the number of examples that all workers trained on in earlier epochs.
	Before int `json:"before,omitempty"`
	// Ended is the number of epochs that have ended.
	Ended int `json:"ended,omitempty"`
	// Labels are sums over the labels of all workers, from which the constant prediction follows.
	Labels []float64 `json:"labels,omitempty"`
	// Day is what workers have found of the day under way.
	Day *dayFacts `json:"day,omitempty"`
	// Hooks are the states of hooks.
	Hooks map[string][]byte `json:"hooks,omitempty"`
}

// remembered is what this worker remembers.
func (r *Run) remembered() (memory, error) {
	m := memory{History: r.History, Evaluations: len(r.History) + r.past.lacking, Before: r.past.before,
		Ended: r.course.ended, Hooks: map[string][]byte{}}
	if c := r.tests.constant; c != nil {
		m.Labels = c.all
	}
	if r.days != nil {
		day := r.days.facts
		m.Day = &day
	}
	err := r.hooks.states(func(name string, s State) (err error) {
		m.Hooks[name], err = s.Save()
		return err
	})
	return m, err
}

// memory is what this worker remembers, as JSON, with as much of the history as there is room for.
func (r *Run) memory() ([]byte, error) {
	m, err := r.remembered()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(m)
	for err == nil && len(data) > memoryBytes && len(m.History) > 1 {
		m.History = shortened(m.History)
		data, err = json.Marshal(m)
	}
	if err != nil {
		return nil, fmt.Errorf("train: the history can't be written: %w", err)
	}
	return data, nil
}

func parseMemory(data []byte) (m memory, err error) {
	err = json.Unmarshal(data, &m)
	return m, err
}

// shortened is the later half of a history, after those evaluations of the first half with the least or the most of a
// value, so that hooks which look for the best find it.
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
	if len(kept) == len(first) { // else it would never become shorter
		return rest
	}
	return append(kept, rest...)
}

// remember takes what the job remembers.
func (r *Run) remember(m memory) error {
	r.History = m.History
	r.past.before, r.past.lacking = m.Before, max(m.Evaluations-len(m.History), 0)
	r.course.ended = m.Ended
	if r.tests.constant != nil {
		r.tests.constant.recall(m.Labels)
	}
	if r.days != nil && m.Day != nil {
		r.days.facts = *m.Day
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

// memoryBytes bounds what a job remembers: of a longer history the last part, and the best evaluations before.
const memoryBytes = 48 << 10
