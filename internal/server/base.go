package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
)

// base is what a segment of a server's journal begins from: where its tables came from, and at a checkpoint what that does not hold. It is
// a snapshot between updates, while no push is let in.
type base struct {
	Job       string             `json:"job"` // a short fingerprint
	Server    int                `json:"server"`
	Process   uint64             `json:"process"`
	Key       *roster.Generation `json:"key,omitempty"`
	Processes []uint64           `json:"processes,omitempty"` // of other servers, on server 0
	From      source             `json:"from,omitzero"`
	// State is all facts, by key; nil where no worker has joined.
	State map[string]json.RawMessage `json:"state,omitempty"`
}

// source is what tables were filled from; the zero value is nothing.
type source struct {
	Dir  string `json:"dir,omitempty"`
	Told string `json:"told,omitempty"`
	// ID is that of a checkpoint of the job's own, which must be this one and whole.
	ID   string               `json:"id,omitempty"`
	What checkpoint.Selection `json:"what,omitzero"`
}

// base is this server's now, with tables from that source.
func (c *returning) base(from source, state map[string]json.RawMessage) base {
	b := base{Job: c.job(), Server: c.config.Index, Process: c.servers.process, Key: c.st.generation.Load(), From: from, State: state}
	if c.config.Index == 0 {
		b.Processes = c.servers.processes
	}
	return b
}

// job names the job and the place in it that a journal is good for.
func (c *returning) job() string {
	of := &c.config
	return fmt.Sprintf("%016x %d workers, server %d of %d", of.Fingerprint.Sum(), of.Workers, of.Index, len(of.Endpoints))
}

// begun begins the journal of a server that has not come back.
func (c *returning) begun() error {
	if c.journal.on() && len(c.journal.journal.Segments()) > 0 {
		return nil
	}
	return c.begins()
}

// begins begins a segment with what the tables were filled from, before any worker has joined.
func (c *returning) begins() error {
	if !c.journal.on() {
		return nil
	}
	return c.segment(c.base(c.from, nil))
}

// segment begins a segment of the journal.
func (c *returning) segment(b base) error {
	head, err := json.Marshal(b)
	if err == nil {
		err = c.journal.journal.Next(head)
	}
	if err != nil {
		return fmt.Errorf("server %d: %w", c.config.Index, err)
	}
	return nil
}

// rebase begins a segment at the cut of a checkpoint, which still holds pushes, and whose parts are to be written. Locked.
func (c *returning) rebase(msg *wire.Save) {
	if !c.journal.on() || msg.Progress == nil {
		return
	}
	state, err := c.memory.save()
	if err == nil {
		err = c.segment(c.base(source{Dir: msg.Dir, ID: msg.ID}, state))
	}
	c.journal.failed(err)
}

// forget removes what lies before a whole checkpoint, and is not needed any more. The disk may be slow: the lock is not held.
func (c *returning) forget() {
	if !c.journal.on() {
		return
	}
	for _, seg := range slices.Backward(c.journal.journal.Segments()) {
		var b base
		if json.Unmarshal(seg.Head, &b) == nil && b.From.ID != "" && b.From.whole() == nil {
			if err := c.journal.journal.Forget(seg.Number); err != nil {
				c.log.Warn("a part of the journal that is not needed any more is left", "error", err)
			}
			return
		}
	}
}

// whole says why a checkpoint of the job's own can't be begun from.
func (f source) whole() error {
	m, err := checkpoint.Whole(f.Dir)
	if err == nil && m.ID != f.ID {
		err = fmt.Errorf("checkpoint %s is %s, not %s", f.Dir, m.ID, f.ID)
	}
	return err
}

// fill fills the tables from what the segment of a journal begins from.
func (c *returning) fill(ctx context.Context, b base) error {
	f := b.From
	if f.Dir == "" {
		return c.members.loading.begin(ctx)
	}
	if f.ID != "" {
		if err := f.whole(); err != nil {
			return err
		}
		c.members.recovery.series.GoOn(f.Dir)
	}
	m, err := c.members.loading.fill(ctx, f.Dir, f.What, f.Told)
	if err == nil && m.Progress != nil {
		c.members.recovery.progress = wire.Progress(*m.Progress)
	}
	if err == nil && f.ID != "" {
		c.members.recovery.base = wire.Base{Name: filepath.Base(f.Dir), ID: f.ID}
		c.members.recovery.goOn(f.Dir, m.Positions)
	}
	return err
}

// newest is the newest segment that a process can begin from. Of reasons why there is none, that something can't be read counts most: it
// may be read later.
func (c *returning) newest() (number int, b base, err error) {
	err = errNoJournal
	for _, seg := range slices.Backward(c.journal.journal.Segments()) {
		var b base
		why := seg.Err
		if why == nil {
			why = json.Unmarshal(seg.Head, &b)
		}
		switch {
		case why != nil:
		case b.Job != c.job():
			why = fmt.Errorf("it is of another job (%s), and this is %s", b.Job, c.job())
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
