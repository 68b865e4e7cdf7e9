package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// recovery has the checkpoints that a job makes by itself, on server 0: which worker saves them, where each goes, and
// which are removed when a new one is whole. On every server it knows what the job goes on from.
//
// The lowest worker that lives saves. One that stops saves a last time before it leaves, and is counted out from when
// it asks: what another has pushed meanwhile may be in no checkpoint yet, so that the other, when it stops, is the
// lowest itself. So the worker that leaves last has seen to a checkpoint with everything in it.
type recovery struct {
	st     *state.Job
	roster *roster.Roster
	savers *roster.Savers
	// part has the version of the weights, by which a checkpoint is known to have all of them.
	part *state.Part
	// life ends when the server closes, and files that are being written with it.
	life   context.Context // of the server
	index  int
	series *checkpoint.Series
	// claims have a lock of their own, and so has series.
	claims   checkpoint.Claims // of directories that workers have named
	progress wire.Progress     // of the checkpoint that the job goes on from
	base     wire.Base         // that checkpoint
	// the most that a thread has made in it, where the job has another number of workers; else 0
	steps   uint64
	shares  int // workers that it is of, on server 0, where the job has another number; else 0
	journal *state.Journal
	// segments begin anew where follow has loaded another checkpoint.
	segments *segments
	stops    state.Event[wire.Leave] // the life that saves a last time
	made     state.Event[string]     // a directory for a checkpoint
	meter    *Meter
	log      *slog.Logger

	another another
	// Guarded by the state's lock:
	wish wish
	last saves

	// mu is held while a directory is made, which takes as long as the disk does; the lock is not.
	mu     sync.Mutex
	places map[string]string // directories by save, until that is committed
}

// saves is what is known of the last checkpoints of this process. Versions count changes of the weights in this
// process: a checkpoint of the process before it has none.
type saves struct {
	newest   string    // that was begun
	newestAt uint64    // the version of the weights in it
	began    time.Time // when it was
	wholeAt  uint64    // that version of the last that is whole
	whole    time.Time // when that was, zero if there is none
	took     time.Duration
}

// begin takes note of one that is begun, with weights of a version.
func (s *saves) begin(id string, version uint64) {
	s.newest, s.newestAt, s.began = id, version, time.Now()
}

// commit takes note of one that is whole; how long it took is known of the one that was begun last.
func (s *saves) commit(id string) {
	if s.whole = time.Now(); s.newest == id {
		s.wholeAt, s.took = s.newestAt, s.whole.Sub(s.began)
	}
}

// wish is for a checkpoint that is to be saved at once, since a server is about to end or its journal is large.
type wish struct {
	wanted bool
	// begun is "" before a cut of that kind is held by all.
	begun string // the save that was begun since then
	whole int    // that were wanted, and have been saved
}

// register has outlive a kill which worker saves a last time, which directories are the job's, and what the job went on
// from when it was started.
func (c *recovery) register(m *state.Memory) {
	state.AddValue(m, "progress", &c.progress)
	state.AddValue(m, "steps", &c.steps)
	state.AddList(m, "stopping", c.savers.Leaving())
	c.stops = state.AddEvent(m, "stopping", func(l wire.Leave) { c.savers.Leave(l.Worker, l.Life) })
	c.made = state.AddEvent(m, "made", c.series.Own)
}

// saver answers a worker that asks whether it is the one that saves. Last says that the worker leaves behind this save,
// and Ends that its process was asked to end. The answer's Yours has it save, Late that others save for it, and Wait
// that it is to ask again.
func (c *recovery) saver(f *wire.Frame, msg *wire.Saver, r *state.Reply) error {
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.st.Sender(f); err != nil {
		return err
	}
	msg.Yours = c.savers.Saves(int(f.Worker))
	if msg.Yours && msg.Last && c.savers.Leave(int(f.Worker), f.Life) {
		c.stops.Note(wire.Leave{Worker: int(f.Worker), Life: f.Life})
	}
	msg.Late = !msg.Yours && c.roster.Late(int(f.Worker))
	msg.Yours = msg.Yours && !(msg.Ends && c.roster.Ended(int(f.Worker)))
	if c.savers.Asked(int(f.Worker), msg.Ends); msg.Ends && c.roster.Late(int(f.Worker)) {
		c.endsLate(msg, int(f.Worker))
	}
	return r.JSON(msg)
}

// endsLate answers a late worker that was asked to end. Others before it that go on save for it, and these that end too
// have perhaps saved before its last push: it waits for their end, and saves where something is unsaved then. Locked.
// Late, Yours and Wait of the answer are set here.
func (c *recovery) endsLate(msg *wire.Saver, worker int) {
	goesOn, departs := c.savers.Others(worker, c.st.Now())
	msg.Wait = departs && !goesOn
	version := c.part.Updates.Version()
	msg.Late = goesOn || departs || c.last.wholeAt > 0 && c.last.wholeAt == version && c.st.Applying == 0
	msg.Yours = !msg.Late
}

// claim takes the directory of Strategy.Recovery for this job. On other servers than the first it does nothing. Another
// job that has it is an error, which Run returns.
func (c *recovery) claim(ctx context.Context) error {
	if c.index != 0 {
		return nil
	}
	return c.series.Claim(ctx)
}

// release lets other jobs have all directories. Run calls it at its end.
func (c *recovery) release() {
	c.series.Release()
	c.claims.Release()
}

// own makes the directory of a checkpoint of the job's own, once for a call. It is called without the state's lock,
// which it takes for the record. A process that comes back knows the directory by that, and does not give its number
// again.
func (c *recovery) own(id string) (dir string, err error) {
	if c.series.Dir == "" {
		return "", wire.Refuse(wire.StatusRefused,
			"server %d makes no checkpoints of its own: set Strategy.Recovery, and ask server 0", c.index)
	}
	c.mu.Lock() // also while the directory is made: the request may come again
	defer c.mu.Unlock()
	dir, made := c.places[id]
	if !made {
		if dir, err = c.series.Make(c.life); err != nil {
			return "", err
		}
		clear(c.places) // others are over
		c.places[id] = dir
		c.st.Lock()
		c.made.Note(dir)
		c.st.Unlock()
	}
	return dir, nil
}

// begins takes note of a checkpoint whose cut all servers hold, with weights of a version: what was acknowledged before
// is in it. Locked. id names the files of the cut; a wish that came before is fulfilled when this one is whole.
func (c *recovery) begins(id string, version uint64) {
	c.last.begin(id, version)
	if c.wish.wanted {
		c.wish.begun = id
	}
}

// answer is how many were wanted and saved; if so wanted, the next is asked for. It then need not wait long for steps
// of a worker that has died where the job ends in any case. Locked. The number counts from the start of server 0's
// process. A caller compares it with one that it had before.
func (c *recovery) answer(wanted bool) (whole int) {
	if wanted && c.want() && !c.journal.ComesBack() {
		c.roster.Hope.Hurry()
	}
	if !wanted && c.st.Leads() { // the asking worker waits for what is being saved
		return 0
	}
	return c.wish.whole
}

// want has a checkpoint saved at once; false in a job that saves none. Locked. Growing journals, servers that end, and
// loads want one. Wishes that come together are one.
func (c *recovery) want() bool {
	c.wish.wanted = c.wish.wanted || c.series.Dir != ""
	return c.wish.wanted
}

// asks says whether a worker is to save one at once. Locked. It is asked with each heartbeat, and true until the
// checkpoint is whole, since the worker may die before.
func (c *recovery) asks(worker int) bool { return c.wish.wanted && c.savers.Saves(worker) }

// committed takes note that a checkpoint is whole. Old checkpoints are removed here, on the goroutine that commits; the
// lock is not held for that.
func (c *recovery) committed(msg *saved) {
	if msg.progress == nil {
		return
	}
	c.log.Info("checkpoint is complete", "dir", msg.dir, "after epoch", msg.progress.Epoch)
	c.st.Lock()
	c.meter.checkpoints.Add(1)
	c.last.commit(msg.id)
	if c.wish.begun == msg.id {
		c.satisfied()
	}
	c.st.Unlock()
	c.series.Committed(msg.dir)
	c.series.Prune()
}

// satisfied takes note that what is wanted was saved. Locked.
func (c *recovery) satisfied() {
	if c.wish.wanted {
		c.wish.wanted, c.wish.begun, c.wish.whole = false, "", c.wish.whole+1
	}
}

// counts has workers go on from positions, as far as the numbers of workers agree. Another number of workers has other
// shares of the data, and of steps the most. It is called before any worker has joined.
func (c *recovery) counts(positions [][]progress.Position) {
	c.st.Lock()
	defer c.st.Unlock()
	if now := c.roster.Workers(); len(positions) != now {
		c.steps = progress.MostSteps(positions)
		positions = make([][]progress.Position, now)
	}
	c.roster.Resume(positions)
}

// goOn has workers go on from the positions of a checkpoint. dir names the checkpoint in the log.
func (c *recovery) goOn(dir string, positions [][]progress.Position) {
	c.counts(positions)
	saved, now := len(positions), c.roster.Workers()
	if saved > 0 && saved != now && c.index == 0 {
		c.shares = saved
		c.log.Warn("the current epoch begins anew: the checkpoint is of another number of workers", "dir",
			dir,
			"workers then", saved, "workers now", now, "epoch", c.progress.Epoch+1)
	}
}

// resume loads the newest whole checkpoint, if there is one. load fills the tables from one directory. It is kept for
// follow.
func (c *recovery) resume(ctx context.Context, load loader) (found bool, err error) {
	c.another.load = load
	return c.series.Resume(ctx, func(dir string) error { return c.resumeFrom(ctx, dir, load) })
}
