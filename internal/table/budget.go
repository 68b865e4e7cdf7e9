package table

import (
	"errors"
	"log/slog"
	"math"
	"sync/atomic"
	"unsafe"
)

// A table may have a bound on its bytes (optimizer.Param.MaxBytes). When there is no room for another row, ids that
// have none wait as if an entry policy kept them out: training goes on, no row that has learnt something is thrown away
// unasked, no gradient meets a row that was dropped under it, and both Result and Stats say how many were turned away.
// [Sparse.Shrink] makes room. Explicit rows, which must not be lost silently, are refused with ErrFull.

// ErrFull says that a row doesn't fit into the bytes that its table may use.
var ErrFull = errors.New("table: full")

const (
	// leastQuota is what a shard needs to be useful; a table with a small budget has fewer shards.
	leastQuota = 64 << 10
	// mostRows is what a shard can number, with room for the index.
	mostRows = 1 << 31
)

// quota is what a shard may use.
type quota struct {
	rows    int // bytes of rows and their index
	waiting int // ids that wait; 0: as many as the rows suggest
}

// quotaOf divides a table's budget, 0 for none, among shards. Ids that wait have a share of their own, so that neither
// they nor the rows can crowd out the others.
func quotaOf(budget int64, shards int, counts bool) quota {
	if budget == 0 {
		return quota{rows: math.MaxInt}
	}
	q := quota{rows: int(min(budget/int64(shards), math.MaxInt))}
	if counts {
		share := q.rows / 8
		q.rows, q.waiting = q.rows-share, share/waiterBytes
	}
	return q
}

// shardsFor halves the number of shards until the budget gives each enough.
func shardsFor(budget int64, shards int) int {
	for budget > 0 && shards > 1 && budget/int64(shards) < leastQuota {
		shards /= 2
	}
	return shards
}

// room says whether there is room for one more row of that hash.
func (s *shard) room(hash uint32) bool {
	need := 0
	if s.arena.full() {
		need = s.arena.growth()
	}
	if s.index.full(hash) {
		need += s.index.growth(hash)
	}
	return need == 0 || s.rowBytes()+need <= s.quota.rows && s.arena.rows < mostRows
}

func (s *shard) rowBytes() int {
	return s.arena.bytes() + s.index.bytes() + int(unsafe.Sizeof(*s))
}

// mayWait is how many ids may wait.
func (s *shard) mayWait() int {
	if s.quota.waiting > 0 {
		return s.quota.waiting
	}
	return 1<<14 + 4*s.arena.live()
}

// filling tells a log that a table comes to its bound.
type filling struct {
	log  *slog.Logger // nil logs nothing
	near atomic.Bool
	stop atomic.Bool   // of counts was told
	told atomic.Uint64 // how many ids had been turned away when the log was told last
}

// LogTo has tables say when they come to their bounds. It comes before others use the store.
func (s *Store) LogTo(log *slog.Logger) {
	for _, t := range s.Tables {
		t.filling.log = log
	}
}

// nearly says whether a shard has taken 80 % of what it may use.
func (s *shard) nearly() bool { return s.quota.rows < math.MaxInt && s.rowBytes() >= s.quota.rows/5*4 }

// nearly says once that a table is nearly full.
func (f *filling) nearly(t *Sparse) {
	if f.log != nil && !f.near.Swap(true) {
		f.log.Warn("an embedding has taken 80 % of its MaxBytes: when it is full, ids without a row are turned away",
			"table", t.param.Name, "rows", t.Len(), "max_bytes", t.param.MaxBytes)
	}
}

// stops says once that shows or clicks of a row have come to where they stop.
func (f *filling) stops(t *Sparse) {
	if f.log != nil && !f.stop.Swap(true) {
		f.log.Warn("a row's shows or clicks have come to 16777216, where counts of ones stop, and its score with "+
			"them: let them decay by Shrink (Decay), or count fewer of them",
			"table", t.param.Name, "rows", t.Len())
	}
}

// full says that now so many ids were turned away: of the first, and when they are ten times as many.
func (f *filling) full(t *Sparse, now uint64) {
	if told := f.told.Load(); f.log != nil && now >= max(1, 10*told) && f.told.CompareAndSwap(told, now) {
		f.log.Warn(
			"an embedding is full: ids without a row are turned away, and learn nothing: raise its MaxBytes, or "+
				"drop rows by Shrink",
			"table", t.param.Name, "turned_away", now, "rows", t.Len(), "max_bytes", t.param.MaxBytes)
	}
}
