package table

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
)

// testEntries are policies that let some of 50 ids in and keep some out within a few pushes.
var testEntries = []optimizer.Entry{
	{}, {CountFilter: 3}, {Probability: 0.5}, {ShowClick: optimizer.ShowClick{Threshold: 1, ShowCoeff: 0.25}},
}

func TestSparseIsTheMap(t *testing.T) {
	law.Slow(t)
	for _, rule := range testRules {
		for _, entry := range testEntries {
			for _, height := range []int{0, 50} {
				t.Run(fmt.Sprintf("%+v/%+v/height %d", rule, entry, height), func(t *testing.T) {
					p := embedding(height, 0)
					p.Entry = entry
					rapid.Check(t, func(t *rapid.T) { randomOperations(t, *p, rule) })
				})
			}
		}
	}
}

// A table with little memory for wide rows is the map too, as far as there is room. Whether there is one depends on where ids
// fall, so the twin asks the table, and the table must not be wrong about its own size.
func TestBoundedSparseIsTheMap(t *testing.T) {
	law.Slow(t)
	for _, entry := range testEntries {
		t.Run(fmt.Sprintf("%+v", entry), func(t *testing.T) {
			p := embedding(0, 0)
			p.Entry, p.MaxBytes = entry, 1<<16
			rapid.Check(t, func(t *rapid.T) { randomOperations(t, *p, optimizer.Adagrad{LR: 0.1}) })
		})
	}
}

// machine is a table and its twin, to which everything is done alike.
type machine struct {
	*rapid.T
	table *Sparse
	twin  *naive
	step  int64
	id    *rapid.Generator[uint64]
}

func randomOperations(t *rapid.T, p optimizer.Param, rule optimizer.Rule) {
	p.Shape = []int{p.Height(), rapid.IntRange(1, 5).Draw(t, "dim")}
	if p.MaxBytes > 0 {
		p.Shape[1] *= 256 // 6 to 30 rows of Adagrad fit
	}
	table, err := NewSparse(&p, rule, Options{Shards: rapid.IntRange(1, 9).Draw(t, "shards")})
	check(t, err)
	m := &machine{T: t, table: table, twin: newNaive(&p, rule), id: rapid.Uint64Range(0, 49)}
	if p.Height() == 0 {
		m.id = rapid.OneOf(m.id, rapid.Just(uint64(math.MaxUint64)), rapid.Uint64())
	}
	if p.MaxBytes > 0 {
		m.twin.full = m.full
	}
	calls := map[string]func(){
		"pull": m.pull, "peek": m.peek, "push": m.push, "set": m.set, "tick": m.tick, "shrink": m.shrink, "move": m.move,
	}
	names := []string{"move", "peek", "pull", "push", "push", "push", "set", "shrink", "tick"}
	for range rapid.IntRange(1, 14).Draw(t, "calls") {
		calls[rapid.SampledFrom(names).Draw(t, "call")]()
	}
	m.compare()
}

// full is the twin's question whether an id finds no room. It is asked after the table's own call: what the twin has no row for
// and the table has, found room.
func (m *machine) full(id uint64) bool {
	_, there := m.rowOf(id)
	return !there
}

func (m *machine) rowOf(id uint64) (*header, bool) {
	s, hash := m.table.shardOf(id)
	_, h := s.index.find(&s.arena, hash, id)
	return h, h != nil
}

func (m *machine) ids() (ids []uint64, values []float32) {
	n := 40
	if m.twin.full != nil {
		n = 8
	}
	ids = rapid.SliceOfN(m.id, 0, n).Draw(m.T, "ids") // twice the same one is allowed
	n = len(ids) * m.table.dim
	if m.table.dim > 5 {
		values = make([]float32, n) // drawn one by one they would take all the time
		for i := range values {
			values[i] = float32(i%7) / 7
		}
		return ids, values
	}
	return ids, rapid.SliceOfN(rapid.Float32Range(-1, 1), n, n).Draw(m.T, "values")
}

func (m *machine) pull() {
	ids, w := m.ids()
	check(m, m.table.Pull(ids, w, m.step))
	same(m, "pulled", m.twin.pull(ids, m.step), w)
}

func (m *machine) peek() {
	ids, w := m.ids()
	check(m, m.table.Peek(ids, w, m.step))
	same(m, "peeked", m.twin.peek(ids, m.step), w)
}

func (m *machine) push() {
	ids, g := m.ids()
	m.step += rapid.Int64Range(1, 3).Draw(m.T, "steps")
	n := m.counts(len(ids))
	res, err := m.table.PushClicks(ids, g, n, m.step)
	check(m, err)
	if want := m.twin.push(ids, g, n, m.step); res != want || res.Applied+res.Waiting+res.Full != len(ids) {
		m.Fatalf("the push of %d ids did %+v, want %+v", len(ids), res, want)
	}
}

func (m *machine) counts(n int) (c Clicks) {
	number := rapid.SliceOfN(rapid.Float32Range(0, 4), n, n)
	if rapid.Bool().Draw(m.T, "says shows") {
		c.Show = number.Draw(m.T, "show")
	}
	if rapid.Bool().Draw(m.T, "says clicks") {
		c.Click = number.Draw(m.T, "click")
	}
	if rapid.Bool().Draw(m.T, "says pushes") {
		c.Pushes = rapid.SliceOfN(rapid.Int32Range(1, 3), n, n).Draw(m.T, "pushes")
	}
	return c
}

func (m *machine) set() {
	ids, w := m.ids()
	if err := m.table.Set(ids, w, m.step); m.twin.full == nil || !errors.Is(err, ErrFull) {
		check(m, err)
	}
	m.twin.set(ids, w, m.step)
}

func (m *machine) tick() { m.twin.clock = m.table.Tick() }

func (m *machine) shrink() {
	o := Shrink{Unseen: rapid.Uint32Range(0, 3).Draw(m.T, "unseen")}
	if m.table.marked {
		o.Decay = rapid.Float64Range(0, 1).Draw(m.T, "decay")
		o.MinScore = rapid.Float64Range(0, 1).Draw(m.T, "score")
	}
	done, err := m.table.Shrink(o)
	check(m, err)
	if want := m.twin.shrink(o); done != want {
		m.Fatalf("%+v shrank the table by %+v, want %+v", o, done, want)
	}
}

// move goes on with another table to which everything was carried, as a checkpoint does.
func (m *machine) move() {
	if m.twin.full != nil {
		return // ids fall elsewhere in another table: there might be no room
	}
	to, err := NewSparse(m.table.param, m.table.rule, Options{Shards: rapid.IntRange(1, 5).Draw(m.T, "new shards")})
	check(m, err)
	var all Columns
	atOnce := rapid.Bool().Draw(m.T, "at once")
	for r := range m.table.Rows(m.step) {
		if !atOnce {
			check(m, Filler{Table: to}.Row(r))
			continue
		}
		all.IDs, all.Floats = append(all.IDs, r.ID), slices.Concat(all.Floats, r.W, r.State)
		all.Steps, all.Seen, all.Updates = append(all.Steps, r.Step), append(all.Seen, r.Seen), append(all.Updates, r.Updates)
		all.Show, all.Click, all.Delta = append(all.Show, r.Show), append(all.Click, r.Click), append(all.Delta, r.Delta)
	}
	check(m, Filler{to, func(uint64) bool { return true }}.Rows(&all))
	for _, w := range m.table.Waiters() {
		check(m, Filler{Table: to}.Waiter(w))
	}
	for to.Clock() < m.table.Clock() {
		to.Tick()
	}
	m.table = to
}

// compare looks at everything that the table shows of itself.
func (m *machine) compare() {
	if d := cmp.Diff(m.twin.all(m.step), rowsOf(m.table, m.step), noSlots); d != "" {
		m.Fatalf("the table is not the map (-map +table):\n%s", d)
	}
	var waiting []Waiter
	for _, id := range slices.Sorted(maps.Keys(m.twin.waiting)) {
		w := m.twin.waiting[id]
		waiting = append(waiting, Waiter{id, w.Updates, w.Seen, w.Show, w.Click})
	}
	if d := cmp.Diff(waiting, m.table.Waiters()); d != "" {
		m.Fatalf("other ids wait (-map +table):\n%s", d)
	}
	st := m.table.Stats()
	if st.Rows != len(m.twin.rows) || st.Waiting != len(waiting) || st.MaxBytes > 0 && overBound(st) {
		m.Fatalf("the table says %+v, the map has %d rows and %d ids that wait", st, len(m.twin.rows), len(waiting))
	}
}
