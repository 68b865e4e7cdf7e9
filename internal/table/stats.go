package table

import (
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/count"
)

// Stats is a table's size, and what it turned away.
type Stats struct {
	Rows    int // in use
	Free    int // dropped, with memory that is not used again yet
	Waiting int // ids without a row whose pushes are counted
	// Bytes is the size of arenas and indexes, with memory allocated ahead, and about that of the waiting ids. MaxBytes
	// is the param's bound, which counts rows at their RowBytes, 0 if there is none.
	Bytes, MaxBytes int
	// Load is the used part of the index.
	Load float64

	// Since the table was made: gradients that were dropped because the param's Entry kept their ids out, or because
	// MaxBytes was reached; and rows that Shrink dropped.
	KeptOut, TurnedAway, Dropped uint64
	Born                         uint64 // rows that reads or pushes created
	// Reads and Pushes are the durations of calls, in seconds.
	Reads, Pushes count.Distribution
}

// callTimes are the durations of a table's calls. They have few bounds, since a server may have many tables.
type callTimes struct{ reads, pushes *count.Histogram }

func newCallTimes() callTimes {
	times := func() *count.Histogram {
		return count.NewTimes(time.Millisecond/10, time.Millisecond, 10*time.Millisecond, 100*time.Millisecond)
	}
	return callTimes{times(), times()}
}

// away counts the ids that the table let in and turned away.
type away struct{ keptOut, turnedAway, dropped, born atomic.Uint64 }

func (a *away) add(r Result) {
	if r.Born > 0 {
		a.born.Add(uint64(r.Born))
	}
	if r.Waiting > 0 {
		a.keptOut.Add(uint64(r.Waiting))
	}
	if r.Full > 0 {
		a.turnedAway.Add(uint64(r.Full))
	}
}

// Stats reads every shard, one after the other.
func (t *Sparse) Stats() Stats {
	st := Stats{MaxBytes: int(t.param.MaxBytes)}
	entries := 0
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		st.Free += int(s.arena.freed)
		st.Waiting += s.waiting.len()
		st.Bytes += s.rowBytes() + s.waiting.young.bytes() + s.waiting.old.bytes()
		entries += s.index.count * segmentLen
		st.Rows += s.arena.live()
		s.Unlock()
	}
	st.Load = float64(st.Rows) / float64(entries)
	st.KeptOut, st.TurnedAway, st.Dropped = t.away.keptOut.Load(), t.away.turnedAway.Load(), t.away.dropped.Load()
	st.Born = t.away.born.Load()
	st.Reads, st.Pushes = t.times.reads.Read(int64(time.Second)), t.times.pushes.Read(int64(time.Second))
	return st
}

// Len is the number of rows.
func (t *Sparse) Len() int { return t.Stats().Rows }
