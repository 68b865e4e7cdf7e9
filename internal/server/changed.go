package server

import (
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// changed notes, in a mode where workers train copies of the tables, for each worker's current life which rows others
// have changed since it asked for them. In other modes it notes nothing.
type changed struct {
	st   *state.Job
	part *state.Part
	// on says that the mode has copies.
	on bool
	// byWorker has nil for a worker that is not in the job. Guarded by the lock; what is in it has one of its own.
	byWorker []*changes
}

// changes are the rows that the others have changed since a worker's life asked for them. Tables note them, a bit a
// row, while they are pushed; the recorder says which are for an answer, and again which when the same request comes
// again.
type changes struct {
	*mode.Recorder
	tables []*table.Watch // by embedding
}

// reset notes for a life that begins: it has seen no row yet, so all that exist are new to it, as they are to a life of
// which a server that was started again knows nothing. Locked.
func (c *changed) reset(worker int) error {
	c.end(worker)
	if !c.on {
		return nil
	}
	now := new(changes)
	c.byWorker[worker] = now
	var sets []mode.Changes
	for _, t := range c.part.Store.Tables {
		w, err := t.Watch(true)
		if err != nil {
			c.end(worker)
			return err
		}
		now.tables, sets = append(now.tables, w), append(sets, w)
	}
	now.Recorder = mode.NewRecorder(sets...)
	return nil
}

// anew has all workers take over all rows of a table, since some are gone or all are others. Locked. Each worker's next
// pages begin with the first row.
func (c *changed) anew(table int) {
	for _, is := range c.byWorker {
		if is != nil {
			is.Anew(table)
		}
	}
}

// end ends the noting for a life that has ended. Locked. A table notes nothing for it from then on, which makes pushes
// cheaper.
func (c *changed) end(worker int) {
	if was := c.byWorker[worker]; was != nil {
		for _, w := range was.tables {
			w.Close()
		}
		c.byWorker[worker] = nil
	}
}

// watches note the rows that a worker itself pushes for all others, by embedding; nil if nothing is noted. Locked.
func (c *changed) watches(worker int) []*table.Watch {
	if is := c.byWorker[worker]; is != nil {
		return is.tables
	}
	return nil
}

// of is what has changed for the sender of a frame. It refuses a sender that is not in the job, and every sender in
// modes without copies.
func (c *changed) of(f *wire.Frame) (*changes, error) {
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.st.Sender(f); err != nil {
		return nil, err
	}
	if is := c.byWorker[f.Worker]; is != nil {
		return is, nil
	}
	return nil, wire.Refuse(wire.StatusRefused, "worker %d asks for what has changed, which servers note where "+
		"workers train copies", f.Worker)
}
