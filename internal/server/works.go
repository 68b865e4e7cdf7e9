package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// work is what this server keeps of the cut that it holds, beside the state machine: an image to be written, lists of
// rows for the anchor, or tables that were read beside its own.
type work struct {
	number uint64 // of the cut
	// part is set for plans with a checkpoint, lists and served for plans that are read, and beside for loads.
	task cut.Task
	part written
	// image is closed when it is written, or with the work.
	image  *checkpoint.Image // nil while it is written
	lists  map[uint32][]uint64
	served []table.Served
	beside *beside
}

// close closes the image. A second call has no effect, nor has a call of a nil work.
func (w *work) close() {
	if w != nil && w.image != nil {
		w.image.Close()
		w.image = nil
	}
}

// inHand is the work of the cut that is held, from when its steps are in the tables. Orders of server 0 make it, and
// requests of the cut's anchor read it.
type inHand struct {
	st       *state.Job
	follower *cut.Follower
	// now is guarded by the lock; nil until a cut has reached its steps here.
	now *work
}

// tidy closes the work of a cut that is no longer held. The caller holds the lock. It is called by everything that may
// end a cut: an order, a report of server 0, or the next hold.
func (c *inHand) tidy() {
	if c.now != nil && c.now.number != c.follower.Number() {
		c.now.close()
		c.now = nil
	}
}

// aside prepares what the works of a cut need that has reached its steps, and returns what server 0 and the anchor must
// know of it. The caller holds the lock, which is released while rows are searched or files are read. For plans that
// only end a period it prepares nothing but a place for lists.
func (c *holding) aside(o *cut.Order) (said []byte, err error) {
	w := &work{number: o.Number, task: o.Task}
	c.now = w
	switch {
	case o.Task.Save != nil:
		return nil, c.takeImage(w)
	case o.Task.Serve != nil:
		return c.list(w)
	case o.Task.Load != nil:
		return c.read(w)
	}
	w.lists = map[uint32][]uint64{}
	return nil, nil
}

// takeImage takes an image of this server's part of a checkpoint. The caller holds the lock. The journal's next records
// come after the checkpoint, whether it becomes whole or not.
func (c *holding) takeImage(w *work) error {
	save := w.task.Save
	save.ID = c.fileID(w.number)
	if c.part.Index == 0 {
		if err := c.saving.frozen.set(c.saving.frozen.brought()); err != nil {
			return err
		}
	}
	image, err := c.saving.image(save)
	if err != nil {
		return err
	}
	w.image, w.part = &image, c.saving.partOf(save)
	c.segments.rebase(save)
	if len(save.Params) == 0 {
		c.newest, c.newestAt = source{Dir: save.Dir, ID: save.ID}, c.part.Updates.Version()
	}
	return nil
}

// fileID is the id in the names of a cut's files.
func (c *holding) fileID(number uint64) string {
	return cut.FileID(c.st.Generation().Number, number)
}

// write writes the image. The caller holds the lock. The goroutine that it starts closes the image, also if the file
// can't be written.
func (c *holding) write(o *cut.Order) {
	w := c.now
	image := w.image
	w.image = nil
	c.under.Go(func() {
		c.segments.forget()
		var said []byte
		var err error
		w.part.Part, err = c.saving.writeImage(w.task.Save, *image)
		image.Close() // before a cut begins in which tables are loaded
		if err == nil {
			said, err = json.Marshal(w.part)
		}
		c.st.Lock()
		defer c.st.Unlock()
		c.wrote = w
		if c.follower.Did(said, err) {
			c.remove(o.Number)
		}
		c.st.Broadcast()
	})
}

// remove removes the part that was written last, if it is of that cut, which was given up. The caller holds the lock;
// files are removed on a goroutine.
func (c *holding) remove(number uint64) {
	w := c.wrote
	if w == nil || w.number != number {
		return
	}
	c.wrote = nil
	c.under.Go(func() {
		if err := checkpoint.Discard(w.task.Save.Dir, w.part.File); err != nil {
			c.log.Warn("the part of an abandoned checkpoint could not be removed", "dir", w.task.Save.Dir, "error", err)
		}
	})
}

// list lists the rows that a model for serving takes, and the models that were saved before. The caller holds the lock,
// which is released while the tables are searched: the cut keeps them unchanged. The answer is a wire.Listed.
func (c *holding) list(w *work) ([]byte, error) {
	c.st.Unlock()
	all := c.store.Select(table.Serving(w.task.Serve.Serving))
	c.st.Lock()
	w.served, w.lists = all, map[uint32][]uint64{}
	listed := wire.Listed{Chain: wire.Chain(c.store.Chain())}
	for i, e := range c.part.Layout.Embeddings {
		w.lists[uint32(e.Index)], w.lists[uint32(e.Index)|gone] = all[i].Rows, all[i].Gone
		listed.Left += all[i].Left
	}
	return json.Marshal(listed)
}

// mark marks the listed rows as served, when the model is whole. A server that was started again meanwhile has no list:
// its chain stays, so that the next delta is refused. mark runs on a goroutine of its own. The record is in the journal
// before the tables change.
func (c *holding) mark(o *cut.Order) {
	c.st.Lock()
	w := c.now
	c.st.Unlock()
	all, chain := make([]table.Served, len(c.store.Tables)), c.store.Chain()
	if w != nil && w.number == o.Number && w.served != nil {
		all, chain = w.served, table.Chain(o.Task.Serve.Chain)
	}
	lost := c.saving.mark(all, chain, o.Name)
	c.st.Lock()
	defer c.st.Unlock()
	c.journal.Failed(lost)
	c.follower.Did(nil, nil)
	c.st.Broadcast()
	c.log.Info("a model for serving was saved", "model", chain.Last, "base", chain.Base, "deltas", chain.Deltas)
}

// read reads the directory that is loaded into tables beside the ones in use, and returns what it found. The caller
// holds the lock, which is released while files are read. A load that fails has changed nothing; its error answers the
// order.
func (c *holding) read(w *work) ([]byte, error) {
	load := w.task.Load
	if n := c.st.Roster.Workers(); load.Worker < 0 || load.Worker >= n {
		return nil, wire.Refuse(wire.StatusRefused, "worker %d: the job has %d workers", load.Worker, n)
	}
	c.st.Unlock()
	n := c.reloading.readFrom(context.Background(), load.Dir, load.Params)
	c.st.Lock()
	w.beside = &n
	return []byte(n.from.Origin), n.err
}

// take replaces the tables by what was read. A server that was started again meanwhile reads again what all have found.
// take runs on a goroutine of its own. The answer is a wire.Loads for the anchor. An error makes the job go back, since
// other servers may have replaced their tables.
func (c *holding) take(o *cut.Order) {
	c.st.Lock()
	defer c.st.Unlock()
	w, err := c.now, error(nil)
	if w == nil || w.number != o.Number || w.beside == nil {
		w = &work{number: o.Number, task: o.Task}
		load := o.Task.Load
		if _, err = c.read(w); err == nil && w.beside.from.Origin != load.Found {
			err = fmt.Errorf("%s has %s now, and other servers have loaded %s", load.Dir, w.beside.from.Origin,
				load.Found)
		}
	}
	var said []byte
	if err == nil {
		n := w.beside
		c.reloading.put(n)
		n.from.Name = o.Name
		said, err = json.Marshal(c.st.LoadsOf(uint32(w.task.Load.Worker)))
		n.from.Said = said
		c.reloading.loads.Note(n.from)
		c.reloading.report(n)
	}
	c.follower.Did(said, err)
	c.st.Broadcast()
}

// kept returns the work of a cut whose anchor reads. The caller holds the lock.
func (c *inHand) kept(name string) (*work, error) {
	number, err := strconv.ParseUint(name, 10, 64)
	if err != nil || !c.follower.Keeps(number) || c.now == nil || c.now.lists == nil {
		return nil, wire.Refuse(wire.StatusStale, "cut %s is not kept here any more (its worker may have been silent "+
			"for too long): begin again", name)
	}
	return c.now, nil
}
