package state

import (
	"log/slog"
	"sync"

	"github.com/gofleet/gofleet/internal/journal"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// Journal records what changes on a server before anybody is answered for it, so that a process which takes this
// one's place comes to the same state. Reads change nothing that others could know, and are not recorded; neither is a
// gradient that waits for its round, nor a request under way: their senders have no answer, and send them again.
//
// An update is recorded as the rules have got it, when it is in the tables and before it counts. All other changes are
// small, and are recorded under the lock with the decision. Where the journal has to survive the machine, an update
// waits for the disk before it counts, and so does the answer to any other request that changes something.
//
// What can't be recorded can't be played. Then the job goes back to its last checkpoint, as if there were no journal.
type Journal struct {
	*journal.Journal // nil for a server without
	st               *Job
	index            int
	Playing          bool      // of this very journal
	Asked            bool      // the strategy has journals
	Durably          bool      // which survive the machine
	frames           sync.Pool // of wire.Builder
	log              *slog.Logger
}

// The kinds of records.
const (
	KindEvent   journal.Kind = 1 + iota // JSON of a small decision, under its key
	KindUpdate                          // a frame: what was applied, and an updateRecord
	KindPublish                         // the frame that worker 0 sent
	KindFrozen                          // a frame with the frozen dense values
	KindServed                          // a frame with the ids of a model for serving, and its chain
)

// NewJournal is that of a server whose strategy has a journal which survives so much, or none.
func NewJournal(st *Job, index int, survives strategy.Journal, log *slog.Logger) *Journal {
	return &Journal{st: st, index: index, Asked: survives != "", Durably: survives == strategy.JournalMachine, log: log}
}

// On says whether what changes is recorded: not what is played.
func (c *Journal) On() bool { return c != nil && c.Journal != nil && !c.Playing }

// ComesBack says whether a server that ends can be started again where it was, which holds for all servers of a job or
// for none.
func (c *Journal) ComesBack() bool { return c != nil && c.Asked }

// append records a frame that fill makes.
func (c *Journal) append(kind journal.Kind, fill func(*wire.Builder)) error {
	b, _ := c.frames.Get().(*wire.Builder)
	if b == nil {
		b = new(wire.Builder)
	}
	defer c.frames.Put(b)
	b.Reset(wire.Header{Op: wire.OpStep})
	fill(b)
	return c.Journal.Append(kind, b.Parts()...)
}

// Durable waits until all that was recorded survives what the journal is to survive.
func (c *Journal) Durable() error {
	if !c.On() {
		return nil
	}
	return c.Lost(c.Journal.Durable())
}

// Failed ends the job if there is an error. Locked.
func (c *Journal) Failed(err error) {
	if err != nil {
		c.st.Fail(c.Lost(err))
	}
}

// Lost is an error of the journal, for others.
func (c *Journal) Lost(err error) error {
	if err == nil {
		return nil
	}
	return wire.Refuse(wire.StatusBack, "server %d: %v: start the job again from its last checkpoint", c.index, err)
}

// Void removes the journal, since no process will come back to this state.
func (c *Journal) Void() {
	if !c.On() {
		return
	}
	if err := c.Journal.Void(); err != nil {
		c.log.Warn("a journal that is no longer needed could not be removed", "error", err)
	}
}
