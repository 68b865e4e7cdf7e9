package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// base is the head of a segment of a server's journal: where its tables came from, and at a checkpoint the state that
// the checkpoint does not hold. It is a snapshot between updates, while no push is let in.
type base struct {
	// Job must equal that of the process that comes back.
	Job    string `json:"job"` // a short fingerprint
	Server int    `json:"server"`
	// Process is the number by which the other servers identify this one.
	Process uint64 `json:"process"`
	// Key is the job's generation, nil before server 0 has sent it.
	Key       *roster.Generation `json:"key,omitempty"`
	Processes []uint64           `json:"processes,omitempty"` // numbers of the other servers, on server 0
	From      source             `json:"from,omitzero"`
	// State is all facts, by key; nil where no worker has joined.
	State map[string]json.RawMessage `json:"state,omitempty"`
}

// source is what tables were filled from; the zero value means nothing.
type source struct {
	// Dir is the directory, and Told the origin that the job's roles were started with.
	Dir  string `json:"dir,omitempty"`
	Told string `json:"told,omitempty"`
	// ID identifies one of the job's own checkpoints, which must be in Dir and whole.
	ID string `json:"id,omitempty"`
	// What is the part of the directory that was loaded.
	What checkpoint.Selection `json:"what,omitzero"`
}

// identity is the number of a server's process; the process that takes its place keeps it. On server 0 it also has the
// numbers of the other servers' processes, 0 for a server that has not reported.
type identity struct {
	process   uint64
	processes []uint64
}

// segments are the segments of the journal, each with its base. A segment begins when the server does, and at each of
// the job's own checkpoints: a process that comes back needs the last one whose checkpoint is whole, and the records
// after it.
type segments struct {
	st       *state.Job
	index    int
	job      string // the job and the server's place in it, for which the journal is valid
	identity *identity
	// memory has the facts of all parts, and identity the numbers in the base.
	memory  *state.Memory
	journal *state.Journal
	series  string       // directory of the job's checkpoints; "" if it has none
	from    source       // source of the tables
	size    atomic.Int64 // bytes of the part of the last whole checkpoint
	// lockstep is set in modes in which no worker goes on without the others.
	lockstep bool
	log      *slog.Logger
}

// newSegments makes the segments of a server with empty tables.
func newSegments(c Config, st *state.Job, id *identity, j *state.Journal, log *slog.Logger) *segments {
	job := fmt.Sprintf("%016x %d workers, server %d of %d", c.Fingerprint.Sum(), c.Workers, c.Index, len(c.Endpoints))
	return &segments{st: st, index: c.Index, job: job, identity: id, memory: state.NewMemory(j), journal: j,
		series: c.Strategy.Recovery.Dir, lockstep: mode.Of(c.Strategy.Mode).Lockstep, log: log}
}

// base returns the base of this moment, with tables from that source.
func (c *segments) base(from source, state map[string]json.RawMessage) base {
	b := base{Job: c.job, Server: c.index, Process: c.identity.process, Key: c.st.Generation(), From: from,
		State: state}
	if c.index == 0 {
		b.Processes = c.identity.processes
	}
	return b
}

// begun begins the journal of a server that has not come back. Run calls it before it listens. It does nothing without
// a journal.
func (c *segments) begun() error {
	if c.journal.On() && len(c.journal.Segments()) > 0 {
		return nil
	}
	return c.begins()
}

// begins begins a segment with the source of the tables, before any worker has joined.
func (c *segments) begins() error {
	if !c.journal.On() {
		return nil
	}
	return c.open(c.base(c.from, nil))
}

// open begins a segment of the journal, and returns when it is in the file. All segments are made here, at the start of
// a server and at each checkpoint. An error names the server.
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

// rebase begins a segment at the cut of a checkpoint, while pushes are held and before the parts are written. The
// caller holds the lock. Records of later pushes go to the new segment. Earlier segments stay until the checkpoint is
// whole, which may never happen. An error ends the job.
func (c *segments) rebase(save *cut.Save) {
	if !c.journal.On() || save.Progress == nil {
		return
	}
	state, err := c.memory.Save()
	if err == nil {
		err = c.open(c.base(source{Dir: save.Dir, ID: save.ID}, state))
	}
	c.journal.Failed(err)
}

// overtaken returns an error if a later run of the job has made checkpoints, in which this server had no place: the
// journal lacks what that run has trained. A whole base is the newest checkpoint, or an earlier one; its own run may
// have made later ones.
func (c *segments) overtaken(b base) error {
	if c.series == "" || b.From.Dir != "" && files.Dir(b.From.Dir) != c.series {
		return nil
	}
	newest, m, err := checkpoint.Latest(c.series)
	own := b.Key != nil && strings.HasPrefix(m.ID, strings.TrimSuffix(cut.FileID(b.Key.Number, 0), "0"))
	if err != nil || newest == b.From.Dir || own { // what can't be read shows nothing
		return nil
	}
	return fmt.Errorf("another run of the job has made checkpoint %s since", newest)
}

// forget removes the segments before the newest whole checkpoint. It looks at the directories of checkpoints, from the
// newest segment back. The disk may be slow: the lock is not held. It is called while the next checkpoint is written,
// when the one before is whole or never will be.
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

// whole returns why one of the job's own checkpoints can't be loaded; nil means that its files are there. It reads the
// disk.
func (f source) whole() error {
	m, err := checkpoint.Whole(f.Dir)
	if err == nil && m.ID != f.ID {
		err = fmt.Errorf("checkpoint %s is %s, not %s", f.Dir, m.ID, f.ID)
	}
	return err
}

// newest returns the newest segment that a process can begin from, and its number, where the replay begins. Without
// one, the error wraps why the newest segment can't be used; but a segment that can't be read takes precedence, since
// it may be readable later. It is errNoJournal if there is no segment.
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
		case b.Job != c.job:
			why = fmt.Errorf("it is of another job (%s), and this is %s", b.Job, c.job)
		case b.From.ID != "":
			why = b.From.whole()
		}
		if why == nil {
			why = c.overtaken(b)
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

// errNoJournal means that there is no journal to come back to.
var errNoJournal = errors.New("no journal")

// void removes a journal that no process will come back to. If all roles go back, it is removed with that decision: a
// server that was killed before the others had received that decision would restore a state without a future, and
// decide the same again. The caller holds the lock.
func (c *segments) void() {
	if c.forGood() {
		c.journal.Void()
	}
}

// forGood reports whether no process can go on from where a server has ended: the job was done, all roles go back, or
// no worker in lockstep comes again. Workers that died in other modes may come again. The caller holds the lock. It is
// called when the job fails, and again when the server has ended.
func (c *segments) forGood() bool {
	failure := c.st.Failure
	if c.lockstep {
		return failure != nil || c.st.Done()
	}
	refusal, refused := errors.AsType[*wire.Refusal](failure)
	return refused && refusal.Status == wire.StatusBack || failure == nil && c.st.Done() && len(c.st.Roster.Dead()) == 0
}
