package table

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/optimizer"
)

// Shrink selects the rows that a table drops. First shows and clicks decay, then rows are dropped whose score is low or
// which were not touched for long. A zero field has no effect.
//
// A dropped row is lost. Its memory is used for the next row; its id begins anew, like one that was never seen, also
// for a gradient that was computed from the old row.
type Shrink struct {
	// Decay multiplies the shows and clicks of every row and of every waiting id; it is between 0 and 1.
	Decay float64
	// MinScore drops rows whose ShowClick score is below it.
	MinScore float64
	// Unseen drops rows that no training read and no push has touched for that many ticks of the clock, and waiting ids
	// that were not pushed for so long.
	Unseen uint32
	// Evict ends no period: tables whose param has an Evict drop what that says. The other fields are zero.
	Evict bool
}

// Shrunk is the number of rows and ids that were dropped.
type Shrunk struct {
	Rows    int
	Waiting int // ids that waited for a row
}

// ErrNoScore means that a table was to drop rows by a score that it doesn't keep.
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

// shrink drops the rows for which drops returns true; low is whether a row's score has become too low. Calls may run
// concurrently unless the table is Telling.
func (t *Sparse) shrink(o Shrink, now uint32, drops func(h *header, low bool) bool) (done Shrunk) {
	if o.byScore() || t.sweeps {
		t.remade.Store(true) // of every row
	}
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

// shrink drops rows of the chunk that begins with row from, and reports whether there are more.
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
			s.lost(t, h.id)
			s.drop(&t.kind, row, h)
		}
	}
	return end < s.arena.rows
}

// low decays a row's marks and reports whether its score is too low then.
func (o Shrink) low(k *kind, m *marks) bool {
	if o.Decay != 0 {
		m.decay(o.Decay)
	}
	return k.rate(*m) < o.MinScore
}

// old reports whether something was seen too long ago. A push that read the clock before its last tick is not in the
// future.
func (o Shrink) old(seen, now uint32) bool {
	return o.Unseen > 0 && now >= seen && now-seen >= o.Unseen
}

func (s *shard) shrinkWaiting(o Shrink, now uint32) (forgotten int) {
	s.Lock()
	defer s.Unlock()
	s.waiting.each(func(id uint64, w *waiter) bool {
		if o.Decay != 0 {
			w.marks.decay(o.Decay)
		}
		if o.old(w.seen&^changed, now) {
			forgotten++
			s.waiting.forgets(func(yield func(uint64) bool) { yield(id) }, s.mayWait())
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

// Check returns what is wrong with o for tables of these embeddings, or nil; for example, a score if no table keeps
// one.
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

// Shrink drops rows of all tables: by age in every table, by score in tables that keep one. It returns what was
// dropped, by table. It fails if o has a score and no table keeps one.
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

// EndPeriod shrinks and then advances the clocks, so that rows touched in the period that ends are not unseen. With
// Evict it only drops rows.
func (s *Store) EndPeriod(o Shrink) ([]Shrunk, error) {
	if o.Evict {
		return s.evict(), nil
	}
	all, err := s.Shrink(o)
	if err == nil {
		s.Tick()
	}
	return all, err
}

// Clear drops all rows and waiting ids, and resets the clock.
func (t *Sparse) Clear() {
	t.remade.Store(true)
	t.clock.Store(0)
	t.again.Store(0)
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		for row := range s.arena.rows {
			if h := s.arena.at(row); h.step != isFree {
				s.drop(&t.kind, row, h)
			}
		}
		s.waiting.clear()
		s.gone, s.dropped = nil, nil
		s.Unlock()
	}
}
