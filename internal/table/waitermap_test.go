package table

import (
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// TestWaiterMapIsAMap: it has what a Go map would have, also where many ids have one home, and its index has no lost places.
func TestWaiterMapIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m waiterMap
		twin := map[uint64]waiter{}
		ids := rapid.SampledFrom([]uint64{10, 100, 2000}).Draw(t, "ids")
		for range rapid.SampledFrom([]int{20, 500, 3000}).Draw(t, "calls") {
			id := rapid.Uint64Range(0, ids).Draw(t, "id") << 50
			if rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				m.remove(id)
				delete(twin, id)
				continue
			}
			is := waiter{pushes: twin[id].pushes + 1, seen: uint32(len(twin))}
			if rapid.IntRange(0, 9).Draw(t, "mark") == 0 {
				is.marks = marks{1, 2}
			}
			if _, has := twin[id]; m.replace(id, is) != has {
				t.Fatalf("replace of id %d says %t", id, !has)
			} else if !has {
				m.insert(id, is)
			}
			twin[id] = is
		}
		seen := map[uint64]bool{}
		for id, is := range m.all() {
			if seen[id] || twin[id] != is {
				t.Fatalf("id %d is %+v, want %+v; again: %t", id, is, twin[id], seen[id])
			}
			seen[id] = true
		}
		if len(seen) != len(twin) || m.len() != len(twin) {
			t.Fatalf("%d ids, %d are counted, want %d", len(seen), m.len(), len(twin))
		}
		for id := range ids {
			is, has := m.get(id << 50)
			if want, wanted := twin[id<<50]; is != want || has != wanted {
				t.Fatalf("id %d is %+v (%t), want %+v (%t)", id<<50, is, has, want, wanted)
			}
		}
		used := 0
		for _, i := range m.index {
			if i != 0 {
				used++
			}
		}
		if used != m.n || len(m.chunks) != (m.n+chunkWaiters-1)/chunkWaiters {
			t.Fatalf("%d places and %d chunks for %d ids", used, len(m.chunks), m.n)
		}
		for id := range m.all() { // the one that is yielded may be removed
			if id>>50%2 == 0 {
				m.remove(id)
				delete(twin, id)
			}
		}
		if m.len() != len(twin) {
			t.Fatalf("%d ids are left, want %d", m.len(), len(twin))
		}
	})
}

// TestWaiterBytes: a waiting id takes 24 bytes of the heap, and 8 more with marks, whatever their number; [Stats] says the same.
//
// Promise: [G4] an id that waits for a row takes at most 24 bytes, and 32 with shows and clicks
func TestWaiterBytes(t *testing.T) {
	for _, with := range []marks{{}, {show: 1}} {
		most := waiterBytes
		if with.show > 0 {
			most += waiterMarks
		}
		for _, n := range []int{100_000, 130_000, 160_000} {
			var before, behind runtime.MemStats
			runtime.GC() // what pools hold goes with the second one
			runtime.GC()
			runtime.ReadMemStats(&before)
			var m waiterMap
			for id := range uint64(n) {
				m.insert(id, waiter{marks: with, pushes: 1})
			}
			runtime.GC()
			runtime.ReadMemStats(&behind)
			each := float64(behind.HeapAlloc-before.HeapAlloc) / float64(n)
			if said := float64(m.bytes()) / float64(n); each > float64(most) || said > each*1.02 || said < each*0.95 {
				t.Errorf("%d ids with %+v take %.1f bytes each, want at most %d; it says %.1f", n, with, each, most, said)
			}
			runtime.KeepAlive(&m)
		}
	}
}
