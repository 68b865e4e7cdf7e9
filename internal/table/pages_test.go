package table

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
)

// TestPages goes through tables beside births and drops: rows that are there all the time come once, others once at most, and pages are
// about as large as asked for.
func TestPages(t *testing.T) {
	law.Slow(t)
	for _, c := range []struct{ rows, page, shards int }{{0, 10, 4}, {1, 1, 1}, {900, 1, 2}, {5000, 7, 1}, {20_000, 1000, 16}, {20_000, 50_000, 8}} {
		p := &optimizer.Param{Name: "emb", Shape: []int{0, 2}, Embedding: true}
		s, err := NewSparse(p, optimizer.SGD{LR: 1}, Options{Shards: c.shards})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(uint64(c.rows), uint64(c.page)))
		stays, other := map[uint64]bool{}, map[uint64]bool{}
		push := func(id uint64) {
			if _, err := s.Push([]uint64{id}, []float32{1, 1}, 1); err != nil {
				t.Fatal(err)
			}
		}
		for len(stays) < c.rows {
			id := r.Uint64() >> r.IntN(60)
			stays[id] = true
			push(id)
		}
		seen := map[uint64]int{}
		for from, done := uint64(0), false; !done; {
			var ids []uint64
			if ids, from, done = s.Page(from, c.page); !slices.IsSorted(ids) || len(ids) > max(c.page, 1) || len(ids) < c.page && !done {
				t.Fatalf("%+v: a page of %d rows", c, len(ids))
			}
			for _, id := range ids {
				seen[id]++
			}
			for range c.page / 3 {
				if id := r.Uint64(); !stays[id] {
					other[id] = true
					push(id)
				}
			}
		}
		for id := range maps.Keys(stays) {
			if seen[id] != 1 {
				t.Fatalf("%+v: row %d comes %d times", c, id, seen[id])
			}
			delete(seen, id)
		}
		for id, n := range seen {
			if n != 1 || !other[id] {
				t.Errorf("%+v: row %d, which was born meanwhile (%t), comes %d times", c, id, other[id], n)
			}
		}
	}
}

// TestPagesOfATableThatWasLarge: of a table of which nearly all rows were dropped, no page looks through the whole index, and the pages have
// the rows that stay.
func TestPagesOfATableThatWasLarge(t *testing.T) {
	p := &optimizer.Param{Name: "emb", Shape: []int{0, 1}, Embedding: true}
	s, err := NewSparse(p, optimizer.SGD{LR: 1}, Options{Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]uint64, 200_000)
	for i := range ids {
		ids[i] = uint64(i)
	}
	if err := s.Set(ids, make([]float32, len(ids)), 0); err != nil {
		t.Fatal(err)
	}
	s.clock.Add(2)
	stay := []uint64{7, 77_777, 199_999}
	if err := s.Pull(stay, make([]float32, 3), 0); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Shrink(Shrink{Unseen: 1}); err != nil || done.Rows != len(ids)-len(stay) {
		t.Fatalf("%+v, %v", done, err)
	}
	var got []uint64
	pages := 0
	for from, done := uint64(0), false; !done; pages++ {
		var some []uint64
		some, from, done = s.Page(from, 10)
		got = append(got, some...)
	}
	if slices.Sort(got); !slices.Equal(got, stay) || pages < 5 {
		t.Errorf("%d pages have %v, want %v", pages, got, stay)
	}
}

// TestLook: a look reads as a peek does, and says of which ids there are rows.
func TestLook(t *testing.T) {
	for _, height := range []int{0, 100} {
		p := &optimizer.Param{Name: "emb", Shape: []int{height, 2}, Embedding: true, Init: optimizer.Uniform{Low: 1, High: 2}}
		s, err := NewSparse(p, optimizer.Adam{LR: 0.1}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Push([]uint64{7, 9}, []float32{1, 1, 1, 1}, 1); err != nil {
			t.Fatal(err)
		}
		ids := []uint64{7, 8, 9}
		w, want, has := make([]float32, 6), make([]float32, 6), make([]bool, 3)
		if err := s.Look(ids, w, has, 1); err != nil {
			t.Fatal(err)
		}
		if err := s.Peek(ids, want, 1); err != nil || !slices.Equal(w, want) || !slices.Equal(has, []bool{true, false, true}) {
			t.Errorf("height %d: rows %v, want %v (%v), there are %v", height, w, want, err, has)
		}
		if len(s.IDs()) != 2 {
			t.Errorf("a look gives birth to rows: %v", s.IDs())
		}
	}
}
