package train

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/fleet"
)

// stateVersion is the version of what state is as JSON.
const stateVersion = 1

// state is the state that a restarted job needs.
type state struct {
	Version int `json:"version"`
	memory
	Stopped string `json:"stopped,omitempty"`
	User    []byte `json:"user,omitempty"`
	Curve   curve  `json:"curve,omitzero"`
	// Partly is the trained part of the last epoch of a stopped job.
	Partly part   `json:"partly,omitzero"`
	Order  *order `json:"order,omitempty"`
}

// record updates the progress for checkpoints: the history, and the place of the job in it.
func (r *Run) record() error { return r.progress(r.Epoch) }

func (r *Run) progress(epoch int) error {
	m, err := r.memory()
	if err != nil {
		return err
	}
	o := r.shares.order()
	st := state{Version: stateVersion, memory: m, User: r.User, Curve: r.curve, Order: &o}
	if r.ends.over {
		st.Stopped, st.Partly = r.ends.why(), r.past.partly
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

// resume finds where this worker goes on, and restores what the job knew of itself: the state that servers keep, or
// that of the checkpoint. The state stays the job's until the workers have met.
func (r *Run) resume() error {
	p := r.Fleet.Progress()
	if r.Epoch = r.Fleet.FirstEpoch(); !r.inStep {
		r.Epoch = max(r.Epoch, r.Fleet.Position().Epoch)
	}
	if len(p.User) == 0 {
		if err := r.remember(memory{}); err != nil {
			return err
		}
		return r.record()
	}
	var st state
	if err := json.Unmarshal(p.User, &st); err != nil {
		return fmt.Errorf("train: the checkpoint is of a program that has other progress than this package's: %w",
			err)
	}
	if st.Version != stateVersion {
		return fmt.Errorf("train: the checkpoint's progress is of version %d, this build reads version %d: go on with "+
			"the build of gofleet that saved it, or give another -checkpoint to begin anew", st.Version, stateVersion)
	}
	r.User, r.curve, r.past.partly, r.shares.then = st.User, st.Curve, st.Partly, st.Order
	if st.Order != nil && st.Order.Batch > 0 {
		r.fit(*st.Order, "as its checkpoint has them")
	}
	if err := r.remember(st.memory); err != nil {
		return err
	}
	r.readBack(st.memory)
	if st.Stopped != "" {
		r.Stop(st.Stopped)
		r.ends.over = true
	}
	if len(st.Counted) > 0 && slices.Min(st.Counted) >= r.others.front { // on whatever workers these were
		r.Epoch = max(r.Epoch, r.others.front)
		r.past.counted = slices.Repeat([]int{r.others.front}, r.Fleet.WorkerNum())
	}
	counted := r.past.counted[r.Fleet.WorkerIndex()]
	epoch := r.Epoch
	if epoch < min(r.others.front, counted) && r.shares.trained(epoch) { // it had not reported the next
		epoch++
	}
	if !r.inStep {
		r.Epoch = epoch
	}
	r.past.extra = r.shares.uncounted(counted, min(r.Epoch, r.others.front))
	if at := r.Fleet.Position(); epoch > 0 || at.Samples > 0 {
		fmt.Fprintf(r.Job.Stdout, "worker %d goes on after epoch %d/%d and %s examples\n",
			r.Fleet.WorkerIndex(), epoch, r.Job.Epochs, grouped(at.In(epoch)))
	}
	if r.Fleet.WorkerIndex() == 0 && (r.ends.over || r.Epoch >= r.Job.Epochs) {
		fmt.Fprintln(r.Job.Stdout, "nothing is left to train: more -epochs go on, unless the job was stopped; another "+
			"-checkpoint begins anew")
	}
	return r.Fleet.SetProgress(fleet.Progress{Epoch: r.Epoch, User: p.User}) // positions are of this epoch
}
