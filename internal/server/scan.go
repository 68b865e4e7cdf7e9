package server

import (
	"slices"

	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// scan sends a page of a table's rows: ids from the cursor on, at most as many as requested. Pages have the rows that
// existed when the first page was requested, with their weights at the time of the page. In a cut weights do not
// change, so that all pages are of one moment. scan waits, as a pull does, for the round that the sender is in.
func (c *reading) scan(f *wire.Frame, msg *wire.Scan, r *state.Reply) error {
	if err := c.st.Enter(f); err != nil {
		return err
	}
	e, err := c.part.Embedding(msg.Param)
	if err != nil {
		return err
	}
	t := c.store.Tables[e]
	all, err := c.listed(t, msg)
	if err != nil {
		return err
	}
	answer, ids := page(all, msg)
	if answer.Done && msg.Cut == "" {
		c.forget(msg.Param)
	}
	if err := r.JSON(answer); err != nil || msg.Count {
		return err
	}
	if msg.IDs {
		r.IDs(msg.Param, ids)
		return nil
	}
	rows := make([]float32, 0, len(ids)*c.part.Dim(e))
	for row := range t.RowsOf(ids, c.store.Step()) {
		rows = append(rows, row.W...)
	}
	r.Rows(msg.Param, ids, rows)
	return nil
}

// page returns the ids of a scan's page, and the answer's header. A scan that counts has no page. ids alias all.
func page(all []uint64, msg *wire.Scan) (answer wire.Scanned, ids []uint64) {
	answer.All = len(all)
	if msg.Count {
		return answer, nil
	}
	from, _ := slices.BinarySearch(all, msg.Cursor)
	to := min(from+max(msg.Rows, 1), len(all))
	if ids = all[from:to]; len(ids) > 0 {
		answer.Cursor = ids[len(ids)-1] + 1
	}
	answer.Done = to == len(all)
	return answer, ids
}

// listed returns the ids of a whole table, ascending. They are kept from one page to the next: in a cut until it ends,
// so that all pages have the same rows, otherwise until a scan begins or ends.
func (c *reading) listed(t *table.Sparse, msg *wire.Scan) ([]uint64, error) {
	c.st.Lock()
	lists, err := c.lists(msg.Cut)
	of := msg.Param
	if msg.Gone {
		of |= gone
	}
	all, ok := lists[of]
	c.st.Unlock()
	if err != nil || ok && (msg.Cut != "" || msg.Cursor > 0) {
		return all, err
	}
	if msg.Gone {
		return nil, wire.Refuse(wire.StatusRefused, "cut %q is not for a model for serving, and knows of no rows that "+
			"are gone", msg.Cut)
	}
	all = t.IDs() // slow in a large table: pushes go on meanwhile
	c.st.Lock()
	defer c.st.Unlock()
	if lists, err = c.lists(msg.Cut); err != nil {
		return nil, err
	}
	if first, ok := lists[msg.Param]; ok && msg.Cut != "" {
		return first, nil // a request that came twice
	}
	lists[msg.Param] = all
	return all, nil
}

// lists returns where the ids of tables are kept, for a cut or for none. The caller holds the lock. If the cut is no
// longer in hand, the error makes the worker begin again.
func (c *reading) lists(cut string) (map[uint32][]uint64, error) {
	if cut != "" {
		w, err := c.inHand.kept(cut)
		if err != nil {
			return nil, err
		}
		return w.lists, nil
	}
	return c.scanned, nil
}

// forget drops the ids of a table whose scan is over.
func (c *reading) forget(param uint32) {
	c.st.Lock()
	defer c.st.Unlock()
	delete(c.scanned, param)
}
