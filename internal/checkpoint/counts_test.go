package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

func entryStores(t *testing.T, n int, e optimizer.Entry, bytes int64) (all []*table.Store) {
	t.Helper()
	p := &optimizer.Param{Name: "emb", Shape: []int{0, 2}, Embedding: true, Entry: e, MaxBytes: bytes}
	for range n {
		s := new(table.Store)
		sparse, err := table.NewSparse(p, rule, table.Options{})
		check(t, err)
		check(t, s.AddTable(sparse))
		all = append(all, s)
	}
	return all
}

// counted is everything that tables know of ids, whichever of the stores it lies in.
func counted(all []*table.Store) []string {
	var out []string
	for _, s := range all {
		for r := range s.Tables[0].Rows(s.Step()) {
			out = append(out, fmt.Sprintf("%+v", r))
		}
		for _, w := range s.Tables[0].Waiters() {
			out = append(out, fmt.Sprintf("%+v", w))
		}
	}
	slices.Sort(out)
	return out
}

// What pushes have counted survives a save and a load onto another number of servers: ids that wait and rows' shows and clicks.
func TestCountsAreKept(t *testing.T) {
	for _, e := range []optimizer.Entry{{CountFilter: 3}, {ShowClick: optimizer.ShowClick{Threshold: 2}}} {
		from := entryStores(t, 2, e, 0)
		for id := range uint64(6000) { // more than are read at once
			s := from[id%2]
			for range id % 5 {
				n := table.Clicks{Show: []float32{float32(id%7) + 1}, Click: []float32{float32(id % 2)}}
				_, err := s.Tables[0].PushClicks([]uint64{id}, []float32{1, float32(id)}, n, 1)
				check(t, err)
			}
		}
		dir, to := t.TempDir(), entryStores(t, 3, e, 0)
		save(t, dir, "a", from)
		for i, s := range to {
			_, err := Load(t.Context(), dir, s, rule, model(), func(_ int, id uint64) bool { return id%3 == uint64(i) })
			check(t, err)
		}
		if want, got := counted(from), counted(to); !slices.Equal(want, got) {
			t.Errorf("%+v: %d rows and waiting ids were saved, %d came back, or others", e, len(want), len(got))
		}
		if st := to[0].Tables[0].Stats(); st.Rows == 0 || st.Waiting == 0 {
			t.Errorf("%+v: nothing to see: %+v", e, st)
		}
	}
}

// A policy may change between a save and a load: what the new one doesn't count is forgotten.
func TestLoadIntoAnotherPolicy(t *testing.T) {
	from := entryStores(t, 1, optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 1}}, 0)
	for range 12 {
		_, err := from[0].Tables[0].Push([]uint64{1}, []float32{1, 1}, 1)
		check(t, err)
	}
	_, err := from[0].Tables[0].Push([]uint64{2}, []float32{1, 1}, 1)
	check(t, err)
	dir, to := t.TempDir(), entryStores(t, 1, optimizer.Entry{}, 0)[0]
	save(t, dir, "a", from)
	_, err = Load(t.Context(), dir, to, rule, model(), func(int, uint64) bool { return true })
	check(t, err)
	if st := to.Tables[0].Stats(); st.Rows != 1 || st.Waiting != 0 {
		t.Errorf("%+v, want one row and nobody waiting", st)
	}
}

// A checkpoint that doesn't fit is refused, not loaded in part without a word.
func TestLoadRefusesTooManyRows(t *testing.T) {
	from := entryStores(t, 1, optimizer.Entry{}, 0)
	ids := make([]uint64, 5000)
	for i := range ids {
		ids[i] = uint64(i)
	}
	check(t, from[0].Tables[0].Pull(ids, make([]float32, 10_000), 0))
	dir, to := t.TempDir(), entryStores(t, 1, optimizer.Entry{}, 1<<16)[0]
	save(t, dir, "a", from)
	if _, err := Load(t.Context(), dir, to, rule, model(), func(int, uint64) bool { return true }); !errors.Is(err, table.ErrFull) {
		t.Errorf("error %v, want %v", err, table.ErrFull)
	}
}
