package train

import (
	"encoding/json"
	"fmt"

	"github.com/gofleet/gofleet/fleet"
)

// stateVersion is the version of what state is as JSON.
const stateVersion = 2

// state is what a program's progress has of a job: what the leader of its epochs does not remember ([memory]).
type state struct {
	Version int    `json:"version"`
	Stopped string `json:"stopped,omitempty"`
	User    []byte `json:"user,omitempty"`
	Curve   curve  `json:"curve,omitzero"`
	// Partly is the trained part of the last epoch of a stopped job.
	Partly part   `json:"partly,omitzero"`
	Order  *order `json:"order,omitempty"`
	// Signature has the format of the rows with which the job began.
	Signature json.RawMessage `json:"signature,omitempty"`
}

// record reports that this worker is in an epoch, or still in a later one, with the state for checkpoints.
func (r *Run) record(epoch int) error {
	return r.recordFor(r.Fleet, max(epoch, r.Fleet.Progress().Epoch))
}

// recordFor is record for a fleet in which this process takes the place of another worker.
func (r *Run) recordFor(f *fleet.Fleet, epoch int) error {
	o := r.shares.order()
	st := state{Version: stateVersion, User: r.User, Curve: r.curve, Order: &o, Signature: r.shares.signature}
	if st.Stopped = r.why(); st.Stopped != "" {
		st.Partly = r.past.partly
	}
	data, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("train: the state for checkpoints can't be written: %w", err)
	}
	return f.SetProgress(fleet.Progress{Epoch: epoch, User: data})
}

// resume restores the state that servers keep, or that of the checkpoint. It reports whether the job was stopped.
func (r *Run) resume() (stopped bool, err error) {
	p := r.Fleet.Progress()
	if len(p.User) == 0 {
		if j := r.Job; j.Load != "" {
			r.shares.other = j.otherColumns(signatureIn(j.Load), "-load="+j.Load, false, "begin anew, without -load")
		}
		return false, r.remember(memory{})
	}
	var st state
	if err := json.Unmarshal(p.User, &st); err != nil {
		return false, fmt.Errorf("train: the checkpoint is of a program that has other progress than this package's: "+
			"%w", err)
	}
	if st.Version != stateVersion {
		return false, fmt.Errorf("train: the checkpoint's progress is of version %d, this build reads version %d: go "+
			"on with the build of gofleet that saved it, or give another -checkpoint to begin anew", st.Version,
			stateVersion)
	}
	r.User, r.curve, r.past.partly, r.shares.then = st.User, st.Curve, st.Partly, st.Order
	r.shares.signature = st.Signature
	r.shares.other = r.Job.otherColumns(st.Signature, "what this job goes on from", true,
		"begin anew, with another -checkpoint")
	if st.Order != nil && st.Order.Batch > 0 {
		r.fit(*st.Order, "as its checkpoint has them")
	}
	return st.Stopped != "", r.remember(memory{})
}

// sayWhere prints where this worker goes on.
func (r *Run) sayWhere(stopped bool) {
	if at := r.Fleet.Position(); r.Epoch > 0 || at.Samples > 0 {
		fmt.Fprintf(r.Job.Stdout, "worker %d goes on after epoch %d/%d and %s examples\n",
			r.Fleet.WorkerIndex(), r.Epoch, r.Job.Epochs, grouped(at.In(r.Epoch)))
	}
	if r.Fleet.WorkerIndex() == 0 && (stopped || r.Epoch >= r.Job.Epochs) && r.days == nil {
		fmt.Fprintln(r.Job.Stdout, "nothing is left to train: more -epochs go on, unless the job was stopped; another "+
			"-checkpoint begins anew")
	}
}
