package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/strategy"
)

// errOver means that a role was started again after the end of its job.
var errOver = errors.New("the job is over, and nothing is left to train")

// unheard is how long a worker without work waits for a server that answers.
const unheard = 30 * time.Second

// over reports whether a job with servers has ended with its newest checkpoint, and has nothing left to train.
func (j *Job) over(s strategy.Strategy) bool {
	last, err := checkpoints.Latest(s.Recovery.Dir)
	var st state
	_ = json.Unmarshal(last.Progress.User, &st) // a program of another kind has not stopped
	epochs := j.Epochs
	if epochs == 0 && st.Order != nil {
		epochs = st.Order.Epochs
	}
	left := func(p fleet.Position) bool { return p.Epoch < epochs }
	return err == nil && last.Over && (st.Stopped != "" ||
		last.Progress.Epoch >= epochs && !slices.ContainsFunc(last.Positions, left))
}

// left reports whether the model that the job leaves exists, or it leaves none.
func (j *Job) left() bool {
	if j.Out == "" || len(j.Outputs) == 0 {
		return true
	}
	_, err := files.ReadFile(files.Join(j.Out, "model", "model.json"))
	return err == nil
}

// join is InitWorker. After the end of a job without running servers it ends without an error: soon if nothing is left
// to do, unless a server answers, else when roles are missing for good.
func (j *Job) join(ctx context.Context, f *fleet.Fleet, s strategy.Strategy) error {
	if f.ServerNum() > 0 && j.over(s) && j.left() {
		bounded, end := context.WithCancelCause(ctx)
		late := time.AfterFunc(unheard, func() {
			if !slices.ContainsFunc(f.Stats().Links, func(l stats.Link) bool { return l.Received > 0 }) {
				end(errOver)
			}
		})
		defer late.Stop()
		ctx = bounded
	}
	return j.ended(s, f.InitWorker(ctx))
}

// unattended is the error with which a server ends; nil if the job is over and no worker has come.
func (j *Job) unattended(f *fleet.Fleet, s strategy.Strategy, err error) error {
	if f.Stats().Server.Absent < f.WorkerNum() {
		return err
	}
	return j.ended(s, err)
}

// ended is the error with which a role ends, with errOver if others are missing because the job is over.
func (j *Job) ended(s strategy.Strategy, err error) error {
	if errors.Is(err, fleet.ErrMissing) && j.over(s) {
		return fmt.Errorf("%w: %w", errOver, err)
	}
	return err
}
