package server

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// gone marks the number of an embedding in the lists of a cut: of ids that a model for serving is not to have any more.
const gone = 1 << 31

// selection is what a model for serving takes of the tables, as a cut keeps it.
type selection struct {
	done   bool
	tables []table.Served
}

// registerServing has what was served outlive a kill.
func (c *saving) registerServing(m *memory) {
	addFact(m, "generation", func() string { return c.part.store.Chain().Generation }, func(then string) {
		chain := c.part.store.Chain()
		chain.Generation = then
		c.part.store.SetChain(chain)
	})
	c.served = addRecord(m, kindServed, c.again)
}

// serve lists what a model for serving takes, for scans of the cut; or, when the model is whole, has it count as
// served. Until then nothing has changed: a worker that ends before leaves everything as it was. One that ends between
// two servers leaves these at other chains, and the next delta is refused.
func (c *saving) serve(f *wire.Frame, msg *wire.Serve, r *reply) error {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	if err := c.st.sender(f); err != nil {
		return err
	}
	var answer wire.Listed
	err := error(nil)
	switch {
	case msg.Now != nil:
		err = c.serves(msg.ID, table.Chain(*msg.Now))
	case msg.Before != nil:
		err = c.before(msg.ID, table.Chain(*msg.Before))
	case msg.Select != nil:
		answer.Left, err = c.selects(msg.ID, table.Serving(*msg.Select))
	}
	if err != nil {
		return err
	}
	answer.Chain = wire.Chain(c.part.store.Chain())
	return r.JSON(answer)
}

// before has the tables say what was saved of them, as their worker does before it makes a model whole: rows stay as
// they are. Locked.
func (c *saving) before(id string, chain table.Chain) error {
	if err := c.st.cut.Kept(id); err != nil || c.part.store.Chain() == chain {
		return err
	}
	c.journal.failed(c.mark(make([]table.Served, len(c.part.store.Tables)), chain, ""))
	return nil
}

// selects looks at all rows, once however often the request comes, and says how many are left out. Locked, but not
// while it looks.
func (c *saving) selects(id string, how table.Serving) (left int, err error) {
	kept, first, err := c.st.cut.Aside(id, func() any { return new(selection) })
	if err != nil {
		return 0, err
	}
	n, is := kept.(*selection)
	if !is {
		return 0, wire.Refuse(wire.StatusRefused, "cut %s is for a load", id)
	}
	if first {
		c.st.lock.Unlock()
		all := c.part.store.Select(how)
		c.st.lock.Lock()
		n.tables, n.done = all, true
		c.st.lock.broadcast()
	}
	looking := func() string { return "for the rows of a model for serving" }
	if err := c.st.lock.await(func() bool { return n.done }, looking); err != nil {
		return 0, err
	}
	for _, t := range n.tables {
		left += t.Left
	}
	return left, c.list(id, n)
}

// list has scans of the cut bring what was selected. Locked.
func (c *saving) list(id string, n *selection) error {
	lists, err := c.st.cut.Rows(id)
	if err != nil {
		return err
	}
	for i, e := range c.part.layout.Embeddings {
		lists[uint32(e.Index)], lists[uint32(e.Index)|gone] = n.tables[i].Rows, n.tables[i].Gone
	}
	return nil
}

// serves has what was selected count as served, once. Locked, but not while it does: pushes wait for the cut, also for
// one that is given up meanwhile.
func (c *saving) serves(id string, now table.Chain) error {
	another := func() string { return "for the rows of a model for serving to be marked" }
	if err := c.st.lock.await(func() bool { return !c.st.cut.Marking(id) }, another); err != nil {
		return err
	}
	if c.part.store.Chain() == now {
		return nil
	}
	kept, _, err := c.st.cut.Aside(id, func() any { return new(selection) })
	if err != nil {
		return err
	}
	n, is := kept.(*selection)
	if !is || !n.done {
		return wire.Refuse(wire.StatusRefused, "cut %s: nothing was listed for a model", id)
	}
	if err := c.st.cut.Mark(id); err != nil {
		return err
	}
	c.st.lock.Unlock()
	lost := c.mark(n.tables, now, "")
	c.st.lock.Lock()
	c.st.cut.Marked(id)
	c.st.outdate()
	c.st.lock.broadcast()
	c.journal.failed(lost)
	c.log.Info("a model for serving was saved", "model", now.Last, "base", now.Base, "deltas", now.Deltas)
	return nil
}

// servedRecord is the head of what counts as served, with the name by which it is done once.
type servedRecord struct {
	wire.Chain
	cut.Named
}

// mark has rows count as served. The error is the journal's.
func (c *saving) mark(all []table.Served, now table.Chain, name string) (lost error) {
	if c.journal.on() {
		lost = c.served.append(func(b *wire.Builder) {
			_ = b.JSON(servedRecord{wire.Chain(now), cut.Named{Name: name}}) // of words and a number
			for i, t := range all {
				b.IDs(uint32(i), t.Rows)
				b.IDs(uint32(i), t.Gone)
			}
		})
	}
	c.part.store.Serve(all, now)
	return lost
}

// again has what is in a frame count as served again. Locked.
func (c *saving) again(f *wire.Frame) error {
	var now servedRecord
	if err := f.JSON(&now); err != nil {
		return err
	}
	if now.Name != "" {
		c.st.follower.Recall(now.Named)
	}
	var lists [][]uint64
	for _, sec := range f.Sections {
		if sec.Kind != wire.KindIDs {
			continue
		}
		ids, err := sec.IDs(nil)
		if err != nil {
			return err
		}
		lists = append(lists, ids)
	}
	all := make([]table.Served, len(c.part.store.Tables))
	if len(lists) != 2*len(all) {
		return fmt.Errorf("a model for serving has %d lists of rows, and there are %d tables", len(lists), len(all))
	}
	for i := range all {
		all[i] = table.Served{Rows: lists[2*i], Gone: lists[2*i+1]}
	}
	c.part.store.Serve(all, table.Chain(now.Chain))
	return nil
}
