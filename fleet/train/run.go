package train

import (
	"fmt"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/nn"
)

// Run is a running job on a worker, as passed to hooks.
type Run struct {
	Fleet *fleet.Fleet
	Job   *Job
	// Epoch is the current epoch, from 0.
	Epoch int
	// History is the evaluations so far, including those from before the job was restarted. A checkpoint has room for
	// some hundreds of them; the others are read back from history.csv. Hooks should keep what they need in a State.
	History []Evaluation
	// Again says that EpochEnd is called a second time for an epoch, since a worker or the job ended before all workers
	// had returned from it, or Evaluated for an evaluation. What must happen once is done by name, as Shrink with a
	// Period.
	Again bool
	// User is the program's own data, at most a few kilobytes. It is saved in checkpoints, and a restarted job begins
	// with it.
	User []byte

	hooks    hooks
	recovers bool         // checkpoints are saved automatically
	dir      string       // of checkpoints
	together bool         // threads wait for each other's steps before any of them counts
	inStep   bool         // workers wait for each other's steps
	lanes    int          // gradients that are computed at a time, each of which misses the updates of the others
	exe      *nn.Executor // for training
	last     nn.TrainResult
	curve    curve
	out      checkpoint.Claims  // holds the output directory
	writing  chan error         // a checkpoint that is written beside training; nil if there is none
	left     string             // the last lines of output, on what was saved
	linear   map[string]float64 // values of Job.Linear, by name
	stopping EarlyStopping      // of Options.Patience
	keeps    *keeper            // of the best model; nil if the job leaves the model of its last step

	course     course
	ends       ending
	shares     shares
	tests      tests
	past       past
	pace       pace
	meter      meter
	paces      paces
	shown      shown
	days       *days             // nil if epochs are none
	publishing checkpoint.Claims // holds the directory in which this worker publishes
}

// past is the part of the job that is done.
type past struct {
	before  int  // examples that all workers trained on in earlier epochs
	lacking int  // evaluations that History lacks, since the checkpoint had no room for them
	partly  part // the trained part of the last epoch
}

// pace is the time of the next evaluation in the middle of an epoch.
type pace struct {
	behind int // steps of the epoch that this worker had made when it began
	due    int // the step of the epoch after which the evaluation comes
}

// Leads says whether this worker is the one that prints and saves for all: the lowest of those that have measured the
// last evaluation and are still here.
func (r *Run) Leads() bool { return r.course.leads }

// Stop ends this worker's epoch, after the current step and the one read ahead, and the job once the other workers have
// reached the end of theirs: all then evaluate, and the model is saved. In jobs without servers and with EvalEvery,
// workers end at the next evaluation. Hooks that decide by an evaluation make the same decision on all workers, so all
// end at once. why is a text for the log. Any goroutine may call Stop.
func (r *Run) Stop(why string) {
	r.ends.stop.CompareAndSwap(nil, &why)
}

func (r *Run) result() Result {
	res := Result{History: r.History, Epoch: r.last, Stopped: r.why()}
	if n := len(r.History); n > 0 {
		res.Last = r.History[n-1]
	}
	return res
}

// whose labels progress that is of one worker alone.
func (r *Run) whose() string {
	if r.Fleet.WorkerNum() == 1 {
		return ""
	}
	return fmt.Sprintf("  worker %d", r.Fleet.WorkerIndex())
}

func (r *Run) label() string {
	if r.days != nil {
		return r.days.label(min(r.Epoch, r.days.begun-1))
	}
	return fmt.Sprintf("epoch %d/%d", min(r.Epoch+1, r.Job.Epochs), r.Job.Epochs)
}

// order is the origin of the order of an epoch's rows. A job that goes on in the middle of an epoch skips as many rows
// as were trained, which are the same rows only if the order is the same.
type order struct {
	Seed  uint64 `json:"seed"`
	Rows  int    `json:"rows,omitempty"` // to train on, 0 if unknown
	Batch int    `json:"batch,omitempty"`
	// Epochs and Patience are those of the job, for one that goes on and names none.
	Epochs   int `json:"epochs,omitempty"`
	Patience int `json:"patience,omitempty"`
	// Digest is the digest of the rows, "" if there is none.
	Digest string `json:"digest,omitempty"`
}

// part is the part of an epoch that all workers have trained together.
type part struct {
	Trained int `json:"trained"`
	Rows    int `json:"rows"` // of the epoch, 0 if unknown
}
