package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// works does what the orders of a cut ask for, but to hold, to reach and to end a period.
type works struct {
	*inHand
	part      *state.Part
	saving    *saving
	reloading *reloading
	journal   *state.Journal
	segments  *segments
	// wrote is the work whose part was written last; that part may still be removed.
	wrote *work // the work of the last part
	// newest and newestAt tell Run whether a server that ends has updates which are in no checkpoint.
	newest   source // the last checkpoint of all params of which it took an image, whole or not
	newestAt uint64 // the version of the weights in it
	// under counts the goroutines of works. Run waits for them when all waits have ended.
	under sync.WaitGroup
	log   *slog.Logger
}

// aside prepares what the works of a cut need that has reached its steps, and returns what server 0 and the anchor must
// know of it. The caller holds the lock, which is released while rows are searched or files are read. For plans that
// only end a period it prepares nothing but a place for lists.
func (c *works) aside(o *cut.Order) (said []byte, err error) {
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
func (c *works) takeImage(w *work) error {
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
func (c *works) fileID(number uint64) string {
	return cut.FileID(c.st.Generation().Number, number)
}

// write writes the image. The caller holds the lock. The goroutine that it starts closes the image, also if the file
// can't be written.
func (c *works) write(o *cut.Order) {
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
func (c *works) remove(number uint64) {
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
func (c *works) list(w *work) ([]byte, error) {
	c.st.Unlock()
	all := c.part.Store.Select(table.Serving(w.task.Serve.Serving))
	c.st.Lock()
	w.served, w.lists = all, map[uint32][]uint64{}
	listed := wire.Listed{Chain: wire.Chain(c.part.Store.Chain())}
	for i, e := range c.part.Layout.Embeddings {
		w.lists[uint32(e.Index)], w.lists[uint32(e.Index)|gone] = all[i].Rows, all[i].Gone
		listed.Left += all[i].Left
	}
	return json.Marshal(listed)
}

// mark marks the listed rows as served, when the model is whole. A server that was started again meanwhile has no list:
// its chain stays, so that the next delta is refused. mark runs on a goroutine of its own. The record is in the journal
// before the tables change.
func (c *works) mark(o *cut.Order) {
	c.st.Lock()
	w := c.now
	c.st.Unlock()
	all, chain := make([]table.Served, len(c.part.Store.Tables)), c.part.Store.Chain()
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
func (c *works) read(w *work) ([]byte, error) {
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
func (c *works) take(o *cut.Order) {
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

// serve sets the chain of the tables to Before, on request of a worker that is about to make a model whole, or that
// failed to; rows do not change. The cut must still be in hand. The caller holds the lock.
func (c *works) serve(f *wire.Frame, msg *wire.Serve, _ *state.Reply) error {
	if _, err := c.kept(msg.Cut); err != nil || c.part.Store.Chain() == table.Chain(msg.Before) {
		return err
	}
	c.journal.Failed(c.saving.mark(make([]table.Served, len(c.part.Store.Tables)), table.Chain(msg.Before), ""))
	return nil
}
