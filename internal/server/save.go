package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// saving is this server's part in checkpoints: what a part has, where it is written, and on server 0 the manifest that
// makes the parts of all servers one.
type saving struct {
	st     *state.Job
	roster *roster.Roster
	part   *state.Part
	store  *table.Store // part's
	frozen *frozen
	rates  *rates
	// recovery has the series of directories, and segments the journal that begins anew at a cut.
	recovery *recovery
	rule     optimizer.Rule
	// servers is their number, which is part of a file's name.
	servers int
	inHand  *inHand
	journal *state.Journal
	// tracker knows which rows have changed since the last checkpoint of the job's own.
	tracker  *checkpoint.Tracker
	segments *segments
	served   state.Record // rows, in a model
	log      *slog.Logger
}

// saved is a checkpoint that servers write. It goes with one cut through image, write and commit; parts and steps are
// set on server 0 alone.
type saved struct {
	id     string // names its files
	dir    string
	params []string // that are written; none means all
	// progress is nil of a checkpoint that a worker's Save names.
	progress *wire.Progress // of one of the job's own
	base     string         // the id of the checkpoint that it is based on, "" for none
	// Each is the [roster.Step] of its worker.
	steps []uint64 // that it has, by worker
	parts []written
}

// written is what a server says of its part of a checkpoint: the file, and what the tables were at the cut.
type written struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Sum   string `json:"sum"`
	Step  int64  `json:"step"`
	Rows  int64  `json:"rows"`
	// Updates is how many a worker has made of its copy of the model, on average, where workers have copies.
	Updates int64 `json:"updates,omitempty"`
	// Positions are, by worker, how far its threads are in their data with what the part holds.
	Positions   [][]progress.Position `json:"positions,omitempty"`
	RateFactors []table.Factor        `json:"rate_factors,omitempty"`
}

// oldShrink is the end of a period as builds noted it whose workers led cuts.
type oldShrink struct {
	How     wire.Shrink `json:"how"`
	Dropped [][]uint64  `json:"dropped"` // rows, by table
}

// register has what was served outlive a kill. What builds noted whose workers led cuts is played: ends of periods, and
// facts of them that are not needed.
func (c *saving) register(m *state.Memory) {
	m.Old = append(m.Old, "ended", "period")
	state.AddEvent(m, "period", func(json.RawMessage) {})
	state.TryEvent(m, "shrink", func(_ context.Context, r oldShrink) error {
		return c.store.EndPeriodAgain(table.Shrink(r.How), r.Dropped)
	})
	c.registerServing(m)
}

// applied reports whether all steps up to each worker's are in the tables. Locked. A worker that is gone has no step
// that is waited for.
func (c *saving) applied(upTo func(worker int) uint64) bool {
	for w := range c.roster.Workers() {
		if !c.roster.Reached(w, upTo(w)) {
			return false
		}
	}
	return c.st.Applying == 0
}

// partOf is what is said of a part beside its file. Locked. It is taken at the cut, before pushes go on.
func (c *saving) partOf(msg *saved) written {
	p := written{Step: c.store.Step(), Positions: c.positions(msg),
		RateFactors: c.rates.saved()}
	if copies, are := c.st.Mode.(*mode.Copies); are {
		p.Updates = int64(copies.Open())
		for i := range p.RateFactors {
			p.RateFactors[i].From = min(p.RateFactors[i].From, p.Updates+1)
		}
	}
	return p
}

// nameOf is the file of this server's part. The id is in it, so that two saves never write one file.
func (c *saving) nameOf(msg *saved) string {
	return checkpoint.PartName(msg.id, c.part.Index, c.servers)
}

// image is what a part is to have: of one of the job's own checkpoints perhaps what has changed. The image shares rows
// with the tables until they change, and must be closed. Locked, so that it is of the cut.
func (c *saving) image(msg *saved) (checkpoint.Image, error) {
	if msg.progress != nil {
		return c.tracker.Image(msg.id, msg.base)
	}
	return checkpoint.ImageOf(c.store, msg.params...), nil
}

// writeImage writes a part that was taken aside. What another process has written stays. It holds no lock, and pushes
// may go on beside it. The part is on the disk when it returns, and no checkpoint before the commit.
func (c *saving) writeImage(msg *saved, image checkpoint.Image) (p checkpoint.Part, err error) {
	name := c.nameOf(msg)
	written, err := checkpoint.Written(msg.dir, name)
	if written {
		err = wire.Refuse(wire.StatusStale, "checkpoint %s was written here before: save again", msg.id)
	}
	if err == nil {
		p, err = checkpoint.WriteImage(c.recovery.life, msg.dir, name, image)
	}
	if err == nil {
		c.log.Info("wrote checkpoint", "dir", msg.dir, "file", p.File, "bytes", p.Bytes, "rows", p.Rows)
		if msg.base == "" {
			c.segments.size.Store(p.Bytes)
		}
	}
	return p, err
}

// positions are how far workers are in their data at the cut of a checkpoint of all params: what pushes up to it have
// brought, since pushes behind it are held. Locked. They are copies: workers go on while the checkpoint is written.
func (c *saving) positions(msg *saved) (all [][]progress.Position) {
	if len(msg.params) > 0 {
		return nil
	}
	for w := range c.roster.Workers() {
		all = append(all, slices.Clone(c.roster.Positions(w)))
	}
	return all
}

// seal makes what all servers have written in a cut that server 0 leads a checkpoint, with that id. It runs on server
// 0, without the lock.
func (c *saving) seal(s *cut.Sealing, id string) error {
	var with wire.Cutting
	var at wire.Placed
	if err := errors.Join(state.Parse(s.Ask.How, &with), state.Parse(s.Brought, &at)); err != nil {
		return err
	}
	msg := &saved{id: id, dir: at.Dir, base: at.Base, progress: at.Progress, params: with.Params, steps: s.Steps,
		parts: make([]written, len(s.Parts))}
	for i, said := range s.Parts {
		if err := json.Unmarshal(said, &msg.parts[i]); err != nil {
			return err
		}
	}
	err := c.whole(msg, s.Ask.Worker)
	if err == nil {
		c.recovery.committed(msg)
	}
	return err
}

// whole makes what all servers have written a checkpoint. An error means that there is no checkpoint in the directory,
// or the one before.
func (c *saving) whole(msg *saved, saver int) (err error) {
	m := c.manifest(msg)
	if m.Progress != nil {
		m.Progress.Epoch = c.lowest(&m, saver)
	}
	if m.Base, err = c.recovery.series.Based(msg.base); err != nil {
		return err
	}
	if msg.progress != nil {
		return c.recovery.series.Commit(c.recovery.life, msg.dir, m)
	}
	return c.recovery.claims.Commit(c.recovery.life, msg.dir, m)
}

// lowest is the epoch up to which a checkpoint has every sample: the one that the saver says is under way, or an
// earlier one of which a worker that was lost has some left. The saver's own position is not asked: it says which epoch
// is under way.
func (c *saving) lowest(m *checkpoint.Manifest, saver int) (epoch int) {
	c.st.Lock()
	defer c.st.Unlock()
	epoch = m.Progress.Epoch
	for w, at := range m.Positions {
		its, _ := progress.Sum(at)
		if len(at) == 0 {
			its = c.recovery.progress.Epoch // where it began
		}
		if w != saver && c.roster.Short(w) && (len(at) > 0 || roster.SeqOf(c.roster.Last(w)) == 0) {
			epoch = min(epoch, its)
		}
	}
	return epoch
}

// manifest is that of a checkpoint whose parts are written. Server 0's part says what is the same on all; positions are
// what all servers agree on.
func (c *saving) manifest(msg *saved) checkpoint.Manifest {
	m := checkpoint.Manifest{ID: msg.id, Step: msg.parts[0].Step, RateFactors: msg.parts[0].RateFactors,
		Progress: (*checkpoint.Progress)(msg.progress), Positions: msg.parts[0].Positions}
	m.Holds(c.rule, c.part.Layout.Params, msg.params...)
	if _, m.Copies = c.st.Mode.(*mode.Copies); m.Copies {
		m.Step = msg.parts[0].Updates
	}
	for _, step := range msg.steps {
		m.Steps = append(m.Steps, roster.SeqOf(step))
	}
	for _, p := range msg.parts {
		for w := range min(len(m.Positions), len(p.Positions)) { // a dead worker's may differ
			m.Positions[w] = progress.Agreed(m.Copies, m.Positions[w], p.Positions[w])
		}
		m.Parts = append(m.Parts, checkpoint.Part{File: p.File, Bytes: p.Bytes, Sum: p.Sum, Rows: p.Rows})
	}
	return m
}
