package table

import (
	"errors"
	"log/slog"
	"math"
	"sync/atomic"
	"unsafe"
)

// A table may have a bound on its bytes (optimizer.Param.MaxBytes). If there is no room for another row, ids without a
// row wait as if an entry policy kept them out: training goes on, no trained row is dropped unasked, no gradient meets
// a row that was dropped meanwhile, and both Result and Stats count the ids that were turned away. [Sparse.Shrink]
// makes room. Explicit rows, which must not be lost silently, are refused with ErrFull.

// ErrFull means that a row doesn't fit into the bytes that its table may use.
var ErrFull = errors.New("table: full")

const (
	// leastQuota is the least size of a useful shard in bytes; a table with a small budget has fewer shards.
	leastQuota = 64 << 10
	// mostRows is the number of rows that a shard can number, with room for the index.
	mostRows = 1 << 31
)

// quota is the memory that a shard may use.
type quota struct {
	rows    int // bytes of rows and their index
	waiting int // number of waiting ids; 0: in proportion to the rows
}

// quotaOf divides a table's budget, 0 for none, among shards. Waiting ids have a share of their own, so that neither
// they nor the rows can crowd out the other.
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

// shardsFor halves the number of shards until each has enough of the budget.
func shardsFor(budget int64, shards int) int {
	for budget > 0 && shards > 1 && budget/int64(shards) < leastQuota {
		shards /= 2
	}
	return shards
}

// room reports whether there is room for one more row of that hash.
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

// mayWait is the number of ids that may wait.
func (s *shard) mayWait() int {
	if s.quota.waiting > 0 {
		return s.quota.waiting
	}
	return 1<<14 + 4*s.arena.live()
}

// filling logs that a table reaches its bound.
type filling struct {
	log  *slog.Logger // nil logs nothing
	near atomic.Bool
	stop atomic.Bool   // it was logged that counts stop
	told atomic.Uint64 // the number of turned away ids when it was logged last
}

// LogTo makes tables log that they reach their bounds. It is called before others use the store.
func (s *Store) LogTo(log *slog.Logger) {
	for _, t := range s.Tables {
		t.filling.log = log
	}
}

// nearly reports whether a shard uses 80 % of its quota.
func (s *shard) nearly() bool { return s.quota.rows < math.MaxInt && s.rowBytes() >= s.quota.rows/5*4 }

// nearly logs once that a table is nearly full.
func (f *filling) nearly(t *Sparse) {
	if f.log != nil && !f.near.Swap(true) {
		f.log.Warn("an embedding has taken 80 % of its MaxBytes: when it is full, ids without a row are turned away",
			"table", t.param.Name, "rows", t.Len(), "max_bytes", t.param.MaxBytes)
	}
}

// stops logs once that the shows or clicks of a row have reached the largest count.
func (f *filling) stops(t *Sparse) {
	if f.log != nil && !f.stop.Swap(true) {
		f.log.Warn("a row's shows or clicks have come to 16777216, where counts of ones stop, and its score with "+
			"them: let them decay by Shrink (Decay), or count fewer of them",
			"table", t.param.Name, "rows", t.Len())
	}
}

// full logs the number of ids that were turned away: at the first, and each time it has grown tenfold.
func (f *filling) full(t *Sparse, now uint64) {
	if told := f.told.Load(); f.log != nil && now >= max(1, 10*told) && f.told.CompareAndSwap(told, now) {
		f.log.Warn(
			"an embedding is full: ids without a row are turned away, and learn nothing: raise its MaxBytes, or "+
				"drop rows by Shrink",
			"table", t.param.Name, "turned_away", now, "rows", t.Len(), "max_bytes", t.param.MaxBytes)
	}
}
