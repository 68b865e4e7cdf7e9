package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/journal"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// A server that is started again with its journal takes the place of the process before it, with that process's number,
// so that the other servers see one process that was silent for a while. It fills its tables from the base of a segment
// of the journal, and replays the records since. The replay sends nothing and reads no clock: it repeats decisions that
// were taken.
//
// In rounds the tables get exactly the bits that they had, since updates follow each other. In other modes updates were
// applied concurrently, and are replayed one after the other, in an order that was possible.

// returning restores a server from its journal.
type returning struct {
	config    Config
	st        *state.Job
	part      *state.Part
	loading   *loading
	following *following
	epochs    *epochs
	segments  *segments
	log       *slog.Logger
}

// comeBack opens the journal of this server, if the strategy asks for one, and restores the state in it; returned is
// false if it has none. An error that wraps [ErrNoReturn] means that the state could not be restored: the journal was
// removed, and this server can't be used. After any other error the journal stays, since it may be readable later.
// comeBack is called before the server listens or anything else fills its tables, and holds the journal's file lock
// from then on.
func (c *returning) comeBack(ctx context.Context) (returned bool, err error) {
	o := c.config.Strategy.Recovery
	if o.Journal == "" {
		return false, nil
	}
	name := fmt.Sprintf("server-%d-of-%d", c.config.Index, len(c.config.Endpoints))
	j, err := openJournal(ctx, c.log, journal.Options{Dir: o.JournalDir, Name: name,
		Durable: o.Journal == strategy.JournalMachine})
	if err != nil {
		return false, fmt.Errorf("server %d: %w", c.config.Index, err)
	}
	c.segments.journal.Journal = j
	if len(j.Segments()) == 0 {
		return false, nil
	}
	began := time.Now()
	records, err := c.playAll(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		j.Close()
		return false, fmt.Errorf("server %d: coming back: %w", c.config.Index, context.Cause(ctx))
	case errors.Is(err, journal.ErrVersion):
		j.Close()
		return false, fmt.Errorf("server %d: the journal %s stays, and can't be used: %w: start the job again with "+
			"the build of gofleet that wrote it, or remove %[2]s.* to begin from the last checkpoint",
			c.config.Index, filepath.Join(o.JournalDir, name), err)
	case files.Unreadable(err):
		j.Close()
		return false, fmt.Errorf("server %d: the journal %s stays, and can't be read now: %w: start this server again "+
			"when it can; to give up what lies behind the last checkpoint, remove %[2]s.*", c.config.Index,
			filepath.Join(o.JournalDir, name), err)
	case err != nil:
		c.segments.journal.Void()
		j.Close()
		return false, fmt.Errorf("server %d: %w: %w", c.config.Index, ErrNoReturn, err)
	}
	c.st.Lives.Begin(j.Life())
	c.st.Lock()
	if c.st.Roster.Awake(c.st.Now()) {
		c.epochs.together()
	}
	c.st.Unlock()
	c.log.Info("server has come back to where it was", "records", records, "updates", c.part.Store.Step(),
		"in", time.Since(began).Round(time.Millisecond))
	return true, nil
}

// ErrNoReturn means that a server could not restore the state in its journal.
var ErrNoReturn = errors.New("can't come back to where the journal ends")

// openJournal opens a journal. It waits up to lockPatience for another process that has it and may be about to end, and
// soon logs that it waits, since workers find no server meanwhile.
func openJournal(ctx context.Context, log *slog.Logger, o journal.Options) (*journal.Journal, error) {
	began, told := time.Now(), false
	for {
		j, err := journal.Open(o)
		waited := time.Since(began)
		if !errors.Is(err, journal.ErrLocked) || waited >= lockPatience {
			return j, err
		}
		if !told && waited >= lockPatience/10 {
			told = true
			log.Warn("this server can't begin yet", "error", err, "waits", lockPatience)
		}
		if err := awake.Rest(ctx, lockPatience/50); err != nil {
			return nil, err
		}
	}
}

// lockPatience is the time that a process which was asked to end may take for it.
const lockPatience = 10 * time.Second

// playAll restores the state in the journal. records is the number of records that were replayed. It holds the lock
// throughout, since registered functions need it, though nothing is served yet. After an error the state machines are
// half restored, and the server can't be used.
func (c *returning) playAll(ctx context.Context) (records int, err error) {
	from, b, err := c.segments.newest()
	if err != nil {
		return 0, err
	}
	if err := c.fill(ctx, b); err != nil {
		return 0, err
	}
	c.st.Lock()
	defer c.st.Unlock()
	c.identify(b)
	memory, recorded := c.segments.memory, c.segments.journal
	if b.State != nil {
		if err := memory.Resume(b.State); err != nil {
			return 0, err
		}
	}
	recorded.Playing = true
	defer func() { recorded.Playing = false }()
	c.st.Returned = true
	err = recorded.Journal.Play(from, func(kind journal.Kind, body []byte) error {
		records++
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return memory.Play(ctx, kind, body)
	})
	c.part.Store.SetStep(c.part.Store.Last())
	// Versions of this process are above all that the process before can have given out.
	c.part.Updates.SetVersion(recorded.Journal.Last() * wire.Incarnation)
	return records, err
}

// identify gives this process the identity in the journal. The caller holds the lock.
func (c *returning) identify(b base) {
	c.segments.identity.process = b.Process
	copy(c.segments.identity.processes, b.Processes)
	if b.Key != nil {
		c.st.SetGeneration(b.Key)
	}
}

// fill fills the tables from the source in the base of a segment. A checkpoint in it must still be there, and whole.
func (c *returning) fill(ctx context.Context, b base) error {
	f := b.From
	if f.Dir == "" {
		return c.loading.begin(ctx)
	}
	if f.ID != "" {
		if err := f.whole(); err != nil {
			return err
		}
		c.following.series.GoOn(f.Dir)
	}
	m, err := c.loading.fill(ctx, f.Dir, f.What, f.Told)
	switch {
	case err != nil:
	case f.ID == "":
		c.following.counts(m.Counted)
	default:
		c.following.resumed(f.Dir, m)
	}
	return err
}
