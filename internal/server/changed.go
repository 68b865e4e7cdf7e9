package server

import (
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// changed records, in a mode where workers train copies of the tables, which rows others have changed since a worker's
// current life asked for them. In other modes it records nothing.
type changed struct {
	st   *state.Job
	part *state.Part
	// on reports that the mode has copies.
	on bool
	// byWorker has nil for a worker that is not in the job. Guarded by the lock; its elements have locks of their own.
	byWorker []*changes
}

// changes are the rows that others have changed since a worker's life asked for them. Tables record them while rows are
// pushed, a bit a row; the recorder decides which rows an answer has, and repeats the decision for a repeated request.
type changes struct {
	*mode.Recorder
	tables []*table.Watch // by embedding
}

// reset begins the records of a new life, to which all existing rows are new, or of a life after this server was
// started again, when it can't tell which rows are new. The caller holds the lock.
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

// anew marks all rows of a table as changed for all workers, since rows were dropped or the table was replaced. The
// caller holds the lock. Each worker's next pages begin with the first row.
func (c *changed) anew(table int) {
	for _, is := range c.byWorker {
		if is != nil {
			is.Anew(table)
		}
	}
}

// end ends the records of a life. The caller holds the lock. The tables then record nothing for it, which makes pushes
// cheaper.
func (c *changed) end(worker int) {
	if was := c.byWorker[worker]; was != nil {
		for _, w := range was.tables {
			w.Close()
		}
		c.byWorker[worker] = nil
	}
}

// watches are where a worker's pushes must not be recorded, by embedding; nil if nothing is recorded. The caller holds
// the lock.
func (c *changed) watches(worker int) []*table.Watch {
	if is := c.byWorker[worker]; is != nil {
		return is.tables
	}
	return nil
}

// of returns the changes for the sender of a frame. It refuses a sender that is not in the job, and every sender in
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
