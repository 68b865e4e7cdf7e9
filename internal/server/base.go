package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
)

// base is what a segment of a server's journal begins from: where its tables came from, and at a checkpoint what that
// does not hold. It is a snapshot between updates, while no push is let in.
type base struct {
	// Job must be that of the process that comes back.
	Job    string `json:"job"` // a short fingerprint
	Server int    `json:"server"`
	// Process is the number that the other servers know this one by.
	Process uint64 `json:"process"`
	// Key is the job's generation, nil before server 0 has given it.
	Key       *roster.Generation `json:"key,omitempty"`
	Processes []uint64           `json:"processes,omitempty"` // of other servers, on server 0
	From      source             `json:"from,omitzero"`
	// State is all facts, by key; nil where no worker has joined.
	State map[string]json.RawMessage `json:"state,omitempty"`
}

// source is what tables were filled from; the zero value is nothing.
type source struct {
	// Dir is the directory, and Told what the job's roles were told to begin from.
	Dir  string `json:"dir,omitempty"`
	Told string `json:"told,omitempty"`
	// ID is that of a checkpoint of the job's own, which must be this one and whole.
	ID string `json:"id,omitempty"`
	// What is the part of the directory that was loaded.
	What checkpoint.Selection `json:"what,omitzero"`
}

// identity is the number of a server's process, which the process that takes its place goes on with. On server 0 it has
// the processes of the others too, 0 for a server that has not reported.
type identity struct {
	process   uint64
	processes []uint64
}

// segments are the journal's, each with the base that it begins from. Segments begin when the server does, and at each
// checkpoint of the job's own: a process that comes back needs the last one whose checkpoint is whole, and the records
// behind it.
type segments struct {
	st       *state.Job
	index    int
	job      string // and the place in it that the journal is good for
	before   string // the same, as earlier builds named it
	identity *identity
	// memory has the facts of all parts, and identity what the base says beside them.
	memory  *state.Memory
	journal *state.Journal
	from    source       // of the tables
	size    atomic.Int64 // bytes of the part of the last whole checkpoint
	log     *slog.Logger
}

// newSegments are the segments of a server whose tables hold nothing yet. c.Before names the job as earlier builds did,
// whose journals are read as well.
func newSegments(c Config, st *state.Job, id *identity, j *state.Journal, log *slog.Logger) *segments {
	name := func(f layout.Fingerprint) string {
		return fmt.Sprintf("%016x %d workers, server %d of %d", f.Sum(), c.Workers, c.Index, len(c.Endpoints))
	}
	return &segments{st: st, index: c.Index, job: name(c.Fingerprint), before: name(c.Before), identity: id,
		memory: state.NewMemory(j), journal: j, log: log}
}

// base is this server's now, with tables from that source.
func (c *segments) base(from source, state map[string]json.RawMessage) base {
	b := base{Job: c.job, Server: c.index, Process: c.identity.process, Key: c.st.Generation(), From: from,
		State: state}
	if c.index == 0 {
		b.Processes = c.identity.processes
	}
	return b
}

// begun begins the journal of a server that has not come back. Run calls it before it listens. Without a journal it
// does nothing.
func (c *segments) begun() error {
	if c.journal.On() && len(c.journal.Segments()) > 0 {
		return nil
	}
	return c.begins()
}

// begins begins a segment with what the tables were filled from, before any worker has joined.
func (c *segments) begins() error {
	if !c.journal.On() {
		return nil
	}
	return c.open(c.base(c.from, nil))
}

// open begins a segment of the journal. The segment is in the file when it returns. An error names the server. It is
// the one place that makes a segment, for a server that begins and at each checkpoint.
func (c *segments) open(b base) error {
	head, err := json.Marshal(b)
	if err == nil {
		err = c.journal.Next(head)
	}
	if err != nil {
		return fmt.Errorf("server %d: %w", c.index, err)
	}
	return nil
}

// rebase begins a segment at the cut of a checkpoint, which still holds pushes, and whose parts are to be written.
// Locked. Records of pushes behind the cut go to the new segment. The segments before stay until the checkpoint is
// whole, since it may never be. An error ends the job.
func (c *segments) rebase(msg *saved) {
	if !c.journal.On() || msg.progress == nil {
		return
	}
	state, err := c.memory.Save()
	if err == nil {
		err = c.open(c.base(source{Dir: msg.dir, ID: msg.id}, state))
	}
	c.journal.Failed(err)
}

// forget removes what lies before a whole checkpoint, and is not needed any more. The disk may be slow: the lock is not
// held. It looks at the directories of checkpoints, from the newest segment back, and stops at the first that is whole.
// It is called beside the write of the next checkpoint, when the one before is whole or never will be.
func (c *segments) forget() {
	if !c.journal.On() {
		return
	}
	for _, seg := range slices.Backward(c.journal.Segments()) {
		var b base
		if !seg.Continues && json.Unmarshal(seg.Head, &b) == nil && b.From.ID != "" && b.From.whole() == nil {
			if err := c.journal.Forget(seg.Number); err != nil {
				c.log.Warn("a part of the journal that is no longer needed could not be removed", "error", err)
			}
			return
		}
	}
}

// whole says why a checkpoint of the job's own can't be begun from. nil means that its files can be loaded. It reads
// the disk.
func (f source) whole() error {
	m, err := checkpoint.Whole(f.Dir)
	if err == nil && m.ID != f.ID {
		err = fmt.Errorf("checkpoint %s is %s, not %s", f.Dir, m.ID, f.ID)
	}
	return err
}

// newest is the newest segment that a process can begin from. Of reasons why there is none, that something can't be
// read counts most: it may be read later. number is where playing begins. The error wraps why the best segment can't be
// used; errNoJournal where there is none.
func (c *segments) newest() (number int, b base, err error) {
	err = errNoJournal
	for _, seg := range slices.Backward(c.journal.Segments()) {
		if seg.Continues {
			continue
		}
		var b base
		why := seg.Err
		if why == nil {
			why = json.Unmarshal(seg.Head, &b)
		}
		switch {
		case why != nil:
		case b.Job != c.job && b.Job != c.before:
			why = fmt.Errorf("it is of another job (%s), and this is %s", b.Job, c.job)
		case b.From.ID != "":
			why = b.From.whole()
		}
		if why == nil {
			return seg.Number, b, nil
		}
		if errors.Is(err, errNoJournal) || files.Unreadable(why) && !files.Unreadable(err) {
			err = fmt.Errorf("segment %d: %w", seg.Number, why)
		}
	}
	return 0, b, err
}

// errNoJournal says that there is nothing to come back to.
var errNoJournal = errors.New("there is no journal")
