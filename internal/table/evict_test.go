package table

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/optimizer"
)

// useful is a row as the twin of an eviction keeps it.
type useful struct {
	id          uint64
	seen        uint32
	step        int64
	show, click float32
}

// evicting returns a table of 2,000 to 3,000 rows that evicts.
func evicting(t interface{ Fatal(...any) }, e optimizer.Evict, shards int) *Store {
	p := &optimizer.Param{Name: "e", Shape: []int{0, 2}, Embedding: true, MaxBytes: 200_000, Evict: e}
	if e.By == optimizer.EvictScore {
		p.Entry.ShowClick = optimizer.ShowClick{Threshold: 0.05}
	}
	table, err := NewSparse(p, optimizer.SGD{LR: 1}, Options{Shards: shards, Telling: true})
	if err != nil {
		t.Fatal(err)
	}
	s := new(Store)
	if err := s.AddTable(table); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEvictKeepsTheMostUseful: what is dropped is what a sort puts last, but for a few more than needed and for rows that a floor keeps, in
// any number of shards; 85 % of the bound are left. Dropping the same rows again, as a journal does, leaves the same table.
func TestEvictKeepsTheMostUseful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := optimizer.Evict{By: rapid.SampledFrom([]string{optimizer.EvictScore, optimizer.EvictUnused}).Draw(t, "by"),
			Floor: rapid.SampledFrom([]int64{0, 0, 3, 30}).Draw(t, "floor")}
		s := evicting(t, e, rapid.SampledFrom([]int{1, 4}).Draw(t, "shards"))
		again := evicting(t, e, 2)
		table, rows := s.Tables[0], map[uint64]useful{}
		same := rapid.Bool().Draw(t, "all alike") // one step, one show
		r := rapid.Uint64Range(0, 1<<40)
		for step := int64(1); !s.Pressed(); step++ {
			n := 40
			if same {
				n = 4000
			}
			ids, shows, clicks := make([]uint64, n), make([]float32, n), make([]float32, n)
			for i := range ids {
				ids[i], shows[i] = uint64(i)*977+r.Draw(t, "id")*uint64(step), 1
				if !same {
					shows[i], clicks[i] = float32(i%7+1), float32(i%2)
				}
				if !same && i%3 == 0 {
					ids[i] = ids[i/2]
				}
			}
			slices.Sort(ids)
			ids = slices.Compact(ids)
			c := Clicks{}
			if e.By == optimizer.EvictScore {
				c = Clicks{Show: shows[:len(ids)], Click: clicks[:len(ids)]}
			}
			number := s.Advance()
			for _, store := range []*Store{s, again} {
				_, err := store.Tables[0].PushClicks(ids, make([]float32, 2*len(ids)), c, number)
				check(t, err)
			}
			s.Finish(number)
			again.Finish(again.Advance())
			if step%8 == 0 {
				s.Tick()
				again.Tick()
			}
			if int(step) > 2000 {
				t.Fatal("the table does not fill")
			}
		}
		for row := range table.Rows(s.Step()) {
			rows[row.ID] = useful{row.ID, row.Seen, row.Step, row.Show, row.Click}
		}
		_, err := s.EndPeriod(Shrink{Evict: true})
		check(t, err)
		left := map[uint64]useful{}
		for row := range table.Rows(s.Step()) {
			left[row.ID] = useful{row.ID, row.Seen, row.Step, row.Show, row.Click}
		}
		stays := func(u useful) bool { return e.Floor > 0 && u.step > s.Step()-e.Floor }
		order := slices.DeleteFunc(slices.Collect(maps.Values(rows)), stays)
		slices.SortFunc(order, func(a, b useful) int {
			if e.By == optimizer.EvictUnused {
				return cmp.Or(cmp.Compare(a.seen, b.seen), cmp.Compare(a.step, b.step), cmp.Compare(mix(a.id), mix(b.id)))
			}
			score := func(u useful) float32 { return float32(table.rate(marks{u.show, u.click})) }
			return cmp.Or(cmp.Compare(score(a), score(b)), cmp.Compare(a.step, b.step), cmp.Compare(mix(a.id), mix(b.id)))
		})
		dropped, most := len(rows)-len(left), int(table.bound.most)
		if room := most * 85 / 100; len(left) > room && dropped < len(order) || len(left) < room-most/200-1 && dropped > 0 {
			t.Fatalf("%d of %d rows are left of %d that fit, %d may go", len(left), len(rows), most, len(order))
		}
		for i, u := range order {
			if _, has := left[u.id]; has != (i >= dropped) {
				t.Fatalf("row %d of %d in order, %+v, is there: %t; %d were dropped", i, len(order), u, has, dropped)
			}
		}
		if table.bound.rows.Load() != int64(len(left)) {
			t.Fatalf("%d rows are counted, there are %d", table.bound.rows.Load(), len(left))
		}
		if s.Pressed() && dropped > 0 && len(left) <= most*85/100 {
			t.Fatal("it is pressed still")
		}
		check(t, again.EndPeriodAgain(Shrink{Evict: true}, [][]uint64{table.Dropped()}))
		if !slices.Equal(again.Tables[0].IDs(), table.IDs()) || again.Tables[0].Clock() != table.Clock() {
			t.Fatal("dropped again, another table is left")
		}
	})
}

// TestFewRowsMakeRoom: a table of which few rows fit keeps 85 % of them too, rounded down, and is not pressed behind that. (Whole hundreds
// alone were counted once: a table of 99 rows dropped all of them, again and again.)
func TestFewRowsMakeRoom(t *testing.T) {
	for most, left := range map[int]int{1: 0, 2: 1, 5: 4, 20: 17, 99: 84, 199: 169} {
		p := &optimizer.Param{Name: "e", Shape: []int{0, 2}, Embedding: true, Evict: optimizer.Evict{By: optimizer.EvictUnused}}
		p.MaxBytes = int64(most * RowBytes(p, optimizer.SGD{LR: 1}))
		table, err := NewSparse(p, optimizer.SGD{LR: 1}, Options{Telling: true})
		check(t, err)
		s := new(Store)
		check(t, s.AddTable(table))
		if s.Pressed() {
			t.Errorf("of %d rows an empty table is pressed", most)
		}
		for id := range uint64(most) {
			if number := s.Advance(); s.Pressed() && id < uint64(left) {
				t.Errorf("of %d rows %d press the table", most, id)
			} else {
				_, err = table.Push([]uint64{id}, []float32{1, 1}, number)
				check(t, err)
				s.Finish(number)
			}
		}
		pressed := s.Pressed()
		_, err = s.EndPeriod(Shrink{Evict: true})
		check(t, err)
		if !pressed || s.Pressed() || table.Len() != left || left > 0 && !slices.Contains(table.IDs(), uint64(most-1)) {
			t.Errorf("of %d rows %d are left, want %d; pressed %t before, %t behind: %d", most, table.Len(), left, pressed, s.Pressed(), table.IDs())
		}
	}
}

// TestEvictRefuses: what can't be is refused by name.
func TestEvictRefuses(t *testing.T) {
	with := func(change func(*optimizer.Param)) *optimizer.Param {
		p := &optimizer.Param{Name: "e", Shape: []int{0, 2}, Embedding: true, MaxBytes: 1 << 20, Evict: optimizer.Evict{By: optimizer.EvictUnused}}
		change(p)
		return p
	}
	for want, p := range map[string]*optimizer.Param{
		`want "score" or`: with(func(p *optimizer.Param) { p.Evict.By = "age" }),
		"ShowClick":       with(func(p *optimizer.Param) { p.Evict.By = optimizer.EvictScore }),
		"counts updates":  with(func(p *optimizer.Param) { p.Evict.Floor = -1 }),
		"leave it 0":      with(func(p *optimizer.Param) { p.Evict.Floor = 1 }),
		"":                with(func(p *optimizer.Param) {}),
	} {
		_, err := NewSparse(p, optimizer.Adam{LR: 1, Dense: true}, Options{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p.Evict, err, want)
		}
	}
}
