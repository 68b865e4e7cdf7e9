package server

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// gone is a bit of an embedding's number in the lists of a cut: it marks the ids that a model for serving must no
// longer have.
const gone = 1 << 31

// register makes the served rows and the chain survive a kill.
func (c *saving) register(m *state.Memory) {
	state.AddFact(m, "generation", func() string { return c.part.Store.Chain().Generation }, func(then string) {
		chain := c.part.Store.Chain()
		chain.Generation = then
		c.part.Store.SetChain(chain)
	})
	c.served = state.AddRecord(m, state.KindServed, c.again)
}

// servedRecord is the head of a record of served rows, with the name by which they are marked once.
type servedRecord struct {
	wire.Chain
	cut.Named
}

// mark marks rows as served. The error is the journal's. all is by table, and may have no rows: then only the chain
// changes.
func (c *saving) mark(all []table.Served, now table.Chain, name string) (lost error) {
	if c.journal.On() {
		lost = c.served.Append(func(b *wire.Builder) {
			_ = b.JSON(servedRecord{wire.Chain(now), cut.Named{Name: name}}) // strings and a number always encode
			for i, t := range all {
				b.IDs(uint32(i), t.Rows)
				b.IDs(uint32(i), t.Gone)
			}
		})
	}
	c.part.Store.Serve(all, now)
	return lost
}

// again replays the marking of served rows. The caller holds the lock. The head is followed by two lists for each
// table: rows, and ids that are gone.
func (c *saving) again(f *wire.Frame) error {
	var now servedRecord
	if err := f.JSON(&now); err != nil {
		return err
	}
	if now.Name != "" {
		c.st.Follower.Recall(now.Named)
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
	all := make([]table.Served, len(c.part.Store.Tables))
	if len(lists) != 2*len(all) {
		return fmt.Errorf("a served model has %d lists of rows, want 2 for each of %d tables", len(lists), len(all))
	}
	for i := range all {
		all[i] = table.Served{Rows: lists[2*i], Gone: lists[2*i+1]}
	}
	c.part.Store.Serve(all, table.Chain(now.Chain))
	return nil
}
