package table

import (
	"math/rand/v2"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// Among many ids, the ones pushed most are found whatever order they come in.
func TestHot(t *testing.T) {
	table := newSparse(t, embedding(0, 1), optimizer.SGD{})
	r := rand.New(rand.NewPCG(1, 2))
	var all []uint64
	for id := range uint64(2000) {
		n := 1 + r.IntN(100)
		if id < 10 {
			n = 1000 - 50*int(id)
		}
		for range n {
			all = append(all, id)
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	_, err := table.Push(all, make([]float32, len(all)), 1)
	check(t, err)
	top := table.Hot(10)
	if len(top) != 10 {
		t.Fatalf("%d ids, want 10", len(top))
	}
	for i, h := range top {
		if want := (Hot{uint64(i), uint32(1000 - 50*i)}); h != want {
			t.Errorf("place %d: %+v, want %+v", i, h, want)
		}
	}
	if n := len(table.Hot(1000)); n != hotLen {
		t.Errorf("%d ids, want no more than %d", n, hotLen)
	}
}

// Dropped rows are hot no more, restored ones are at once.
func TestHotFollowsRows(t *testing.T) {
	table := newSparse(t, embedding(0, 1), optimizer.SGD{})
	for range 40 {
		_, err := table.Push([]uint64{1, 2}, make([]float32, 2), 1)
		check(t, err)
	}
	table.Tick()
	check(t, table.Pull([]uint64{2}, make([]float32, 1), 0))
	_, err := table.Shrink(Shrink{Unseen: 1})
	check(t, err)
	check(t, Filler{Table: table}.Row(Row{ID: 3, W: []float32{1}, Updates: 500}))
	check(t, Filler{Table: table}.Row(Row{ID: 4, W: []float32{1}, Updates: 3}))
	if got := table.Hot(5); len(got) != 2 || got[0] != (Hot{3, 500}) || got[1] != (Hot{2, 40}) {
		t.Errorf("%+v, want 3 and 2", got)
	}
	_, err = table.Push([]uint64{1}, make([]float32, 1), 1)
	check(t, err)
	if got := table.Hot(5); len(got) != 2 {
		t.Errorf("%+v: a row that was dropped begins anew", got)
	}
}

func TestHotKeepsTheHottest(t *testing.T) {
	var x hot
	for id := range uint64(100) {
		x.update(id, uint32(hotEvery*(1+(id*37)%100))) // every count from 1 to 100 once
	}
	for _, h := range x.ids {
		if h.pushes <= hotEvery*(100-hotLen) {
			t.Errorf("id %d with %d pushes is kept", h.id, h.pushes)
		}
	}
	if x.used != hotLen || x.floor != hotEvery*(101-hotLen) {
		t.Errorf("%d kept, floor %d", x.used, x.floor)
	}
	x.forget(x.ids[3].id)
	x.update(7777, hotEvery)
	if x.used != hotLen || x.floor != hotEvery {
		t.Errorf("%d kept, floor %d after one was forgotten and another came", x.used, x.floor)
	}
}
