package table

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
)

// numbered is a table of rows of two weights of 0 that are numbered.
func numbered(t interface{ Fatal(...any) }) *Sparse {
	p := &optimizer.Param{Name: "rows", Shape: []int{0, 2}, Embedding: true}
	table, err := NewSparse(p, optimizer.SGD{LR: 1}, Options{Numbered: true, Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// someIDs are few, so that pushes meet, or so many that rows fill several chunks and words.
func someIDs(t *rapid.T) []uint64 {
	ids := rapid.SliceOfN(rapid.Uint64Range(0, 40), 0, 8).Draw(t, "ids")
	if rapid.IntRange(0, 9).Draw(t, "many") == 0 {
		from := rapid.Uint64Range(0, 1<<40).Draw(t, "from")
		for i := range uint64(5000) {
			ids = append(ids, from+i)
		}
	}
	return ids
}

// TestWatchAgainstMaps has watches come and go, pushes that are some watch's own, and rows that are dropped and born anew.
func TestWatchAgainstMaps(t *testing.T) {
	law.Slow(t)
	rapid.Check(t, func(t *rapid.T) {
		table := numbered(t)
		var watches []*Watch
		var twins []map[uint64]bool
		rows := map[uint64]bool{}
		some := func(t *rapid.T) int {
			if len(watches) == 0 {
				t.Skip("no watch")
			}
			return rapid.IntRange(0, len(watches)-1).Draw(t, "watch")
		}
		note := func(ids []uint64, but int) {
			for w, twin := range twins {
				for _, id := range ids {
					if w != but || !rows[id] {
						twin[id] = true
					}
				}
			}
			for _, id := range ids {
				rows[id] = true
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"watch": func(t *rapid.T) {
				all, twin := rapid.Bool().Draw(t, "all"), map[uint64]bool{}
				if all {
					twin = maps.Clone(rows)
				}
				w, err := table.Watch(all)
				if err != nil {
					t.Fatal(err)
				}
				watches, twins = append(watches, w), append(twins, twin)
			},
			"close": func(t *rapid.T) {
				w := some(t)
				watches[w].Close()
				watches[w].Close()
				watches, twins = slices.Delete(watches, w, w+1), slices.Delete(twins, w, w+1)
			},
			"push": func(t *rapid.T) {
				ids := someIDs(t)
				if _, err := table.Push(ids, make([]float32, 2*len(ids)), 1); err != nil {
					t.Fatal(err)
				}
				note(ids, -1)
			},
			"own push": func(t *rapid.T) {
				w, ids := some(t), someIDs(t)
				if _, err := watches[w].Push(ids, make([]float32, 2*len(ids)), Clicks{}, 1); err != nil {
					t.Fatal(err)
				}
				note(ids, w)
			},
			"pull": func(t *rapid.T) { // no change, but a birth
				ids := someIDs(t)
				if err := table.Pull(ids, make([]float32, 2*len(ids)), 1); err != nil {
					t.Fatal(err)
				}
				for _, id := range ids {
					rows[id] = true
				}
			},
			"drop all": func(t *rapid.T) {
				table.Tick()
				table.Tick()
				if _, err := table.Shrink(Shrink{Unseen: 1}); err != nil {
					t.Fatal(err)
				}
				clear(rows)
				for _, twin := range twins {
					clear(twin)
				}
			},
			"take": func(t *rapid.T) {
				w := some(t)
				got := watches[w].Take([]uint64{7})
				if got[0] != 7 {
					t.Fatal("what was there is gone")
				}
				slices.Sort(got[1:])
				if diff := cmp.Diff(slices.Sorted(maps.Keys(twins[w])), got[1:], cmp.Transformer("nil", func(s []uint64) []uint64 { return append([]uint64{}, s...) })); diff != "" {
					t.Fatal(diff)
				}
				clear(twins[w])
			},
		})
	})
}

// TestWatchNeedsNumbers says so.
func TestWatchNeedsNumbers(t *testing.T) {
	table, err := NewSparse(embedding(0, 2), optimizer.SGD{}, Options{})
	check(t, err)
	_, watch := table.Watch(false)
	_, old := table.KeepOld()
	for _, err := range []error{watch, old} {
		if err == nil || !strings.Contains(err.Error(), "Numbered") {
			t.Errorf("%v", err)
		}
	}
}
