package server

import (
	"log/slog"
	"sync"

	"github.com/gofleet/gofleet/internal/journal"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// journaling records what changes on a server before anybody is answered for it, so that a process which takes this
// one's place comes to the same state. Reads change nothing that others could know, and are not recorded; neither is a
// gradient that waits for its round, nor a request under way: their senders have no answer, and send them again.
//
// An update is recorded as the rules have got it, when it is in the tables and before it counts. All other changes are
// small, and are recorded under the lock with the decision. Where the journal has to survive the machine, an update
// waits for the disk before it counts, and so does the answer to any other request that changes something.
//
// What can't be recorded can't be played. Then the job goes back to its last checkpoint, as if there were no journal.
type journaling struct {
	st      *state
	index   int
	journal *journal.Journal // nil for a server without
	playing bool             // of this very journal
	asked   bool             // the strategy has journals
	durably bool             // which survive the machine
	frames  sync.Pool        // of wire.Builder
	log     *slog.Logger
}

// The kinds of records.
const (
	kindEvent   journal.Kind = 1 + iota // JSON of a small decision, under its key
	kindUpdate                          // a frame: what was applied, and an updateRecord
	kindPublish                         // the frame that worker 0 sent
	kindFrozen                          // a frame with the frozen dense values
	kindServed                          // a frame with the ids of a model for serving, and its chain
)

// newJournaling is that of a server whose strategy has a journal which survives so much, or none.
func newJournaling(st *state, index int, survives strategy.Journal, log *slog.Logger) *journaling {
	return &journaling{st: st, index: index, asked: survives != "", durably: survives == strategy.JournalMachine, log: log}
}

// on says whether what changes is recorded: not what is played.
func (c *journaling) on() bool { return c != nil && c.journal != nil && !c.playing }

// comesBack says whether a server that ends can be started again where it was, which holds for all servers of a job or
// for none.
func (c *journaling) comesBack() bool { return c != nil && c.asked }

// append records a frame that fill makes.
func (c *journaling) append(kind journal.Kind, fill func(*wire.Builder)) error {
	b, _ := c.frames.Get().(*wire.Builder)
	if b == nil {
		b = new(wire.Builder)
	}
	defer c.frames.Put(b)
	b.Reset(wire.Header{Op: wire.OpStep})
	fill(b)
	return c.journal.Append(kind, b.Parts()...)
}

// durable waits until all that was recorded survives what the journal is to survive.
func (c *journaling) durable() error {
	if !c.on() {
		return nil
	}
	return c.lost(c.journal.Durable())
}

// failed ends the job if there is an error. Locked.
func (c *journaling) failed(err error) {
	if err != nil {
		c.st.fail(c.lost(err))
	}
}

// lost is an error of the journal, for others.
func (c *journaling) lost(err error) error {
	if err == nil {
		return nil
	}
	return wire.Refuse(wire.StatusBack, "server %d: %v: start the job again from its last checkpoint", c.index, err)
}

// void removes the journal, since no process will come back to this state.
func (c *journaling) void() {
	if !c.on() {
		return
	}
	if err := c.journal.Void(); err != nil {
		c.log.Warn("a journal that nobody needs is left", "error", err)
	}
}
