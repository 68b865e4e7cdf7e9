package server

import (
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// saving writes this server's part of checkpoints, and on server 0 the manifest that makes the parts of all servers one
// checkpoint.
type saving struct {
	st     *state.Job
	part   *state.Part
	frozen *frozen
	rates  *rates
	// recovery has the series of directories, and segments the journal, which begins anew at a cut.
	recovery *recovery
	epochs   *epochs
	led      *led
	rule     optimizer.Rule
	// servers is the number of servers, which is in the names of files.
	servers int
	journal *state.Journal
	// tracker records which rows have changed since the last of the job's own checkpoints.
	tracker  *checkpoint.Tracker
	segments *segments
	served   state.Record // rows in a model for serving
	log      *slog.Logger
}

// written is a server's report of its part of a checkpoint: the file, and the state of the tables at the cut.
type written struct {
	checkpoint.Part
	Step int64 `json:"step"`
	// Updates is how many updates a worker has made of its copy of the model, on average, if workers have copies.
	Updates int64 `json:"updates,omitempty"`
	// Positions are, by worker, the places of its threads in the data of which the part holds the pushes.
	Positions   [][]progress.Position `json:"positions,omitempty"`
	Begun       []progress.Begun      `json:"begun,omitempty"` // by worker, on server 0
	Led         []epoch.Record        `json:"led,omitempty"`   // on server 0
	RateFactors []table.Factor        `json:"rate_factors,omitempty"`
}

// applied reports whether all steps up to upTo of each worker are in the tables. The caller holds the lock. Workers
// that are gone are not waited for.
func (c *saving) applied(upTo func(worker int) uint64) bool {
	for w := range c.st.Roster.Workers() {
		if !c.st.Roster.Reached(w, upTo(w)) {
			return false
		}
	}
	return c.st.Applying == 0
}

// partOf is the report of a part without its file. The caller holds the lock. It is taken at the cut, before pushes go
// on.
func (c *saving) partOf(save *cut.Save) written {
	p := written{Step: c.part.Store.Step(), Positions: c.positions(save),
		RateFactors: c.rates.saved(), Begun: slices.Clone(c.epochs.begun), Led: c.led.leader.Facts()}
	if copies, are := c.st.Mode.(*mode.Copies); are {
		p.Updates = int64(copies.Open())
		for i := range p.RateFactors {
			p.RateFactors[i].From = min(p.RateFactors[i].From, p.Updates+1)
		}
	}
	return p
}

// nameOf is the file of this server's part. It includes the id, so that two saves never write one file.
func (c *saving) nameOf(save *cut.Save) string {
	return checkpoint.PartName(save.ID, c.part.Index, c.servers)
}

// image is the content of a part; that of one of the job's own checkpoints may be only what has changed. The image
// shares rows with the tables until they change, and must be closed. The caller holds the lock, so that the image is of
// the cut.
func (c *saving) image(save *cut.Save) (checkpoint.Image, error) {
	if save.Progress != nil {
		return c.tracker.Image(save.ID, save.Base)
	}
	return checkpoint.ImageOf(c.part.Store, save.Params...), nil
}

// writeImage writes an image. It refuses to replace a file that another process has written. It needs no lock, and
// pushes go on meanwhile. When it returns, the part is on the disk; it belongs to a checkpoint only after the commit.
func (c *saving) writeImage(save *cut.Save, image checkpoint.Image) (p checkpoint.Part, err error) {
	name := c.nameOf(save)
	written, err := checkpoint.Written(save.Dir, name)
	if written {
		err = wire.Refuse(wire.StatusStale, "checkpoint %s was written here before: save again", save.ID)
	}
	if err == nil {
		p, err = checkpoint.WriteImage(c.recovery.life, save.Dir, name, image)
	}
	if err == nil {
		c.log.Info("wrote checkpoint", "dir", save.Dir, "file", p.File, "bytes", p.Bytes, "rows", p.Rows)
		if save.Base == "" {
			c.segments.size.Store(p.Bytes)
		}
	}
	return p, err
}

// positions are the places of all workers in their data at the cut of a checkpoint of all params, as the pushes up to
// it report; later pushes are held. The caller holds the lock. They are copies, since workers go on while the
// checkpoint is written.
func (c *saving) positions(save *cut.Save) (all [][]progress.Position) {
	if len(save.Params) > 0 {
		return nil
	}
	for w := range c.st.Roster.Workers() {
		all = append(all, slices.Clone(c.st.Roster.Positions(w)))
	}
	return all
}

// seal commits what all servers have written in a cut as a checkpoint. It runs on server 0, without the
// lock.
func (c *saving) seal(s *cut.Sealing) error {
	parts := make([]written, len(s.Parts))
	for i, said := range s.Parts {
		if err := json.Unmarshal(said, &parts[i]); err != nil {
			return err
		}
	}
	err := c.whole(s, parts)
	if err == nil {
		c.recovery.committed(&s.Save)
	}
	return err
}

// whole commits what all servers have written as a checkpoint. After an error the directory has no checkpoint, or the
// one before.
func (c *saving) whole(s *cut.Sealing, parts []written) (err error) {
	m := c.manifest(s, parts)
	if m.Base, err = c.recovery.series.Based(s.Save.Base); err != nil {
		return err
	}
	if s.Save.Progress != nil {
		return c.recovery.series.Commit(c.recovery.life, s.Save.Dir, m)
	}
	return c.recovery.claims.Commit(c.recovery.life, s.Save.Dir, m)
}

// manifest is the manifest of a checkpoint whose parts are written. Server 0's part has what is the same on all;
// positions are those that all servers agree on.
func (c *saving) manifest(s *cut.Sealing, parts []written) checkpoint.Manifest {
	m := checkpoint.Manifest{ID: s.Save.ID, Step: parts[0].Step, RateFactors: parts[0].RateFactors,
		Progress: (*checkpoint.Progress)(s.Save.Progress), Positions: parts[0].Positions}
	m.Holds(c.rule, c.part.Layout.Params, s.Save.Params...)
	if _, m.Copies = c.st.Mode.(*mode.Copies); m.Copies {
		m.Step = parts[0].Updates
	}
	for _, step := range s.Steps {
		m.Steps = append(m.Steps, roster.SeqOf(step))
	}
	for _, p := range parts {
		for w := range min(len(m.Positions), len(p.Positions)) { // a dead worker's may differ
			m.Positions[w] = progress.Agreed(m.Copies, m.Positions[w], p.Positions[w])
		}
		m.Parts = append(m.Parts, p.Part)
	}
	if m.Progress != nil {
		m.Led = parts[0].Led
		for w, b := range parts[0].Begun {
			m.Firsts = append(m.Firsts, b.First(m.Positions[w]))
		}
		c.st.Lock() // no deed is done while a checkpoint is made whole
		m.Deeds = c.st.Leader.Deeds()
		c.st.Unlock()
	}
	return m
}
