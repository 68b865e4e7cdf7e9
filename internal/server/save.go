package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// saving does what the machine of package cut decides: it waits for the steps of a cut, writes this server's part or
// ends a period of its tables, and on server 0 commits what all have written. It has the files; whether a push waits is
// the machine's to say.
//
// Pushes wait until an image of the tables is taken, which is as fast as locking each shard once, and go on while it is
// written.
type saving struct {
	st        *state
	part      *part
	frozen    *frozen
	rates     *rates
	recovery  *recovery
	rule      optimizer.Rule
	servers   int
	holding   *holding
	journal   *journaling
	tracker   *checkpoint.Tracker
	segments  *segments
	ended     []period // the last ones
	shrunk    event[shrinkRecord]
	committed event[*cut.Period] // committed by server 0
	served    record             // rows, in a model
	under     sync.WaitGroup     // parts that are being written
	log       *slog.Logger
}

// period is a period of this server's tables that has ended: its name, by which it is known again when a cut is made
// anew, and what was dropped.
type period struct {
	Name  string     `json:"name,omitempty"`
	Freed wire.Freed `json:"freed,omitzero"`
}

// shrinkRecord is the end of a period of this server's tables.
type shrinkRecord struct {
	period
	How     wire.Shrink `json:"how"`
	Dropped [][]uint64  `json:"dropped"` // rows, by table
}

// register has ends of periods outlive a kill, and what was served.
func (c *saving) register(m *memory) {
	addValue(m, "ended", &c.ended)
	c.shrunk = tryEvent(m, "shrink", func(_ context.Context, r shrinkRecord) error {
		c.remember(r.period)
		return c.part.store.EndPeriodAgain(shrinkOf(&r.How), r.Dropped)
	})
	addFact(m, "period", c.st.cut.Period, c.st.cut.Recall)
	c.committed = addEvent(m, "period", c.st.cut.Recall)
	c.registerServing(m)
}

// checked is a handler of messages whose names were looked at.
func (c *saving) checked(do func(*wire.Frame, *wire.Save, *reply) error) handler {
	return control(func(f *wire.Frame, msg *wire.Save, r *reply) error {
		if err := c.check(msg); err != nil {
			return err
		}
		return do(f, msg, r)
	})
}

// check looks at what becomes names of files: the id of a save has letters, digits and dashes alone, and its parts are
// those that the servers write for it, one each.
func (c *saving) check(msg *wire.Save) error {
	other := func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	for _, id := range []string{msg.ID, cmp.Or(msg.Period, msg.ID)} {
		if len(id) == 0 || len(id) > longestID || strings.ContainsFunc(id, other) {
			return wire.Refuse(wire.StatusRefused,
				"%.40q is no id of a checkpoint: it has letters, digits and dashes, %d at most", id, longestID)
		}
	}
	for i, p := range msg.Parts {
		if want := checkpoint.PartName(msg.ID, i, c.servers); p.File != want || p.Server != i {
			return wire.Refuse(wire.StatusRefused, "part %d of checkpoint %s is said to be %.80q of server %d: it is "+
				"%s of server %d",
				i, msg.ID, p.File, p.Server, want, i)
		}
	}
	return nil
}

// longestID is more than the ids of workers have.
const longestID = 64

// freeze begins a cut, after one that is under way, and says which steps are in the tables; or that the work was done
// at this very step, and nothing begins.
func (c *saving) freeze(f *wire.Frame, msg *wire.Save, r *reply) error {
	if err := c.st.enter(f); err != nil {
		return err
	}
	if c.part.index == 0 && msg.Progress != nil {
		c.recovery.series.Look() // a disk may be slow: nobody waits for it
	}
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	free := func() bool { return c.st.cut.Free(msg.ID) && !c.st.leads() && c.st.agreed() }
	why := func() string { return "for another checkpoint to be written, or for signs of life" }
	if err := c.st.lock.await(free, why); err != nil {
		return err
	}
	if err := c.st.roster.Stays(&f.Header); err != nil { // whose cut would nobody end
		return err
	}
	if err := c.st.cut.Freeze(msg, int(f.Worker)); err != nil {
		return err
	}
	c.st.awaitIdle()
	answer, done := c.st.cut.Done(msg.ID, c.part.store.Step())
	if done {
		if msg.Progress != nil {
			c.recovery.satisfied()
		}
		if msg.Shrink != nil {
			c.committed.note(c.st.cut.Period()) // of which this worker knows now
		}
		c.st.lock.broadcast()
		return r.JSON(answer)
	}
	for w := range c.st.roster.Workers() {
		answer.Steps = append(answer.Steps, c.st.roster.Last(w))
	}
	if msg.Progress != nil {
		c.based(&answer)
	}
	return r.JSON(answer)
}

// based says whether a checkpoint of the job's own must be whole, and on server 0 on what else it is to be based.
func (c *saving) based(answer *wire.Held) {
	answer.Whole = c.tracker.Remade()
	if c.part.index > 0 {
		return
	}
	if base := c.recovery.series.Base(answer.Whole); base != nil {
		answer.Base = base.ID
	}
}

// save brings the tables to the cut, does what it is for, or begins to, and lets pushes go on, unless its worker reads:
// once, however often it is asked to.
func (c *saving) save(f *wire.Frame, msg *wire.Save, r *reply) error {
	first, err := c.reach(f, msg)
	switch {
	case err != nil:
		return err
	case first && msg.Shrink != nil && !msg.Read:
		c.shrink(msg)
	case first && !msg.Read:
		c.take(msg)
	}
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	answer, err := c.st.cut.Answer(msg.ID)
	if err != nil || msg.Shrink == nil || msg.Read {
		return err
	}
	return r.JSON(answer)
}

// answer answers with this server's part when it is written.
func (c *saving) answer(f *wire.Frame, msg *wire.Save, r *reply) error {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	if err := c.st.sender(f); err != nil {
		return err
	}
	if err := c.written(msg.ID); err != nil {
		return err
	}
	part, err := c.st.cut.Answer(msg.ID)
	if err == nil && part == nil {
		err = wire.Refuse(wire.StatusStale, "checkpoint %s is not being written here: save again", msg.ID)
	}
	if err != nil {
		return err
	}
	return r.JSON(part)
}

// written waits until the part of a save is written. Locked.
func (c *saving) written(id string) error {
	return c.st.lock.await(func() bool { return !c.st.cut.Writing(id) },
		func() string { return fmt.Sprintf("for checkpoint %s to be written", id) })
}

// reach lets the pushes of the cut through and waits until they are applied. The first who asks for a save is to do its
// work, and others wait for that.
//
// The steps that are missing here are at another server, so that their worker has sent them here too, and will send
// them again until they are answered. If it dies instead, it is taken out of the job, and its steps are waited for no
// more: then the checkpoint has of that worker what each server got, as the weights do. A save that is given up waits
// for none.
func (c *saving) reach(f *wire.Frame, msg *wire.Save) (first bool, err error) {
	st := c.st
	st.lock.Lock()
	defer st.lock.Unlock()
	if err := st.sender(f); err != nil {
		return false, err
	}
	other := func() string { return fmt.Sprintf("for the cut of checkpoint %s", msg.ID) }
	if err := st.lock.await(func() bool { return !st.cut.Busy(msg.ID) }, other); err != nil {
		return false, err
	}
	if first, err = st.cut.Reach(msg); err != nil || !first {
		return false, err
	}
	defer st.lock.broadcast()
	st.lock.broadcast()
	wanted := func() bool { return st.cut.GivenUp(msg.ID) || c.reached() }
	err = st.lock.await(wanted, func() string { return fmt.Sprintf("for the steps of checkpoint %s", msg.ID) })
	if err == nil && !st.cut.GivenUp(msg.ID) {
		err = c.frozen.set(st.cut.Values(msg.ID))
	}
	if err != nil {
		st.cut.Lost(msg.ID)
		return true, err
	}
	return true, st.cut.Reached(msg.ID)
}

// reached says whether every step of the cut is in the tables; those of a worker that is gone never will be. Locked.
func (c *saving) reached() bool { return c.applied(c.st.cut.UpTo) }

// applied says whether all steps up to those of each worker are in the tables. Locked.
func (c *saving) applied(upTo func(worker int) uint64) bool {
	for w := range c.st.roster.Workers() {
		if !c.st.roster.Reached(w, upTo(w)) {
			return false
		}
	}
	return c.st.applying == 0
}

// take takes this server's part of a checkpoint aside, and has it written. The process whose place this one has taken
// may have been told to long ago: what it has written stays, and the journal begins from no checkpoint that is older
// than it says.
func (c *saving) take(msg *wire.Save) {
	written, err := checkpoint.Written(msg.Dir, c.nameOf(msg))
	if written {
		err = wire.Refuse(wire.StatusStale, "checkpoint %s was written here before: save again", msg.ID)
	}
	if err != nil {
		c.wrote(msg, nil, err)
		return
	}
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	image, err := c.image(msg)
	if err != nil {
		c.over(msg, nil, err)
		return
	}
	part := c.partOf(msg)
	c.segments.rebase(msg)
	c.st.cut.Imaged(msg.ID)
	c.st.lock.broadcast()
	c.under.Go(func() {
		c.segments.forget()
		c.write(msg, part, image)
	})
}

// partOf is what is said of a part beside its file. Locked.
func (c *saving) partOf(msg *wire.Save) wire.Part {
	p := wire.Part{Server: c.part.index, Step: c.part.store.Step(), Positions: c.positions(msg),
		RateFactors: c.rates.saved()}
	if copies, are := c.st.mode.(*mode.Copies); are {
		p.Updates = int64(copies.Open())
		for i := range p.RateFactors {
			p.RateFactors[i].From = min(p.RateFactors[i].From, p.Updates+1)
		}
	}
	return p
}

func (c *saving) nameOf(msg *wire.Save) string {
	return checkpoint.PartName(msg.ID, c.part.index, c.servers)
}

// image is what a part is to have: of one of the job's own checkpoints perhaps what has changed.
func (c *saving) image(msg *wire.Save) (checkpoint.Image, error) {
	if msg.Progress != nil {
		if c.part.index == 0 && msg.Base == "" {
			c.recovery.series.Base(true) // the next is whole too until one is committed
		}
		return c.tracker.Image(msg.ID, msg.Base)
	}
	return checkpoint.ImageOf(c.part.store, msg.Params...), nil
}

// writeImage writes a part that was taken aside. What another process has written stays.
func (c *saving) writeImage(msg *wire.Save, image checkpoint.Image) (p checkpoint.Part, err error) {
	name := c.nameOf(msg)
	written, err := checkpoint.Written(msg.Dir, name)
	if written {
		err = wire.Refuse(wire.StatusStale, "checkpoint %s was written here before: save again", msg.ID)
	}
	if err == nil {
		p, err = checkpoint.WriteImage(c.recovery.life, msg.Dir, name, image)
	}
	if err == nil {
		c.log.Info("wrote checkpoint", "dir", msg.Dir, "file", p.File, "bytes", p.Bytes, "rows", p.Rows)
		if msg.Base == "" {
			c.segments.size.Store(p.Bytes)
		}
	}
	return p, err
}

// write writes a part that was taken aside.
func (c *saving) write(msg *wire.Save, part wire.Part, image checkpoint.Image) {
	defer image.Close()
	p, err := c.writeImage(msg, image)
	part.File, part.Bytes, part.Sum, part.Rows = p.File, p.Bytes, p.Sum, p.Rows
	c.wrote(msg, part, err)
}

// positions are how far workers are in their data at the cut of a checkpoint of all params: what pushes up to it have
// brought, since those behind it are held. Locked.
func (c *saving) positions(msg *wire.Save) (all [][]progress.Position) {
	if len(msg.Params) > 0 {
		return nil
	}
	for w := range c.st.roster.Workers() {
		all = append(all, slices.Clone(c.st.roster.Positions(w)))
	}
	return all
}

// shrink ends the period of this server's tables.
func (c *saving) shrink(msg *wire.Save) {
	freed, err := c.endPeriod(msg)
	c.wrote(msg, freed, err)
}

// endPeriod ends a period, once however often it is told to, and says what was dropped.
func (c *saving) endPeriod(msg *wire.Save) (freed wire.Freed, err error) {
	if freed, has := c.hasEnded(msg.Period); has {
		return freed, nil
	}
	done, err := c.part.store.EndPeriod(shrinkOf(msg.Shrink))
	for _, t := range done {
		freed.Rows, freed.Waiting = append(freed.Rows, t.Rows), append(freed.Waiting, t.Waiting)
	}
	r := shrinkRecord{How: *msg.Shrink, period: period{msg.Period, freed}}
	for _, t := range c.part.store.Tables {
		r.Dropped = append(r.Dropped, t.Dropped())
	}
	c.st.lock.Lock()
	c.shrunk.note(r)
	c.remember(r.period)
	c.st.lock.Unlock()
	if err == nil {
		c.log.Info("a period has ended", "rows dropped", freed.Rows, "ids forgotten", freed.Waiting)
	}
	return freed, err
}

// hasEnded says whether the period of that name has ended here, in a cut that another server knows nothing of, and what
// was dropped.
func (c *saving) hasEnded(name string) (freed wire.Freed, has bool) {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	i := slices.IndexFunc(c.ended, func(p period) bool { return p.Name == name })
	if name == "" || i < 0 {
		return freed, false
	}
	return c.ended[i].Freed, true
}

// remember adds a period that has ended. Each worker may still end another than the last.
func (c *saving) remember(p period) {
	c.ended = append(c.ended, p)
	if n := len(c.ended) - rememberedPeriods; n > 0 {
		c.ended = slices.Delete(c.ended, 0, n)
	}
}

const rememberedPeriods = 16

func shrinkOf(how *wire.Shrink) table.Shrink {
	return table.Shrink{Decay: how.Decay, MinScore: how.MinScore, Unseen: how.Unseen}
}

// wrote ends the cut, with what this server answers for its part. A part that nobody wants any more is removed.
func (c *saving) wrote(msg *wire.Save, answer any, err error) {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	c.over(msg, answer, err)
}

// over is wrote. Locked.
func (c *saving) over(msg *wire.Save, answer any, err error) {
	if c.st.cut.Wrote(msg.ID, answer, err) {
		if err := remove(msg, answer); err != nil {
			c.log.Warn("the part of a checkpoint that was given up is left", "dir", msg.Dir, "error", err)
		}
	}
	c.st.lock.broadcast()
}

// remove removes the file that an answer names, if it names one.
func remove(msg *wire.Save, answer any) error {
	p, ok := answer.(wire.Part)
	if !ok {
		return nil
	}
	return checkpoint.Discard(msg.Dir, p.File)
}

// commit checks, on server 0, that all parts are where it can see them, and writes the manifest; or it ends a save that
// failed.
func (c *saving) commit(f *wire.Frame, msg *wire.Save, _ *reply) error {
	over, err := c.committing(f, msg)
	if over || err != nil {
		return err
	}
	step := c.part.store.Step()
	if msg.Shrink == nil {
		step = msg.Parts[0].Step
		err = c.whole(msg, int(f.Worker))
	}
	c.st.lock.Lock()
	c.st.cut.Committed(step, msg.Freed, err)
	if err == nil && msg.Shrink != nil {
		c.committed.note(c.st.cut.Period())
	}
	c.st.lock.broadcast()
	c.st.lock.Unlock()
	if err == nil {
		c.recovery.committed(msg)
	}
	return err
}

// seal makes what all servers have written in a cut that server 0 leads a checkpoint, with that id.
func (c *saving) seal(s *cut.Sealing, id string) error {
	var with wire.Cutting
	var at wire.Placed
	if err := errors.Join(json.Unmarshal(s.Ask.How, &with), json.Unmarshal(s.Brought, &at)); err != nil {
		return err
	}
	msg := &wire.Save{ID: id, Dir: at.Dir, Base: at.Base, Progress: at.Progress, Params: with.Params, Steps: s.Steps,
		Parts: make([]wire.Part, len(s.Parts))}
	for i, said := range s.Parts {
		if err := json.Unmarshal(said, &msg.Parts[i]); err != nil {
			return err
		}
	}
	err := c.whole(msg, s.Ask.Worker)
	if err == nil {
		c.recovery.committed(msg)
	}
	return err
}

// whole makes what all servers have written a checkpoint.
func (c *saving) whole(msg *wire.Save, saver int) (err error) {
	m := c.manifest(msg)
	if m.Progress != nil {
		m.Progress.Epoch = c.lowest(&m, saver)
	}
	if m.Base, err = c.recovery.series.Based(msg.Base); err != nil {
		return err
	}
	return checkpoint.Commit(msg.Dir, m)
}

// lowest is the epoch up to which a checkpoint has every sample: the one that the saver says is under way, or an
// earlier one of which a worker that was lost has some left.
func (c *saving) lowest(m *checkpoint.Manifest, saver int) (epoch int) {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	epoch = m.Progress.Epoch
	for w, at := range m.Positions {
		its, _ := progress.Sum(at)
		if len(at) == 0 {
			its = c.recovery.progress.Epoch // where it began
		}
		if w != saver && c.st.roster.Short(w) && (len(at) > 0 || roster.SeqOf(c.st.roster.Last(w)) == 0) {
			epoch = min(epoch, its)
		}
	}
	return epoch
}

// committing says whether there is nothing to commit: the save is given up, or a commit has come again.
func (c *saving) committing(f *wire.Frame, msg *wire.Save) (over bool, err error) {
	cut := c.st.cut
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	if err := c.st.sender(f); err != nil {
		return false, err
	}
	err = c.st.lock.await(func() bool { return cut.Committing() == "" },
		func() string { return fmt.Sprintf("for checkpoint %s to be written", cut.Committing()) })
	switch {
	case err != nil:
		return false, err
	case !msg.Abandon:
		return cut.Commit(msg)
	}
	if cut.GiveUp(msg, int(f.Worker)) {
		c.st.torn(int(f.Worker))
	}
	c.st.lock.broadcast()
	if msg.Discard {
		err = remove(msg, cut.Discard(msg))
	}
	return true, err
}

// manifest is that of a checkpoint whose parts are written.
func (c *saving) manifest(msg *wire.Save) checkpoint.Manifest {
	m := checkpoint.Manifest{ID: msg.ID, Step: msg.Parts[0].Step, RateFactors: fromWire(msg.Parts[0].RateFactors),
		Progress: (*checkpoint.Progress)(msg.Progress), Positions: msg.Parts[0].Positions}
	m.Holds(c.rule, c.part.layout.Params, msg.Params...)
	if _, m.Copies = c.st.mode.(*mode.Copies); m.Copies {
		m.Step = msg.Parts[0].Updates
	}
	for _, step := range msg.Steps {
		m.Steps = append(m.Steps, roster.SeqOf(step))
	}
	for _, p := range msg.Parts {
		for w := range min(len(m.Positions), len(p.Positions)) { // those of a worker that died may differ
			m.Positions[w] = progress.Agreed(m.Copies, m.Positions[w], p.Positions[w])
		}
		m.Parts = append(m.Parts, checkpoint.Part{File: p.File, Bytes: p.Bytes, Sum: p.Sum, Rows: p.Rows})
	}
	return m
}
