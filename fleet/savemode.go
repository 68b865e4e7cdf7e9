package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/inference"
	"github.com/gofleet/gofleet/internal/job"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// SaveMode says what [Fleet.SaveModel] saves. The values are those of PaddlePaddle's memory tables and of PaddleRec.
// (PaddlePaddle's older tables and the documents of FleetX use 1 for the base and 2 for the delta.)
type SaveMode int

// A job that trains for weeks and is served meanwhile typically saves a base each day and a delta each hour, which
// serve.Load(base, deltas...) reads as one model, and a SaveBatch checkpoint at the end of the day.
const (
	_ SaveMode = iota // PaddlePaddle's 0 is SavePersistables
	// SaveDelta saves the changes since the last base or delta to rows that serving needs, with all dense weights.
	SaveDelta
	// SaveBase saves a model for inference with the rows that serving needs.
	SaveBase
	// SaveBatch saves a checkpoint of everything and then ends the period, in one cut between steps: SavePersistables
	// followed by Shrink, with no push in between.
	SaveBatch
)

// String implements [fmt.Stringer].
func (m SaveMode) String() string {
	if names := [...]string{"no mode", "SaveDelta", "SaveBase", "SaveBatch"}; m >= 0 && int(m) < len(names) {
		return names[m]
	}
	return fmt.Sprintf("SaveMode(%d)", int(m))
}

// SaveOptions are the options of SaveModel; Mode is required.
type SaveOptions struct {
	Mode SaveMode
	// Model is the model that SaveBase and SaveDelta save: nn.Inference(outputs...), the same for a base and its
	// deltas.
	Model optimizer.Model

	// BaseThreshold is the lowest score of rows that SaveBase and SaveDelta save from embeddings with ShowClick. 0
	// means 1.5; a negative value saves all.
	BaseThreshold float64
	// DeltaThreshold is the lowest delta score of such rows that SaveDelta saves. The delta score counts the shows and
	// clicks since the row was last saved in a base or delta. 0 means 0.25; a negative value saves every changed row.
	DeltaThreshold float64
	// DeltaKeepDays is how many periods may have ended since a row of an embedding with ShowClick was last used for
	// SaveBase and SaveDelta to save it; see ShrinkOptions.Unseen. 0 means 16; a negative value means any number.
	DeltaKeepDays int
	// Published is a directory on this worker's machine that contains, one to three levels down, all bases and deltas
	// saved by this job and its predecessors. A job that resumed from a checkpoint may be older than some of them: its
	// first delta is refused with ErrNoBase unless the newest model in Published is the last one that the checkpoint
	// knows. Set it for bases too, so that they are numbered after all models in it.
	Published string

	// Rows is how SaveBase and SaveDelta store the numbers of rows, in files and in the memory of whoever serves them:
	// "float16" in half the bytes, with 11 bits of each number and none above 65504, "int8" in a quarter and 4 bytes a
	// row, as whole numbers in units of a 127th of the row's largest. "" means float32. Dense weights stay float32.
	Rows string

	// Shrink is how SaveBatch ends the period; the zero value drops nothing.
	Shrink ShrinkOptions

	// Name is the name of what is saved, such as a date. What was saved under its name is not saved again, as long as
	// its directory is whole, and SaveBatch ends the period of its name once; SaveModel then returns what it returned.
	// A base or a batch whose directory is not whole any more is saved again, a delta is [ErrNoBase]. The job's last
	// 1,024 names are in its checkpoints and journals; a name with another directory or other options than before is an
	// error, Model aside, which a changed program may bring. "" saves with each call.
	Name string
}

// as is the deed that the name stands for.
func (o SaveOptions) as(dir string) *progress.Deed {
	if o.Name == "" {
		return new(progress.Deed)
	}
	s, _ := o.Shrink.of()
	return &progress.Deed{Name: fmt.Sprintf("%v %q", o.Mode, o.Name), What: fmt.Sprintf("directory %s, "+
		"BaseThreshold %v, DeltaThreshold %v, DeltaKeepDays %d, Rows %q, Shrink %+v", dir, o.BaseThreshold,
		o.DeltaThreshold, o.DeltaKeepDays, o.Rows, s)}
}

// ErrNoBase reports that a delta has no base to follow: no base was saved, other weights were loaded since, or the last
// save is uncertain because the job resumed from a checkpoint (see [SaveOptions].Published) or a save was interrupted.
// Save a base.
var ErrNoBase = backend.ErrNoBase

// SaveModel saves to dir what o.Mode says: a base or a delta that a job publishes while it trains, or a checkpoint at
// the end of a period. Use SavePersistables for a checkpoint alone, and SaveInferenceModel for a model that is exported
// once.
//
// A base has the rows that serving needs: in embeddings with [optimizer.ShowClick], recently used rows with a high
// enough score; in other embeddings, every row. A delta has the rows among these that changed enough since the last
// base or delta (in embeddings without ShowClick, every changed row; under a rule that moves all rows in every step,
// all rows), and the ids that serving should forget because they were dropped or are no longer needed. Saving a row
// resets its delta score to 0. A base followed by all of its deltas equals a base saved at the time of the last delta,
// except for changes below DeltaThreshold. Each base and delta has its own directory, on this worker's machine, with
// checksums and a reference to its predecessor; package nn refuses a damaged directory, one that belongs to another
// base, and one out of order.
//
// A delta must be of the base's model: different outputs, params, shapes, feeds or format are refused. Servers, their
// journals and checkpoints record which model the next delta follows. But a job that resumed from a checkpoint may have
// published later models, whose rows a new delta would not correct. Its first delta is therefore refused with
// [ErrNoBase], and a base must be saved, unless Published shows that there are no later models. A call that fails
// before its model is complete changes nothing. If the worker dies while the model is being completed or recorded by
// servers, the next delta is refused in the same way: no change is lost.
//
// Pushes wait as in SaveInferenceModel. In SaveBatch they wait while the checkpoint is written, since the period ends
// right after it; a SaveBatch that fails before the checkpoint is complete does not end the period.
//
// Any worker may call it. If several save the same kind of checkpoint at the same step, one acts; a base or a delta
// should be saved by one worker of a job. In a collective job worker 0 writes and calls of other workers do nothing,
// except for SaveBatch, which every worker must call. In mode geo SaveBatch ends the period as Shrink does there.
func (f *Fleet) SaveModel(ctx context.Context, dir string, o SaveOptions) (saved stats.Saved, err error) {
	const call = "SaveModel"
	j, err := f.worker(ctx, call)
	if err == nil {
		at, wrong := checkpoint.Place(dir)
		dir, err = at, named(call, errors.Join(o.check(j), wrong))
	}
	if err != nil {
		return saved, err
	}
	as := o.as(dir)
	if o.Mode == SaveBatch {
		err = o.batch(ctx, dir, j.Backend, as)
	} else {
		var s inference.Saved
		s, err = inference.SaveServing(ctx, dir, o.Published, o.Model, o.serving(), o.Rows, as, j.Backend)
		saved = stats.Saved(s)
	}
	if err == nil && saved.Bytes > 0 && !as.Before {
		o.tell(f.seen.Log, dir, saved)
	}
	return saved, named(call, err)
}

// batch saves a checkpoint and ends the period of as once. If it has ended, it saves a checkpoint alone in place of one
// that is not whole any more.
func (o SaveOptions) batch(ctx context.Context, dir string, b backend.Trainer, as *progress.Deed) error {
	shrink, _ := o.Shrink.of()
	err := b.SaveBatch(ctx, dir, shrink, as)
	if err != nil || !as.Before {
		return err
	}
	if _, lost := checkpoint.Verify(ctx, dir); lost == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return b.Save(ctx, dir)
}

// tell logs what was saved; as a warning if thresholds exclude every row of a base.
func (o SaveOptions) tell(log *slog.Logger, dir string, s stats.Saved) {
	tell, text := log.Info, "fleet: a model for serving was saved"
	if o.Mode == SaveBase && s.Rows == 0 && s.Left > 0 {
		tell = log.Warn
		text = "fleet: a base was saved without a row: none has the score BaseThreshold " +
			"(0 means 1.5, below 0 takes all) or was used lately"
	}
	tell(text, "dir", dir, "mode", o.Mode, "rows", s.Rows, "left_out", s.Left, "bytes", s.Bytes)
}

// serving selects the rows of a base or a delta.
func (o SaveOptions) serving() table.Serving {
	s := table.Serving{Delta: o.Mode == SaveDelta,
		BaseThreshold: o.BaseThreshold, DeltaThreshold: o.DeltaThreshold, Keep: o.DeltaKeepDays}
	if s.BaseThreshold == 0 {
		s.BaseThreshold = 1.5
	}
	if s.DeltaThreshold == 0 {
		s.DeltaThreshold = .25
	}
	if s.Keep == 0 {
		s.Keep = 16
	}
	return s
}

// check refuses options that are invalid, or would have no effect.
func (o SaveOptions) check(j *job.Job) error {
	serves := o.Mode == SaveBase || o.Mode == SaveDelta
	switch {
	case o.Mode == 0:
		return errors.New("no Mode: say SaveDelta, SaveBase or SaveBatch; SavePersistables saves a checkpoint of " +
			"everything")
	case o.Mode < 0 || o.Mode > SaveBatch:
		return fmt.Errorf("Mode is %d: it is SaveDelta (1), SaveBase (2) or SaveBatch (3)", int(o.Mode))
	case serves && o.Model == nil:
		return fmt.Errorf("%v saves a model: set Model, as nn.Inference(outputs...)", o.Mode)
	case !serves && o.Model != nil:
		return fmt.Errorf("%v saves everything: leave out Model", o.Mode)
	case !serves && (o.BaseThreshold != 0 || o.DeltaKeepDays != 0):
		return fmt.Errorf("%v saves all rows: leave out BaseThreshold (%v) and DeltaKeepDays (%d), which select rows "+
			"of a model", o.Mode, o.BaseThreshold, o.DeltaKeepDays)
	case o.Mode != SaveDelta && o.DeltaThreshold != 0:
		return fmt.Errorf("%v follows no model: leave out DeltaThreshold (%v), which is for SaveDelta alone", o.Mode,
			o.DeltaThreshold)
	case !serves && o.Rows != "":
		return fmt.Errorf("%v saves everything as it is: leave out Rows (%q)", o.Mode, o.Rows)
	case !serves && o.Published != "":
		return fmt.Errorf("%v follows no model: leave out Published", o.Mode)
	case o.Mode != SaveBatch && o.Shrink != ShrinkOptions{}:
		return fmt.Errorf("%v ends no period: leave out Shrink, or save with SaveBatch", o.Mode)
	case o.Shrink.Period != "":
		return errors.New("SaveBatch ends the period of its Name: give Name in place of Shrink.Period")
	case math.IsNaN(o.BaseThreshold) || math.IsNaN(o.DeltaThreshold):
		return fmt.Errorf("BaseThreshold is %v, DeltaThreshold %v: they are scores", o.BaseThreshold, o.DeltaThreshold)
	case o.BaseThreshold == 0 && o.DeltaThreshold == 0 && o.DeltaKeepDays == 0:
	case !slices.ContainsFunc(j.Layout.Params, func(p *optimizer.Param) bool {
		return p.Embedding &&
			p.Entry.Counts()
	}):
		return fmt.Errorf("%w by any table: set ShowClick in an Entry, or none of BaseThreshold, DeltaThreshold and "+
			"DeltaKeepDays", table.ErrNoScore)
	}
	if o.Mode == SaveBatch {
		shrink, _ := o.Shrink.of()
		return shrink.Check(j.Layout.Params)
	}
	return nil
}
