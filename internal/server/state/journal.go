package state

import (
	"log/slog"
	"sync"

	"github.com/gofleet/gofleet/internal/journal"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// Journal records the changes on a server before their requests are answered, so that a process that takes this one's
// place reaches the same state. Reads are not recorded, since they change nothing that another process could see.
// Neither is a gradient that waits for its round, nor a request under way: their senders have no answer, and send them
// again.
//
// An update is recorded in the form that the rules got, after it is in the tables and before it counts. All other
// changes are small, and are recorded with the decision, while the lock is held. If the journal must survive the
// machine, an update waits for the disk before it counts, and so does the answer to any other request that changes
// something.
//
// A change that can't be recorded can't be replayed: the job then goes back to its last checkpoint, as if there were no
// journal.
type Journal struct {
	*journal.Journal // nil for a server without a journal
	st               *Job
	index            int
	Playing          bool      // this journal is being replayed
	Asked            bool      // the strategy has journals
	Durably          bool      // records must survive the machine, not only the process
	frames           sync.Pool // of wire.Builder
	log              *slog.Logger
}

// The kinds of records.
const (
	KindEvent   journal.Kind = 1 + iota // JSON of a small decision, under its key
	KindUpdate                          // a frame with the applied gradient and an updateRecord
	KindPublish                         // the frame that worker 0 sent
	KindFrozen                          // a frame with the frozen dense values
	KindServed                          // a frame with the ids of a model for serving, and its chain
)

// NewJournal returns the journal of a server, not opened yet. survives is the strategy's kind of journal, "" for none.
func NewJournal(st *Job, index int, survives strategy.Journal, log *slog.Logger) *Journal {
	return &Journal{st: st, index: index, Asked: survives != "", Durably: survives == strategy.JournalMachine, log: log}
}

// On reports whether changes are recorded. It is false during a replay.
func (c *Journal) On() bool { return c != nil && c.Journal != nil && !c.Playing }

// ComesBack reports whether a server that ends can be started again where it was. All servers of a job agree on it.
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

// Durable waits until all records survive what the journal is to survive.
func (c *Journal) Durable() error {
	if !c.On() {
		return nil
	}
	return c.Lost(c.Journal.Durable())
}

// Failed ends the job if err is not nil. The caller holds the lock.
func (c *Journal) Failed(err error) {
	if err != nil {
		c.st.Fail(c.Lost(err))
	}
}

// Lost wraps an error of the journal as the refusal that other roles get.
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
