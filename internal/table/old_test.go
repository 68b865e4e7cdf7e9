package table

import (
	"sync"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"pgregory.net/rapid"
)

// TestOldAgainstMaps trains, takes, leaves something and edits beside maps of what every row is and was.
func TestOldAgainstMaps(t *testing.T) {
	type row struct {
		w, old       float32
		has, trained bool
	}
	rapid.Check(t, func(t *rapid.T) {
		table := numbered(t)
		old, err := table.KeepOld()
		if err != nil {
			t.Fatal(err)
		}
		twin := map[uint64]row{}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				ids, by := someIDs(t), float32(rapid.IntRange(1, 9).Draw(t, "by"))
				g := make([]float32, 2*len(ids))
				for i, id := range ids {
					g[2*i], g[2*i+1] = -by, by
					r := twin[id]
					if !r.has {
						r.old = r.w
					}
					r.w, r.has, r.trained = r.w+by, true, true
					twin[id] = r
				}
				if _, err := table.Push(ids, g, 1); err != nil {
					t.Fatal(err)
				}
			},
			"take": func(t *rapid.T) {
				leave := rapid.Uint64Range(1, 4).Draw(t, "leave")
				seen := map[uint64]bool{}
				old.Take(func(id uint64, w, old []float32, trained bool) (left bool) {
					r := twin[id]
					if seen[id] || !r.has || w[0] != r.w || w[1] != -r.w || old[0] != r.old || old[1] != -r.old || trained != r.trained {
						t.Fatalf("row %d came as %v, %v, %v (before: %v); the twin has %+v", id, w, old, trained, seen[id], r)
					}
					seen[id] = true
					r.has, r.trained = id%leave == 0, false
					if r.has {
						r.old++
						old[0], old[1] = r.old, -r.old
					}
					twin[id] = r
					return r.has
				})
				for id, r := range twin {
					if r.trained {
						t.Fatalf("row %d was trained and did not come", id)
					}
				}
			},
			"drop all": func(t *rapid.T) {
				table.Tick()
				table.Tick()
				if _, err := table.Shrink(Shrink{Unseen: 1}); err != nil {
					t.Fatal(err)
				}
				clear(twin)
			},
			"renew": func(t *rapid.T) {
				since, keep := table.Tick(), rapid.Uint64Range(0, 50).Draw(t, "keep")
				if err := old.Receive([]uint64{keep}, make([]float32, 2), func(_, _, _ []float32) {}); err != nil {
					t.Fatal(err)
				}
				old.Renew(since, func(id uint64) bool { return id%2 == 0 }, func(w, old, born []float32) {
					if born[0] != 0 || born[1] != 0 {
						t.Fatalf("a row is born with %v", born)
					}
					w[0], w[1], old[0], old[1] = w[0]+1000, w[1]-1000, old[0]+500, old[1]-500
				})
				for id, r := range twin {
					w := make([]float32, 2)
					switch err := table.Peek([]uint64{id}, w, 0); {
					case err != nil:
						t.Fatal(err)
					case id%2 > 0 || id == keep:
					case r.has:
						r.w, r.old = r.w+1000, r.old+500
						twin[id] = r
					default:
						delete(twin, id)
					}
					if r := twin[id]; w[0] != r.w || w[1] != -r.w {
						t.Fatalf("row %d is %v, the twin has %+v", id, w, r)
					}
				}
			},
			"receive": func(t *rapid.T) {
				ids := rapid.SliceOfNDistinct(rapid.Uint64Range(0, 50), 0, 9, rapid.ID[uint64]).Draw(t, "ids")
				arrived := make([]float32, 2*len(ids))
				for i, id := range ids {
					arrived[2*i] = float32(id)
				}
				err = old.Receive(ids, arrived, func(w, old, arrived []float32) {
					id := uint64(arrived[0])
					r := twin[id]
					if (old != nil) != r.has || w[0] != r.w || r.has && old[0] != r.old {
						t.Fatalf("row %d is %v, was %v; the twin has %+v", id, w, old, r)
					}
					r.w += 100
					w[0], w[1] = r.w, -r.w
					if r.has {
						r.old += 100
						old[0], old[1] = r.old, -r.old
					}
					twin[id] = r
				})
				if err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// TestRenewBesideAnother: answers of two servers end what a copy has of their rows at the same time.
func TestRenewBesideAnother(t *testing.T) {
	tb, err := NewSparse(&optimizer.Param{Name: "emb", Shape: []int{0, 2}, Embedding: true}, optimizer.SGD{LR: 1},
		Options{Numbered: true, Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	old, err := tb.KeepOld()
	if err != nil {
		t.Fatal(err)
	}
	if err := tb.Pull([]uint64{1, 2, 3, 4}, make([]float32, 8), 0); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for server := range uint64(2) {
		all.Go(func() {
			old.Renew(tb.Tick(), func(id uint64) bool { return id%2 == server }, func(_, _, _ []float32) {})
		})
	}
	all.Wait()
	if n := tb.Stats().Rows; n != 0 {
		t.Errorf("%d rows are left of 4 that no server brought", n)
	}
}
