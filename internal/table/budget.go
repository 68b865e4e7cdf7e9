package table

import (
	"cmp"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/gofleet/gofleet/optimizer"
)

// A table may have a bound on its bytes (optimizer.Param.MaxBytes). It counts rows, at the [RowBytes] of each, so that
// the same rows fit after a load, in other shards and after years of births and drops. At the bound, ids without a row
// wait as if an entry policy kept them out: training goes on, no trained row is dropped unasked, no gradient meets a
// row that was dropped meanwhile, and both Result and Stats count the ids that were turned away. [Sparse.Shrink] makes
// room, and so does a param's Evict. Explicit rows, which must not be lost silently, are refused with ErrFull,
// but for a file's, if the table has an Evict: what goes is its choice among all.
//
// The memory of a table is at most a tenth and 16 KiB above its bound: a shard keeps the memory of the most rows that
// it ever had, and with many rows in each shard the most are close to the mean.

// ErrFull means that a row doesn't fit into the bytes that its table may use.
var ErrFull = errors.New("table: full")

const (
	// indexBytes is the memory of a row in the index: a segment of 1024 places is split at 768 rows, and segments are
	// at least two fifths full as they all grow alike.
	indexBytes = 24
	// leastRows is the least number of rows of a useful shard; a table with a small bound has fewer shards.
	leastRows = 4096
	// mostRows is the number of rows that a shard can number, with room for the index.
	mostRows = 1 << 31
)

// RowBytes is the memory that a row of an embedding takes on its server: weights, the rule's state, counts, and its
// place in the index. A nil rule has no state.
func RowBytes(p *optimizer.Param, rule optimizer.Rule) int {
	return 4*newLayout(p.Dim(), stateLen(rule, p.Dim()), marked(p.Entry), false).stride + indexBytes
}

// MostRows is the number of rows of an embedding that fit into its MaxBytes on a server; 0 without a bound.
func MostRows(p *optimizer.Param, rule optimizer.Rule) int64 {
	return (p.MaxBytes - waitingShare(p)) / int64(RowBytes(p, rule))
}

// Bounded returns the params of a server's embeddings with bounds by which all fit into so many bytes: of those without
// a MaxBytes, one whose Height takes less than its part needs none, and the others have equal parts.
func Bounded(params []*optimizer.Param, rule func(*optimizer.Param) optimizer.Rule, bytes int64) []*optimizer.Param {
	need := func(p *optimizer.Param) int64 {
		height, each := int64(p.Height()), int64(RowBytes(p, rule(p)))
		if height == 0 || height > math.MaxInt64/each {
			return math.MaxInt64
		}
		return height * each
	}
	var open []int
	for i, p := range params {
		if bytes -= p.MaxBytes; p.MaxBytes == 0 {
			open = append(open, i)
		}
	}
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(need(params[a]), need(params[b])) })
	params = slices.Clone(params)
	for n, i := range open {
		own, part := *params[i], max(bytes, 0)/int64(len(open)-n)
		if needs := need(&own); needs <= part {
			bytes -= needs
			continue
		}
		own.MaxBytes = max(part, 1) // 0 would be no bound
		params[i], bytes = &own, bytes-part
	}
	return params
}

// waitingShare is how many of a param's MaxBytes are for waiting ids.
func waitingShare(p *optimizer.Param) int64 {
	if counts(p.Entry) {
		return p.MaxBytes / 8
	}
	return 0
}

// bound counts the rows of a table's shards. Waiting ids have a share of their own, so that neither they nor the rows
// can crowd out the other.
type bound struct {
	most    int64 // rows
	waiting int   // ids that may wait in each shard; 0: in proportion to the rows
	rows    atomic.Int64
}

// boundOf returns the bound of an empty table, nil if it has none, and of up to n shards as many as it fills.
func boundOf(e *entry, n int) (*bound, int) {
	if e.param.MaxBytes == 0 {
		return nil, n
	}
	each := waiterBytes
	if e.marked {
		each += waiterMarks
	}
	b := &bound{most: MostRows(e.param, e.rule)}
	for n > 1 && b.most/int64(n) < leastRows {
		n /= 2
	}
	b.waiting = int(waitingShare(e.param)) / each / n
	return b, n
}

// take counts one more row, if there is room.
func (b *bound) take() bool {
	for n := b.rows.Load(); n < b.most; n = b.rows.Load() {
		if b.rows.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// full reports whether no more rows fit.
func (b *bound) full() bool { return b != nil && b.rows.Load() >= b.most }

// add counts rows, for which there may be no room.
func (b *bound) add(n int64) {
	if b != nil {
		b.rows.Add(n)
	}
}

// nearly reports whether 80 % of the rows are taken.
func (b *bound) nearly() bool { return b != nil && b.rows.Load() >= b.most/5*4 }

// takes counts one more row, if there is room.
func (s *shard) takes() bool {
	return s.arena.hasRoom() && (s.bound == nil || s.bound.take())
}

func (s *shard) rowBytes() int {
	return s.arena.bytes() + s.index.bytes() + int(unsafe.Sizeof(*s))
}

// mayWait is the number of ids that may wait.
func (s *shard) mayWait() int {
	if s.bound != nil && s.bound.waiting > 0 {
		return s.bound.waiting
	}
	return 1<<14 + 4*s.arena.live()
}

// filling logs that a table reaches its bound.
type filling struct {
	log   *slog.Logger // nil logs nothing
	near  atomic.Bool
	stop  atomic.Bool   // it was logged that counts stop
	told  atomic.Uint64 // the number of turned away ids when it was logged last
	large atomic.Uint64 // the largest norm of a row that was logged, as its bits
}

// LogTo makes tables log that they reach their bounds. It is called before others use the store.
func (s *Store) LogTo(log *slog.Logger) {
	for _, t := range s.Tables {
		t.filling.log = log
	}
}

// nearly logs once that a table is nearly full, unless it makes room then.
func (f *filling) nearly(t *Sparse) {
	if f.log != nil && t.param.Evict.By == "" && !f.near.Swap(true) {
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
	do := "raise its MaxBytes, or drop rows by Evict or Shrink"
	if t.param.Evict.By != "" {
		do = "it fills faster than it makes room: raise its MaxBytes"
	}
	if told := f.told.Load(); f.log != nil && now >= max(1, 10*told) && f.told.CompareAndSwap(told, now) {
		f.log.Warn("an embedding is full: ids without a row are turned away, and learn nothing: "+do, "table",
			t.param.Name, "turned_away", now, "rows", t.Len(), "max_bytes", t.param.MaxBytes)
	}
}
