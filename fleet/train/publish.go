package train

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/nn"
)

// Publish says where a job of days publishes its model for serving: a base at each day's end, bases/NAME, deltas
// between, deltas/NAME-NN, and what was done, done/NAME.json, written last, which stays. A serve.Scorer of Dir follows
// them. Dir belongs to the job as long as it runs: another is refused.
type Publish struct {
	// Dir is a directory, or a URL of one; "" publishes nothing.
	Dir string
	// Deltas is into how many parts a day is divided, with a delta between two of them, by the share of the worker that
	// leads. 0 and 1 publish bases alone. In mode geo a delta has what the last exchange has brought.
	Deltas int
	// Keep is of how many days the bases stay, with their deltas; 0 means 3, and at least 2 do.
	Keep int
	// Save has the thresholds, and how rows are stored; its Mode, Model, Published, Shrink and Name are the day's.
	Save fleet.SaveOptions
}

// done describes a day that has ended, as done/NAME.json has it.
type done struct {
	Day     string `json:"day"`
	Rows    int    `json:"rows"`
	Trained int    `json:"trained"`
	// Seconds were spent on training, by the slowest worker.
	Seconds float64 `json:"seconds,omitempty"`
	// BadLines and Damaged were left out.
	BadLines int               `json:"bad_lines,omitempty"`
	Damaged  map[string]string `json:"damaged,omitempty"`
	// Before are the loss and the metrics of its rows before they were trained, and those of the constant.
	Before map[string]float64 `json:"before,omitempty"`
	Slices []slice            `json:"slices,omitempty"` // by value of Days.By
	// Dropped are rows that its period's end has dropped, Born those that have come since the day before, of Table.
	Dropped int `json:"dropped"`
	Born    int `json:"born,omitempty"`
	Table   int `json:"table,omitempty"`
	// Base is what was published, with so many of the rows, Bytes and Version.
	Base    string `json:"base,omitempty"`
	Saved   int    `json:"saved,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Version string `json:"version,omitempty"`
}

// serves are the options of a base or a delta of a name, once in a place.
func (p Publish) serves(mode fleet.SaveMode, j *Job, name string) fleet.SaveOptions {
	o := p.Save
	o.Mode, o.Model, o.Published, o.Name = mode, j.model(), p.Dir, name+" in "+p.Dir
	if mode == fleet.SaveBase {
		o.DeltaThreshold = 0
	}
	return o
}

// claim takes the directory in which this worker publishes. One that led before may be about to end.
func (r *Run) claim(ctx context.Context, dir string) error {
	for pause := time.Second; ; pause *= 2 {
		err := r.publishing.Take(ctx, dir)
		if !errors.Is(err, fleet.ErrTaken) || pause > mostPause {
			return err
		}
		slog.Warn("train: what is published waits until another process ends", "in", pause, "error", err)
		if rest := awake.Rest(ctx, pause); rest != nil {
			return errors.Join(err, rest)
		}
	}
}

// mostPause is the longest pause between two attempts to take a directory, which make ten minutes.
const mostPause = 5 * time.Minute

// base publishes a base, and then has it be current.
func (r *Run) base(ctx context.Context, p Publish, name string) (s stats.Saved, err error) {
	if err = r.claim(ctx, p.Dir); err != nil {
		return s, err
	}
	dir := files.Join(p.Dir, modelfiles.Bases, name)
	if s, err = r.Fleet.SaveModel(ctx, dir, p.serves(fleet.SaveBase, r.Job, name)); err == nil {
		err = modelfiles.WriteCurrent(p.Dir, name)
	}
	return s, err
}

// delta publishes a delta if this worker leads, and is at the place for one: its share of the day is divided in equal
// parts.
func (r *Run) delta(ctx context.Context, so nn.TrainResult) error {
	now := r.days.now
	if now.found.Rows == 0 || !r.course.leads || r.course.alone || now.list.Publish.Dir == "" {
		return nil
	}
	p := now.list.Publish
	at := (so.Samples + so.Passed) * p.Deltas / now.found.Rows
	if at == now.delta || at == 0 || at >= p.Deltas {
		return nil
	}
	now.delta = at
	return r.saveDelta(ctx, p, fmt.Sprintf("%s-%02d", now.list.Name, at))
}

// saveDelta publishes a delta. One that nothing can follow is a base.
func (r *Run) saveDelta(ctx context.Context, p Publish, name string) error {
	err := r.claim(ctx, p.Dir)
	if err == nil {
		dir := files.Join(p.Dir, modelfiles.Deltas, name)
		_, err = r.Fleet.SaveModel(ctx, dir, p.serves(fleet.SaveDelta, r.Job, name))
	}
	if errors.Is(err, fleet.ErrNoBase) {
		_, err = r.base(ctx, p, name)
	}
	if err == nil || fatal(ctx, err) {
		return err
	}
	slog.Warn("train: a delta was not published, and the job trains on", "delta", name, "error", err)
	return nil
}

// mark writes what was done in a day, and removes what is not kept.
func (r *Run) mark(p Publish, m done) error {
	name := p.done(m.Day)
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = files.MakeDirs(files.Dir(name))
	}
	if err == nil {
		err = files.Write(name, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
	}
	if err != nil {
		return err
	}
	if _, _, part := dayOf(m.Day); part {
		return nil
	}
	if err := p.tidy(); err != nil {
		slog.Warn("train: what is not kept of published models could not be removed", "dir", p.Dir, "error", err)
	}
	return nil
}

// done is the file that says what was done in a day.
func (p Publish) done(day string) string { return files.Join(p.Dir, "done", day+".json") }

// marked is what was done in a day, of which the zero value is known if it has no mark.
func (p Publish) marked(day string) (m done, err error) {
	text, err := files.ReadFile(p.done(day))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	return m, err
}

// tidy removes all but the bases of the last days, by number, and the deltas of others.
func (p Publish) tidy() error {
	bases, err := modelfiles.FindPublished(files.Join(p.Dir, modelfiles.Bases), 1)
	deltas, wrong := modelfiles.FindPublished(files.Join(p.Dir, modelfiles.Deltas), 1)
	current, _, unread := modelfiles.ReadCurrent(p.Dir)
	if err := errors.Join(err, wrong, unread); err != nil {
		return err
	}
	keep := max(2, cmp.Or(p.Keep, 3))
	slices.SortFunc(bases, func(a, b modelfiles.Published) int { return b.Serial - a.Serial })
	kept, days := map[string]bool{}, 0
	var gone []modelfiles.Published
	for _, b := range bases {
		if b.Dir != current && (b.Damaged != nil || days >= keep) {
			gone = append(gone, b)
			continue
		}
		kept[b.Sum] = true
		_, _, part := dayOf(files.Base(b.Dir))
		if is, _ := files.Exists(p.done(files.Base(b.Dir))); is && !part { // else it is of the middle of a day
			days++
		}
	}
	for _, d := range deltas {
		if d.Delta == nil || !kept[d.Delta.Base] {
			gone = append(gone, d)
		}
	}
	for _, m := range gone {
		err = errors.Join(err, modelfiles.Delete(m.Dir))
	}
	return err
}
