package table

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// waitingStore is a store whose table has ids that wait, up to n, pushed once each.
func waitingStore(t *testing.T, n uint64) (*Store, *Sparse) {
	t.Helper()
	x, store := entryTable(t, 0, optimizer.Entry{CountFilter: 3}), new(Store)
	check(t, store.AddTable(x))
	for id := range n {
		_, err := x.Push([]uint64{id}, []float32{1}, 1)
		check(t, err)
	}
	return store, x
}

// TestImagesListWaitersUnsorted: an image is made while pushes are held, so that ids which wait are sorted where they are asked for.
func TestImagesListWaitersUnsorted(t *testing.T) {
	for _, changed := range []int{1000, 3, 0} {
		store, x := waitingStore(t, 1000)
		x.Track()
		want := ascending(1000)
		if changed < 1000 { // the first image has taken all
			store.TakeImage().Close()
			for _, id := range want[:changed] {
				_, err := x.Push([]uint64{id}, []float32{1}, 2)
				check(t, err)
			}
		}
		m := store.TakeImage()
		if slices.IsSorted(m.Tables[0].waiters) {
			t.Error("the ids are sorted before they are asked for")
		}
		if got := m.Tables[0].Changes().Waiters; !slices.Equal(got, want[:changed]) {
			t.Errorf("%d of 1000 have changed, and the image has %v", changed, got)
		}
		if got := m.Tables[0].Waiters(); !slices.Equal(got, want) {
			t.Errorf("the image has %v", got)
		}
		m.Close()
	}
}

// ascending are the first n ids.
func ascending(n uint64) (ids []uint64) {
	for id := range n {
		ids = append(ids, id)
	}
	return ids
}

// TestImagesOutliveClear: an image has the ids that waited when it was made, though all are forgotten and some come again.
func TestImagesOutliveClear(t *testing.T) {
	store, x := waitingStore(t, 10)
	m := store.Image(everything)
	defer m.Close()
	_, err := x.Push([]uint64{3, 99}, []float32{1, 1}, 2)
	check(t, err)
	x.Clear()
	_, err = x.Push([]uint64{5}, []float32{1}, 3)
	check(t, err)
	for _, id := range m.Tables[0].Waiters() {
		if w := m.Tables[0].Waiter(id); w.ID != id || w.Pushes != 1 {
			t.Errorf("the image has %+v, want one push", w)
		}
	}
	if n := len(m.Tables[0].Waiters()); n != 10 || m.Tables[0].Waiter(99).Pushes != 0 {
		t.Errorf("the image has %d ids, and %+v of one that came later", n, m.Tables[0].Waiter(99))
	}
	if all := x.Waiters(); len(all) != 1 || all[0].Pushes != 1 {
		t.Errorf("after Clear and a push %+v wait", all)
	}
}
