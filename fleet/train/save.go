package train

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/optimizer"
)

// checkpoint saves at an epoch's end, which all have reached.
func (r *Run) checkpoint(ctx context.Context) error {
	if !r.recovers || !r.course.leads {
		return nil
	}
	if r.writing != nil {
		select {
		case err := <-r.writing:
			r.writing = nil
			if err != nil {
				return err
			}
		default:
			slog.Warn("train: no checkpoint of this epoch, since the one before is still being written", "epoch",
				r.Epoch+1)
			return nil
		}
	}
	done := make(chan error, 1)
	go func() { done <- r.checkpointed(ctx, r.Fleet.Checkpoint(ctx)) }()
	patience := time.NewTimer(slowWrite)
	defer patience.Stop()
	select {
	case err := <-done:
		return err
	case <-patience.C:
		slog.Warn("train: training goes on while a checkpoint is written, since its disk or store is slow", "dir",
			r.dir, "epoch", r.Epoch+1)
		r.writing = done
		return nil
	}
}

// slowWrite is how long a job waits for the checkpoint of an epoch before it trains on beside it.
const slowWrite = 2 * time.Second

// written waits for a checkpoint that is being written beside training.
func (r *Run) written() error {
	if r.writing == nil {
		return nil
	}
	err := <-r.writing
	r.writing = nil
	return err
}

// checkpointed warns of a checkpoint that was not saved, and returns its error if that ends the job.
func (r *Run) checkpointed(ctx context.Context, err error) error {
	if err == nil || fatal(ctx, err) {
		return err
	}
	slog.Warn("train: the checkpoint of an epoch was not saved, and the job trains on; it ends with an error if its "+
		"last one fails too", "error", err) // an error that has ended the job ends the next call too
	return nil
}

// fatal reports whether an error of a save ends the job, whatever it was to write.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, fleet.ErrWentBack) || errors.Is(err, fleet.ErrTaken)
}

// insist does something with files until that succeeds, at most so many times, with pauses of 1, 2, 4 … seconds: a disk
// may be full for a moment, and a store's answer lost.
func insist(ctx context.Context, times int, what string, do func() error) (err error) {
	for i := range times {
		if err = do(); err == nil || fatal(ctx, err) {
			return err
		}
		pause := time.Second << i
		if i+1 == times {
			break
		}
		slog.Warn("train: a step with files failed, it is tried again", "what", what, "in", pause, "error", err)
		if rest := awake.Rest(ctx, pause); rest != nil {
			return errors.Join(err, rest)
		}
	}
	return err
}

// save makes the leading worker write what the job leaves.
func (r *Run) save(ctx context.Context) error {
	dir := r.Job.Out
	if dir == "" || !r.course.leads {
		return nil
	}
	var model optimizer.Model
	of := ""
	switch k := r.keeps; {
	case len(r.Job.Outputs) == 0:
		of = ": no model, which Job.Outputs would make"
	case k != nil && k.best.Number > 0 && k.there(r):
		of = fmt.Sprintf(": model is the best, of epoch %d with %s %.4f, checkpoint the last, of epoch %d",
			k.best.At.Epoch, k.name(r), k.value(r, k.best.At), r.History[len(r.History)-1].Epoch)
	default:
		if k != nil && k.best.Number > 0 {
			slog.Warn("train: the best evaluation's model is not where the job leaves it, since it was saved "+
				"elsewhere or another has replaced it: the last step's model is saved", "dir", dir, "epoch",
				k.best.At.Epoch)
		}
		model = r.Job.model()
	}
	err := insist(ctx, 6, "what the job leaves", func() error {
		if model != nil {
			if err := r.Job.forget(); err != nil {
				return err
			}
		}
		return Save(ctx, r.Fleet, dir, model)
	})
	if err != nil {
		return err
	}
	r.besideLinear(ctx)
	r.left = r.closing(ctx, of != "") + fmt.Sprintf("saved %s%s\n", dir, of)
	return r.hooks.saved(ctx, r, dir)
}

// takeOut takes the job's directory until Run ends, so that an error of writing, or another job that would replace its
// results, is reported before hours of training. A directory in a store is not taken.
func (r *Run) takeOut(ctx context.Context) error {
	err := files.CheckWritable(r.Job.Out)
	if err == nil && !files.IsURL(r.Job.Out) {
		err = r.out.Take(ctx, files.Join(r.Job.Out, outLock))
	}
	return err
}

// outLock is the place of the lock in an output directory: checkpoints may be saved into that itself.
const outLock = ".job"

// releaseOut lets another job have the directory.
func (r *Run) releaseOut() {
	r.publishing.Release()
	if r.out.Release(); r.Job.Out != "" && !files.IsURL(r.Job.Out) && r.Fleet.WorkerIndex() == 0 {
		_ = files.Remove(files.Join(r.Job.Out, outLock)) // not if another job has it
	}
}

// Save writes a checkpoint to resume from, dir/checkpoint, and, unless model is nil, a model for inference, dir/model.
// One worker calls it.
func Save(ctx context.Context, f *fleet.Fleet, dir string, model optimizer.Model) error {
	if f == nil {
		return errors.New("train: Save: the fleet is nil: give it what fleet.Init returns, or a Run's Fleet")
	}
	if dir == "" { // it would be the working directory
		return errors.New("train: Save: the directory has no name: give it one, such as output/late")
	}
	if err := f.SavePersistables(ctx, files.Join(dir, "checkpoint")); err != nil || model == nil {
		return err
	}
	return f.SaveInferenceModel(ctx, files.Join(dir, "model"), model)
}
