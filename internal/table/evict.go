package table

import (
	"math"

	"github.com/gofleet/gofleet/optimizer"
)

// A table whose param has an Evict drops its least useful rows when it is nearly full, so that new ids find room. Its
// owner does that between two steps, as it ends a period: [Store.Pressed] says when, and [Store.EndPeriod] with
// Shrink.Evict does it. What is dropped depends on the rows alone, not on their order in memory.

const (
	pressedAt = 95 // percent of the bound at which rows are to be dropped
	roomyAt   = 85 // percent that are left
	// digits is how many digits of 16 bits order the rows: four of their worth, four of a hash of the id.
	digits = 8
)

// worth orders the rows of a table; those with the lowest go first. Of rows with the same first number, the hash of the
// id decides.
type worth [2]uint64

func (w worth) digit(i int) int { return int(w[i/4]>>(48-16*(i%4))) & 0xffff }

// within reports whether the first n digits are those of other.
func (w worth) within(other worth, n int) bool {
	for i := range n {
		if w.digit(i) != other.digit(i) {
			return false
		}
	}
	return true
}

// upTo reports whether w is not above last.
func (w worth) upTo(last worth) bool { return w[0] < last[0] || w[0] == last[0] && w[1] <= last[1] }

// worth is that of a row: by its last use, the period before the update, or by its score and then its last update.
func (e *entry) worth(h *header) worth {
	step := uint64(max(h.step, 0))
	if e.param.Evict.By == optimizer.EvictUnused {
		return worth{uint64(h.seen&^flags)<<35 | min(step, 1<<35-1), mix(h.id)}
	}
	score := math.Float32bits(float32(e.rate(*e.marks(h))))
	if score>>31 == 1 { // floats below 0 rise as their bits fall
		score = ^score
	} else {
		score |= 1 << 31
	}
	return worth{uint64(score)<<32 | min(step, math.MaxUint32), mix(h.id)}
}

// stays reports whether a row was pushed too recently to be dropped.
func (e *entry) stays(h *header, now int64) bool {
	return e.param.Evict.Floor > 0 && h.step > now-e.param.Evict.Floor
}

// pressed reports whether rows are to be dropped. An eviction that left too little room is not tried again for as long
// as rows stay after their last push.
func (t *Sparse) pressed(now int64) bool {
	if !t.evicts() || now < t.again.Load() {
		return false
	}
	rows := t.bound.rows.Load()
	return rows >= t.bound.part(pressedAt) && rows > t.bound.part(roomyAt)
}

// evicts reports whether the table has a bound, and drops rows near it.
func (t *Sparse) evicts() bool { return t.param.Evict.By != "" && t.bound != nil }

// part is so many percent of the bound's rows.
func (b *bound) part(percent int64) int64 { return b.most/100*percent + b.most%100*percent/100 }

// evict drops rows until 85 % of the bound are left. It holds the lock of one shard at a time.
func (t *Sparse) evict(now int64) (done Shrunk) {
	if t.dropped = nil; !t.evicts() {
		return done
	}
	surplus := t.bound.rows.Load() - t.bound.part(roomyAt)
	if surplus <= 0 {
		return done
	}
	if last, any := t.least(int(surplus), now); any {
		done = t.shrink(Shrink{}, t.clock.Load(), func(h *header, _ bool) bool {
			return !t.stays(h, now) && t.entry.worth(h).upTo(last)
		})
	}
	if int64(done.Rows) < surplus {
		t.again.Store(now + t.param.Evict.Floor)
	}
	return done
}

// least returns the worth up to which n rows, or a few more, can be dropped; any is false if none can. It finds the
// digits of that worth one after the other, each with a count of all rows.
func (t *Sparse) least(n int, now int64) (last worth, any bool) {
	counts := make([]int, 1<<16)
	for i := range digits {
		clear(counts)
		for h := range t.allRows() {
			if w := t.entry.worth(h); !t.stays(h, now) && w.within(last, i) {
				counts[w.digit(i)]++
			}
		}
		digit, before := 0, 0
		for ; digit < len(counts) && before+counts[digit] < n; digit++ {
			before += counts[digit]
		}
		if digit == len(counts) { // only of the first digit: there are no more rows than that
			return worth{math.MaxUint64, math.MaxUint64}, before > 0
		}
		n -= before
		last[i/4] |= uint64(digit) << (48 - 16*(i%4))
		if few := counts[digit]-n <= int(t.bound.most/200); few || i == digits-1 {
			return last.filled(i + 1), true
		}
	}
	return last, true
}

// filled has the largest digits from the nth on.
func (w worth) filled(n int) worth {
	for i := n; i < digits; i++ {
		w[i/4] |= 0xffff << (48 - 16*(i%4))
	}
	return w
}

// allRows are the rows of all shards, each chunk under the lock of its shard.
func (t *Sparse) allRows() func(yield func(*header) bool) {
	return func(yield func(*header) bool) {
		for i := range t.shards {
			s := &t.shards[i]
			for from, more := uint32(0), true; more; from += 1 << s.arena.shift {
				s.Lock()
				end := min(from+1<<s.arena.shift, s.arena.rows)
				for row := from; row < end; row++ {
					if h := s.arena.at(row); h.step != isFree {
						yield(h)
					}
				}
				more = end < s.arena.rows
				s.Unlock()
			}
		}
	}
}

// Pressed reports whether a table that may drop rows is nearly full.
func (s *Store) Pressed() bool {
	for _, t := range s.Tables {
		if t.pressed(s.Step()) {
			return true
		}
	}
	return false
}

// evict drops rows of the tables that may and have little room.
func (s *Store) evict() []Shrunk {
	all := make([]Shrunk, len(s.Tables))
	for i, t := range s.Tables {
		all[i] = t.evict(s.Step())
	}
	return all
}
