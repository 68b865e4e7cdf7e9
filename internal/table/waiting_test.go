package table

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/optimizer"
)

// Ids that are met once must not pile up, and ids that are met again and again must not be forgotten among them.
func TestWaitingForgetsTheLongestUnseen(t *testing.T) {
	const limit = 100
	var w waiting
	for id := range uint64(10_000) {
		w.put(id, waiter{pushes: 1}, limit)
		if id%20 == 0 {
			old := w.get(1 << 40)
			w.put(1<<40, waiter{pushes: old.pushes + 1}, limit)
		}
		if n := w.len(); n > limit {
			t.Fatalf("%d ids wait, the limit is %d", n, limit)
		}
		if back := uint64(40); id > back && w.get(id-back).pushes != 1 {
			t.Fatalf("id %d was forgotten after %d others", id-back, back)
		}
	}
	if got := w.get(1 << 40).pushes; got != 500 {
		t.Errorf("the id that came every 20 has %d pushes, want 500", got)
	}
	if w.get(0).pushes != 0 {
		t.Error("the first id was not forgotten")
	}
}

func TestWaitingIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w waiting
		twin := map[uint64]waiter{}
		for range rapid.IntRange(1, 100).Draw(t, "calls") {
			id := rapid.Uint64Range(0, 20).Draw(t, "id")
			if rapid.IntRange(0, 3).Draw(t, "forget") == 0 {
				w.forget(id)
				delete(twin, id)
				continue
			}
			is := waiter{pushes: twin[id].pushes + 1, seen: rapid.Uint32().Draw(t, "seen")}
			w.put(id, is, 50) // 25 a generation: nothing is forgotten
			twin[id] = is
		}
		seen := 0
		w.each(func(id uint64, is *waiter) bool {
			if seen++; twin[id] != *is {
				t.Fatalf("id %d is %+v, want %+v", id, *is, twin[id])
			}
			return false
		})
		if seen != len(twin) || w.len() != len(twin) {
			t.Fatalf("%d ids wait, %d are counted, want %d", seen, w.len(), len(twin))
		}
	})
}

// Ids that are pushed once each leave a bounded trace in a table without a budget too.
func TestOnceMetIDsLeaveABoundedTrace(t *testing.T) {
	if testing.Short() {
		t.Skip("pushes a million ids")
	}
	table, err := NewSparse(&optimizer.Param{Name: "e", Shape: []int{0, 1}, Embedding: true, Entry: optimizer.Entry{CountFilter: 2}},
		optimizer.SGD{}, Options{Shards: 2})
	check(t, err)
	ids, g := make([]uint64, 10_000), make([]float32, 10_000)
	for round := range 100 {
		for i := range ids {
			ids[i] = uint64(round*len(ids) + i)
		}
		_, err := table.Push(ids, g, 1)
		check(t, err)
	}
	if st := table.Stats(); st.Rows != 0 || st.Waiting > 2<<14 || st.Waiting < 2<<13 {
		t.Errorf("%+v, want up to %d ids to wait", st, 2<<14)
	}
}
