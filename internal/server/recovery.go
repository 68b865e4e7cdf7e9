package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// recovery runs the checkpoints that a job makes by itself, on server 0: which worker saves them, where each goes, and
// which are removed when a new one is whole. On every server it keeps what the job was started from.
//
// The lowest living worker saves. A worker that stops saves a last time before it leaves, and no longer counts as the
// lowest from its request on: what another worker has pushed meanwhile may be in no checkpoint yet, and that worker,
// when it stops, is the lowest itself. So the worker that leaves last has made sure that a checkpoint has everything.
type recovery struct {
	st     *state.Job
	savers *roster.Savers
	// part has the version of the weights, which shows whether a checkpoint has all of them.
	part *state.Part
	// life ends when the server closes, and with it the writing of files.
	life   context.Context // of the server
	index  int
	series *checkpoint.Series
	// claims and series have locks of their own.
	claims checkpoint.Claims // of directories that workers have named
	epochs *epochs
	led    *led
	base   wire.Base // the checkpoint that the job was started from
	// steps is the largest number of steps of a thread in that checkpoint, if the job has another number of workers;
	// else 0.
	steps   uint64
	shares  int // number of workers of that checkpoint, on server 0, if the job has another number; else 0
	journal *state.Journal
	// segments begin anew when [following] has loaded another checkpoint.
	segments *segments
	stops    state.Event[wire.Leave] // the life that saves a last time
	made     state.Event[string]     // a directory for a checkpoint
	meter    *Meter
	log      *slog.Logger

	// Guarded by the state's lock:
	wish wish
	last saves

	// mu is held while a directory is made, which takes as long as the disk does; the state's lock is not.
	mu     sync.Mutex
	places map[string]string // directories by save, until it is committed
}

// saves records the last checkpoints of this process. Versions count changes of the weights in this process: a
// checkpoint of the process before has none.
type saves struct {
	newest   string    // the id of the last that was begun
	newestAt uint64    // the version of the weights in it
	began    time.Time // when newest was begun
	wholeAt  uint64    // the version in the last whole checkpoint
	whole    time.Time // when that became whole, zero if there is none
	took     time.Duration
}

// begin records a checkpoint that is begun, with weights of a version.
func (s *saves) begin(id string, version uint64) {
	s.newest, s.newestAt, s.began = id, version, time.Now()
}

// commit records that a checkpoint is whole, and how long it took if it is the one that was begun last.
func (s *saves) commit(id string) {
	if s.whole = time.Now(); s.newest == id {
		s.wholeAt, s.took = s.newestAt, s.whole.Sub(s.began)
	}
}

// wish is a request for a checkpoint at once, since a server is about to end or its journal is large.
type wish struct {
	wanted bool
	// begun is "" until all servers hold a cut for it.
	begun string // the save that was begun for it
	whole int    // number of wanted checkpoints that are whole
}

// register makes it survive a kill which worker saves a last time, which directories are the job's, and what the job
// was started from.
func (c *recovery) register(m *state.Memory) {
	state.AddValue(m, "steps", &c.steps)
	state.AddList(m, "stopping", c.savers.Leaving())
	c.stops = state.AddEvent(m, "stopping", func(l wire.Leave) { c.savers.Leave(l.Worker, l.Life) })
	c.made = state.AddEvent(m, "made", c.series.Own)
}

// saver answers a worker that asks whether it is to save. Last reports that the worker leaves after this save, and Ends
// that its process was asked to end. In the answer, Yours makes it save, Late reports that others save for it, and Wait
// that it is to ask again. The caller holds the lock.
func (c *recovery) saver(f *wire.Frame, msg *wire.Saver, r *state.Reply) error {
	msg.Yours = c.savers.Saves(int(f.Worker))
	if msg.Yours && msg.Last && c.savers.Leave(int(f.Worker), f.Life) {
		c.stops.Note(wire.Leave{Worker: int(f.Worker), Life: f.Life})
	}
	msg.Late = !msg.Yours && c.st.Roster.Late(int(f.Worker))
	msg.Yours = msg.Yours && !(msg.Ends && c.st.Roster.Ended(int(f.Worker)))
	if c.savers.Asked(int(f.Worker), msg.Ends); msg.Ends && c.st.Roster.Late(int(f.Worker)) {
		c.endsLate(msg, int(f.Worker))
	}
	return r.JSON(msg)
}

// endsLate answers a late worker that was asked to end, by setting Late, Yours and Wait. Workers before it that go on
// save for it. Workers before it that end too have perhaps saved before its last push: it waits for their end, and
// saves if something is unsaved then. The caller holds the lock.
func (c *recovery) endsLate(msg *wire.Saver, worker int) {
	goesOn, departs := c.savers.Others(worker, c.st.Now())
	msg.Wait = departs && !goesOn
	version := c.part.Updates.Version()
	msg.Late = goesOn || departs || c.last.wholeAt > 0 && c.last.wholeAt == version && c.st.Applying == 0
	msg.Yours = !msg.Late
}

// claim claims the directory of Strategy.Recovery for this job. It does nothing on other servers than server 0. It
// returns an error, which Run returns, if another job has the directory.
func (c *recovery) claim(ctx context.Context) error {
	if c.index != 0 {
		return nil
	}
	return c.series.Claim(ctx)
}

// release releases all claimed directories. Run calls it at its end.
func (c *recovery) release() {
	c.series.Release()
	c.claims.Release()
}

// own makes the directory of one of the job's own checkpoints, once for a call. The caller does not hold the state's
// lock, which own takes for the record: from it a process that comes back knows the directory, and does not use its
// number again.
func (c *recovery) own(id string) (dir string, err error) {
	if c.series.Dir == "" {
		return "", wire.Refuse(wire.StatusRefused,
			"server %d makes no checkpoints of its own: set Strategy.Recovery, and ask server 0", c.index)
	}
	c.mu.Lock() // also while the directory is made: the request may be repeated
	defer c.mu.Unlock()
	dir, made := c.places[id]
	if !made {
		if dir, err = c.series.Make(c.life); err != nil {
			return "", err
		}
		clear(c.places) // the other saves are over
		c.places[id] = dir
		c.st.Lock()
		c.made.Note(dir)
		c.st.Unlock()
	}
	return dir, nil
}

// begins records that all servers hold the cut of a checkpoint, with weights of a version: it has everything that was
// acknowledged before. The caller holds the lock. id is in the names of the cut's files; an earlier wish is fulfilled
// when this checkpoint is whole.
func (c *recovery) begins(id string, version uint64) {
	c.last.begin(id, version)
	if c.wish.wanted {
		c.wish.begun = id
	}
}

// answer returns how many wanted checkpoints are whole, counted from the start of server 0's process; with wanted it
// requests the next. If the job ends in any case, that checkpoint does not wait long for the steps of a worker that has
// died. The caller holds the lock, and compares the number with an earlier one.
func (c *recovery) answer(wanted bool) (whole int) {
	if wanted && c.want() && !c.journal.ComesBack() {
		c.st.Roster.Hope.Hurry()
	}
	if !wanted && c.st.Leads() { // the asking server waits for what is being saved
		return 0
	}
	return c.wish.whole
}

// want requests a checkpoint at once; it returns false in a job that saves none. The caller holds the lock. Large
// journals, servers that end and loads want one. Several wishes at a time are fulfilled by one checkpoint.
func (c *recovery) want() bool {
	c.wish.wanted = c.wish.wanted || c.series.Dir != ""
	return c.wish.wanted
}

// asks reports whether a worker is to save a checkpoint at once. The caller holds the lock. It is called with each
// heartbeat, and returns true until the checkpoint is whole, since the worker may die before.
func (c *recovery) asks(worker int) bool { return c.wish.wanted && c.savers.Saves(worker) }

// committed records that a checkpoint is whole, and removes old ones. It runs on the goroutine that commits, and does
// not hold the lock while it removes.
func (c *recovery) committed(save *cut.Save) {
	if save.Progress == nil {
		return
	}
	c.log.Info("checkpoint is complete", "dir", save.Dir, "after epoch", save.Progress.Epoch)
	c.st.Lock()
	c.meter.checkpoints.Add(1)
	c.last.commit(save.ID)
	if c.wish.begun == save.ID {
		c.satisfied()
	}
	c.st.Unlock()
	c.series.Committed(save.Dir)
	c.series.Prune()
}

// satisfied records that the wanted checkpoint is whole. The caller holds the lock.
func (c *recovery) satisfied() {
	if c.wish.wanted {
		c.wish.wanted, c.wish.begun, c.wish.whole = false, "", c.wish.whole+1
	}
}

// counts makes workers go on from positions. With another number of workers, whose shares of the data differ, it keeps
// only the largest number of steps. It is called before any worker has joined.
func (c *recovery) counts(positions [][]progress.Position) {
	c.st.Lock()
	defer c.st.Unlock()
	if now := c.st.Roster.Workers(); len(positions) != now {
		c.steps = progress.MostSteps(positions)
		positions = make([][]progress.Position, now)
	}
	c.st.Roster.Resume(positions)
}

// goOn makes workers go on from the positions of a checkpoint. dir names the checkpoint in the log.
func (c *recovery) goOn(dir string, m *checkpoint.Manifest) {
	c.counts(m.Positions)
	c.st.Lock()
	defer c.st.Unlock()
	c.epochs.goOn(m)
	if c.index != 0 {
		return
	}
	c.st.Leader.Did(m.Deeds)
	c.led.goOn(m.Led)
	if saved, now := len(m.Positions), c.st.Roster.Workers(); saved > 0 && saved != now {
		c.shares = saved
		c.log.Warn("the current epoch begins anew: the checkpoint is of another number of workers", "dir",
			dir, "workers then", saved, "workers now", now, "epoch", c.epochs.first(0)+1)
	}
}
