package server

import (
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/wire"
)

// batch does a step of a save that ends a period, in a cut that the worker keeps until the period has ended on all
// servers: so no push comes between the two. What fails before that has ended none.
//
//	OpFreeze, OpSave   the cut is kept
//	OpBatch            every server writes its part
//	OpBatch, Parts     server 0 makes them a checkpoint
//	OpBatch, Shrink    every server ends the period
//	OpBatch, Freed     server 0 tells whoever comes at this step of it
func (c *saving) batch(f *wire.Frame, msg *wire.Save, r *reply) error {
	switch {
	case msg.Discard:
		return c.discard(f, msg)
	case !msg.Freed.IsZero():
		return c.tell(f, msg)
	}
	if _, err := c.kept(f, msg); err != nil {
		return err
	}
	switch {
	case msg.Shrink != nil:
		freed, err := c.endPeriod(msg)
		if err != nil {
			return err
		}
		return r.JSON(freed)
	case len(msg.Parts) == c.servers:
		return c.whole(msg, int(f.Worker))
	case msg.Parts != nil:
		return wire.Refuse(wire.StatusRefused, "checkpoint %s: %d parts of %d", msg.ID, len(msg.Parts), c.servers)
	}
	return c.writeKept(f, msg, r)
}

// discard removes this server's part of a save that failed.
func (c *saving) discard(f *wire.Frame, msg *wire.Save) error {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	if err := c.st.sender(f); err != nil {
		return err
	}
	return checkpoint.Discard(msg.Dir, c.nameOf(msg))
}

// kept refuses what comes for a cut that is not kept any more; else it is what is to be said of a part.
func (c *saving) kept(f *wire.Frame, msg *wire.Save) (wire.Part, error) {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	if err := c.st.sender(f); err != nil {
		return wire.Part{}, err
	}
	return c.partOf(msg), c.st.cut.Kept(msg.ID)
}

// writeKept writes this server's part in a cut that is kept, and was kept until it was written.
func (c *saving) writeKept(f *wire.Frame, msg *wire.Save, r *reply) error {
	image := checkpoint.ImageOf(c.part.store)
	defer image.Close()
	p, err := checkpoint.WriteImage(c.recovery.life, msg.Dir, c.nameOf(msg), image)
	if err != nil {
		return err
	}
	part, err := c.kept(f, msg)
	if err != nil {
		return err
	}
	c.log.Info("wrote checkpoint", "dir", msg.Dir, "file", p.File, "bytes", p.Bytes, "rows", p.Rows)
	part.File, part.Bytes, part.Sum, part.Rows = p.File, p.Bytes, p.Sum, p.Rows
	return r.JSON(part)
}

// tell has server 0 tell others of the end of the period.
func (c *saving) tell(f *wire.Frame, msg *wire.Save) error {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	if err := c.st.sender(f); err != nil {
		return err
	}
	if err := c.st.cut.Ended(msg.ID, c.part.store.Step(), msg.Freed); err != nil {
		return err
	}
	c.committed.note(c.st.cut.Period())
	c.st.outdate()
	c.st.lock.broadcast()
	return nil
}
