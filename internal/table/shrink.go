package table

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/optimizer"
)

// Shrink says which rows a table can do without. First shows and clicks decay, then rows are dropped whose score is low
// or which were not touched for long. Each zero field does nothing.
//
// A dropped row is forgotten whole. Its memory is the next row's; its id begins anew, as one that was never met, and a
// gradient that was computed from the old row falls under the same rule.
type Shrink struct {
	// Decay multiplies the shows and clicks of every row and of every id that waits, between 0 and 1.
	Decay float64
	// MinScore drops rows whose ShowClick score is below it.
	MinScore float64
	// Unseen drops rows that no training read and no push has touched for that many ticks of the clock, and forgets ids
	// that wait and were not pushed for so long.
	Unseen uint32
}

// Shrunk says what was dropped.
type Shrunk struct {
	Rows    int
	Waiting int // ids that waited for a row
}

// ErrNoScore says that a table was to drop rows by a score that it doesn't keep.
var ErrNoScore = errors.New("table: no score is kept")

func (o Shrink) check() error {
	if !(o.Decay >= 0 && o.Decay <= 1) {
		return fmt.Errorf("table: shrink: Decay is %v: it must be between 0 and 1", o.Decay)
	}
	if !(o.MinScore >= 0) {
		return fmt.Errorf("table: shrink: MinScore is %v: it must not be negative", o.MinScore)
	}
	return nil
}

func (o Shrink) byScore() bool { return o.Decay != 0 || o.MinScore != 0 }

func (m *marks) decay(by float64) {
	m.show, m.click = float32(float64(m.show)*by), float32(float64(m.click)*by)
}

// Shrink drops rows. The table may be used meanwhile: a shard's lock is held for one chunk of rows at a time.
func (t *Sparse) Shrink(o Shrink) (Shrunk, error) {
	if err := o.check(); err != nil {
		return Shrunk{}, err
	}
	if o.byScore() && !t.marked {
		return Shrunk{}, fmt.Errorf("%w: %q: set ShowClick in its Entry, or neither Decay nor MinScore", ErrNoScore,
			t.param.Name)
	}
	t.dropped = nil
	now := t.clock.Load()
	return t.shrink(o, now, func(h *header, low bool) bool { return low || o.old(h.seen&^flags, now) }), nil
}

// shrink drops the rows that drops says; low is whether a row's score has become so. Calls may run beside each other
// where the table is not Telling.
func (t *Sparse) shrink(o Shrink, now uint32, drops func(h *header, low bool) bool) (done Shrunk) {
	t.remade.Store(true)
	for i := range t.shards {
		s := &t.shards[i]
		for from := uint32(0); ; from += 1 << s.arena.shift {
			if !s.shrink(t, o, from, drops, &done) {
				break
			}
		}
		done.Waiting += s.shrinkWaiting(o, now)
	}
	t.away.dropped.Add(uint64(done.Rows))
	return done
}

// shrink drops rows of the chunk that begins with row from, and says whether there are more.
func (s *shard) shrink(t *Sparse, o Shrink, from uint32, drops func(h *header, low bool) bool,
	done *Shrunk) (more bool) {
	s.Lock()
	defer s.Unlock()
	end := min(from+1<<s.arena.shift, s.arena.rows)
	for row := from; row < end; row++ {
		h := s.arena.at(row)
		if h.step == isFree {
			continue
		}
		low := false
		if o.byScore() {
			s.image.keepRow(&t.kind, row, h)
			low = o.low(&t.kind, t.marks(h))
		}
		if drops(h, low) {
			if done.Rows++; t.telling {
				t.dropped = append(t.dropped, h.id)
			}
			s.drop(&t.kind, row, h)
		}
	}
	return end < s.arena.rows
}

// low lets a row's marks decay and says whether its score is too low then.
func (o Shrink) low(k *kind, m *marks) bool {
	if o.Decay != 0 {
		m.decay(o.Decay)
	}
	return k.rate(*m) < o.MinScore
}

// old says whether something was seen too long ago. A push that read the clock before its last tick is not in the
// future.
func (o Shrink) old(seen, now uint32) bool {
	return o.Unseen > 0 && now >= seen && now-seen >= o.Unseen
}

func (s *shard) shrinkWaiting(o Shrink, now uint32) (forgotten int) {
	s.Lock()
	defer s.Unlock()
	s.waiting.each(func(_ uint64, w *waiter) bool {
		if o.Decay != 0 {
			w.marks.decay(o.Decay)
		}
		if o.old(w.seen&^changed, now) {
			forgotten++
			return true
		}
		return false
	})
	return forgotten
}

// Tick advances the clocks of all tables.
func (s *Store) Tick() {
	for _, t := range s.Tables {
		t.Tick()
	}
}

// Check says what is wrong with o for tables of these embeddings, or nil: a score, for one, where no table keeps any.
func (o Shrink) Check(params []*optimizer.Param) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.byScore() && !slices.ContainsFunc(params, func(p *optimizer.Param) bool {
		return p.Embedding &&
			marked(p.Entry)
	}) {
		return fmt.Errorf("%w by any table: set ShowClick in an Entry, or neither Decay nor MinScore", ErrNoScore)
	}
	return nil
}

// Shrink drops rows of all tables: by age in every one, by score in tables that keep one. It returns what was dropped,
// table by table, and is refused when o has a score and no table keeps one.
func (s *Store) Shrink(o Shrink) ([]Shrunk, error) {
	params := make([]*optimizer.Param, len(s.Tables))
	for i, t := range s.Tables {
		params[i] = t.param
	}
	if err := o.Check(params); err != nil {
		return nil, err
	}
	all := make([]Shrunk, len(s.Tables))
	for i, t := range s.Tables {
		own := o
		if !t.marked {
			own.Decay, own.MinScore = 0, 0
		}
		var err error
		if all[i], err = t.Shrink(own); err != nil {
			return all, err
		}
	}
	return all, nil
}

// EndPeriod shrinks and then advances the clocks: what was touched in the period that ends is not unseen at all.
func (s *Store) EndPeriod(o Shrink) ([]Shrunk, error) {
	all, err := s.Shrink(o)
	if err == nil {
		s.Tick()
	}
	return all, err
}

// Clear drops all rows and forgets the ids that wait, and the periods in which they were used.
func (t *Sparse) Clear() {
	t.remade.Store(true)
	t.clock.Store(0)
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		for row := range s.arena.rows {
			if h := s.arena.at(row); h.step != isFree {
				s.drop(&t.kind, row, h)
			}
		}
		s.waiting.clear()
		s.gone = nil
		s.Unlock()
	}
}
