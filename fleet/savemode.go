package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/inference"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// SaveMode says what [Fleet.SaveModel] saves, by the numbers of PaddlePaddle's memory tables and of PaddleRec. (Its
// older tables, and the documents of FleetX, have 1 for the base and 2 for the delta.)
type SaveMode int

// The modes. Jobs that train for weeks and are served meanwhile save a base each day and a delta each hour, which are
// read as one model by nn.Load(base, deltas...), and a batch at a day's end to go on from.
const (
	_ SaveMode = iota // PaddlePaddle's 0 is SavePersistables
	// SaveDelta is what has changed of the rows that serving needs since the last base or delta, with all dense
	// weights.
	SaveDelta
	// SaveBase is a model for inference with the rows that serving needs.
	SaveBase
	// SaveBatch is a checkpoint of everything, and then the end of a period, in one cut between steps: Shrink follows
	// SavePersistables, and no push comes between them.
	SaveBatch
)

// String implements [fmt.Stringer].
func (m SaveMode) String() string {
	if names := [...]string{"no mode", "SaveDelta", "SaveBase", "SaveBatch"}; m >= 0 && int(m) < len(names) {
		return names[m]
	}
	return fmt.Sprintf("SaveMode(%d)", int(m))
}

// SaveOptions say what SaveModel saves; Mode is required.
type SaveOptions struct {
	Mode SaveMode
	// Model is what SaveBase and SaveDelta save: nn.Inference(outputs...), the same for a base and its deltas.
	Model optimizer.Model

	// SaveBase and SaveDelta take of embeddings with ShowClick the rows whose score is BaseThreshold at least; 0 means
	// 1.5, below 0 all do.
	BaseThreshold float64
	// SaveDelta takes of these the rows whose delta score is DeltaThreshold at least: the score of the shows and clicks
	// that were pushed since the row was last saved in a base or a delta. 0 means 0.25, below 0 every row that has
	// changed.
	DeltaThreshold float64
	// DeltaKeepDays is how many periods may have ended since a row of an embedding with ShowClick was used, in SaveBase
	// and SaveDelta: see ShrinkOptions.Unseen. 0 means 16, below 0 any number.
	DeltaKeepDays int
	// Published is a directory of this worker's machine that has, one to three levels below it, all bases and deltas
	// which this job and jobs before it have saved. A job that goes on from a checkpoint may have gone back behind
	// some of them: its first delta is refused with ErrNoBase, unless the newest in here is what the checkpoint's chain
	// ends with. Set it for bases too, which are numbered behind all that is there.
	Published string

	// Shrink is what SaveBatch does at the end of the period; the zero value ends it and drops nothing.
	Shrink ShrinkOptions
}

// ErrNoBase says that a delta has no base to follow: none was saved, or other weights were loaded since, or what was
// saved last is not known for sure, as when the job goes on from a checkpoint (see [SaveOptions].Published) and when a
// save was broken off. Save a base.
var ErrNoBase = backend.ErrNoBase

// Saved is what SaveModel has saved of a base or a delta: Rows of embeddings, and the Bytes of its files. Left is how
// many other rows BaseThreshold, DeltaThreshold and DeltaKeepDays left out, of a delta among the changed ones.
// Of a checkpoint, and where another worker saves, it is zero.
type Saved struct {
	Rows, Left int
	Bytes      int64
}

// SaveModel saves to dir what o.Mode says: what a job publishes while it trains, or a batch at a period's end. A
// checkpoint alone is SavePersistables, a model that is exported once SaveInferenceModel.
//
// A base has the rows that serving needs: of embeddings with [optimizer.ShowClick] the rows whose score is high enough
// and that were used not long ago, of others every row. A delta has of these rows the ones that have changed enough
// since the last base or delta, in embeddings without ShowClick every row that has changed (under a rule that moves all
// rows in every step, all), and the ids that serving is to forget, since they were dropped or are not needed any more.
// Each row that is saved has a delta score of 0 from then on. A base and all of its deltas, in order, are what a base
// would have been that was saved in the place of the last, but for changes below DeltaThreshold. Each has a directory
// of its own, on this worker's machine; a directory has its checksums, and names what it follows, and package nn
// refuses what is damaged, of another base, or out of order.
//
// A delta is of the base's model: other outputs, params, shapes, feeds or another format are refused. What it may
// follow is known to the keeper of the weights, also to a server that comes back with its journal, and to checkpoints.
// But a job that goes on from a checkpoint may have gone back behind models that were saved later, whose rows no delta
// would set right: its first delta is refused with [ErrNoBase], so that a base follows, unless Published shows that
// there are none. A call that fails before its model is whole changes nothing. Where its worker ends while it becomes
// whole, or while servers take note, the next delta is refused likewise: no change is lost.
//
// Pushes wait as in SaveInferenceModel, in SaveBatch as long as the checkpoint takes to be written, since a period ends
// behind it; a SaveBatch that fails before the checkpoint is whole has ended none.
//
// Any worker may call it; of several that save a checkpoint at the same step in the same way one acts, and a base or a
// delta is saved by one worker of a job. In a collective job worker 0 writes when it calls and other calls do nothing,
// but for SaveBatch, which every worker must call. In mode geo SaveBatch ends the period as Shrink does there.
func (f *Fleet) SaveModel(ctx context.Context, dir string, o SaveOptions) (saved Saved, err error) {
	const call = "SaveModel"
	j, err := f.worker(ctx, call)
	if err == nil {
		err = named(call, errors.Join(o.check(j), checkDir(dir), files.Check(dir), files.Check(o.Published)))
	}
	if err != nil {
		return saved, err
	}
	switch o.Mode {
	case SaveBatch:
		err = j.backend.SaveBatch(ctx, dir, table.Shrink(o.Shrink))
	default:
		var s inference.Saved
		s, err = inference.SaveServing(ctx, dir, o.Published, o.Model, o.serving(), j.backend)
		if saved = Saved(s); err == nil && saved.Bytes > 0 {
			o.tell(f.log, dir, saved)
		}
	}
	return saved, named(call, err)
}

// tell logs what was saved, as a warning where thresholds leave nothing of a base.
func (o SaveOptions) tell(log *slog.Logger, dir string, s Saved) {
	tell, text := log.Info, "fleet: a model for serving was saved"
	if o.Mode == SaveBase && s.Rows == 0 && s.Left > 0 {
		tell = log.Warn
		text = "fleet: a base was saved without a row: none has the score BaseThreshold " +
			"(0 means 1.5, below 0 takes all) or was used lately"
	}
	tell(text, "dir", dir, "mode", o.Mode, "rows", s.Rows, "left_out", s.Left, "bytes", s.Bytes)
}

// serving is what a base or a delta takes.
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

// check refuses options that mean nothing, or would do nothing.
func (o SaveOptions) check(j *job) error {
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
	case !serves && (o.BaseThreshold != 0 || o.DeltaKeepDays != 0) || o.Mode != SaveDelta && o.DeltaThreshold != 0:
		return fmt.Errorf("%v takes neither more nor fewer rows by BaseThreshold %v, DeltaThreshold %v, DeltaKeepDays "+
			"%d: leave out what is not for it", o.Mode, o.BaseThreshold, o.DeltaThreshold, o.DeltaKeepDays)
	case !serves && o.Published != "":
		return fmt.Errorf("%v follows no model: leave out Published", o.Mode)
	case o.Mode != SaveBatch && o.Shrink != ShrinkOptions{}:
		return fmt.Errorf("%v ends no period: leave out Shrink, or save with SaveBatch", o.Mode)
	case math.IsNaN(o.BaseThreshold) || math.IsNaN(o.DeltaThreshold):
		return fmt.Errorf("BaseThreshold is %v, DeltaThreshold %v: they are scores", o.BaseThreshold, o.DeltaThreshold)
	case o.BaseThreshold == 0 && o.DeltaThreshold == 0 && o.DeltaKeepDays == 0:
	case !slices.ContainsFunc(j.layout.Params, func(p *optimizer.Param) bool {
		return p.Embedding &&
			p.Entry.Counts()
	}):
		return fmt.Errorf("%w by any table: set ShowClick in an Entry, or none of BaseThreshold, DeltaThreshold and "+
			"DeltaKeepDays",
			table.ErrNoScore)
	}
	if o.Mode == SaveBatch {
		return table.Shrink(o.Shrink).Check(j.layout.Params)
	}
	return nil
}
