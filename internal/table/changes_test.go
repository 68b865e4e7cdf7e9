package table

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// tracked takes what has changed in a table, by an image beside which something is done before it is read.
func tracked(t *testing.T, x *Sparse, beside func()) (take func() Changes) {
	t.Helper()
	s := new(Store)
	check(t, s.AddTable(x))
	x.Track()
	return func() Changes {
		image := s.TakeImage()
		defer image.Close()
		if beside != nil {
			beside()
		}
		return image.Tables[0].Changes()
	}
}

// TestChanges: a row has changed that was born, pushed, set, restored, or seen in another period, and not by a look or a read in the same one.
func TestChanges(t *testing.T) {
	p := &optimizer.Param{Name: "emb", Shape: []int{0, 2}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}}
	x, err := NewSparse(p, optimizer.Adam{LR: 0.1}, Options{})
	check(t, err)
	take := tracked(t, x, nil)
	w := func(ids []uint64) []float32 { return make([]float32, 2*len(ids)) }
	pull := func(ids ...uint64) { check(t, x.Pull(ids, w(ids), 0)) }
	push := func(ids ...uint64) {
		_, err := x.Push(ids, w(ids), 1)
		check(t, err)
	}
	has := func(what string, want ...uint64) Changes {
		t.Helper()
		c := take()
		if !slices.Equal(c.Rows, want) {
			t.Errorf("%s: changed are %v, want %v", what, c.Rows, want)
		}
		return c
	}
	pull(9, 5)
	push(7, 5)
	has("born", 5, 7, 9)
	has("nothing since")
	pull(5, 7)
	check(t, x.Peek([]uint64{5, 8}, make([]float32, 4), 0))
	for range x.Rows(1) {
	}
	has("reads")
	push(7)
	check(t, x.Set([]uint64{5}, []float32{1, 2}, 1))
	check(t, Filler{Table: x}.Row(Row{ID: 3, W: []float32{1, 2}}))
	taken := has("pushed, set, restored", 3, 5, 7)
	push(9)
	(&TableImage{Table: x, changes: taken}).GiveBack()
	has("given back", 3, 5, 7, 9)
	x.Tick()
	pull(7)
	has("seen in another period", 7)
	if x.Remade() {
		t.Error("nothing was dropped")
	}
	done, err := x.Shrink(Shrink{Unseen: 1})
	check(t, err)
	if c := take(); done.Rows == 0 || len(c.Dropped) != done.Rows || x.Remade() || slices.Contains(x.IDs(), c.Dropped[0]) {
		t.Errorf("%d rows were dropped, and changes are %+v", done.Rows, c)
	} else if (&TableImage{Table: x, changes: c}).GiveBack(); !slices.Equal(take().Dropped, c.Dropped) {
		t.Errorf("%v were dropped and given back, and are not there", c.Dropped)
	}
	for r := range x.Rows(1) {
		if r.Seen > 1 {
			t.Errorf("row %d was seen at %d", r.ID, r.Seen)
		}
	}
}

// TestChangesOfThoseThatWait: ids that were pushed, and those that were forgotten since too many wait; given back they are there again.
func TestChangesOfThoseThatWait(t *testing.T) {
	p := &optimizer.Param{Name: "emb", Shape: []int{0, 2}, Embedding: true, Entry: optimizer.Entry{CountFilter: 2}, MaxBytes: 64 << 10}
	x, err := NewSparse(p, optimizer.SGD{LR: 0.1}, Options{})
	check(t, err)
	take := tracked(t, x, nil)
	push := func(id uint64) {
		_, err := x.Push([]uint64{id}, make([]float32, 2), 1)
		check(t, err)
	}
	push(1)
	push(2)
	push(2)
	c := take()
	if !slices.Equal(c.Rows, []uint64{2}) || !slices.Equal(c.Waiters, []uint64{1}) || x.Waiters()[0].Pushes != 1 {
		t.Errorf("changed are %+v", c)
	}
	(&TableImage{Table: x, changes: c}).GiveBack()
	if again := take(); !slices.Equal(again.Rows, c.Rows) || !slices.Equal(again.Waiters, c.Waiters) {
		t.Errorf("given back were %+v, there are %+v", c, again)
	}
	for id := range uint64(1000) {
		push(100 + id)
	}
	c = take()
	waits := map[uint64]bool{}
	for _, w := range x.Waiters() {
		waits[w.ID] = true
	}
	if !slices.Contains(c.Forgotten, 1) || waits[1] || len(c.Waiters) != len(waits) {
		t.Errorf("%d forgotten, %d have changed, %d wait", len(c.Forgotten), len(c.Waiters), len(waits))
	}
	for _, id := range c.Forgotten {
		if waits[id] {
			t.Errorf("%d waits and is forgotten", id)
		}
	}
	(&TableImage{Table: x, changes: c}).GiveBack()
	if again := take(); !slices.Equal(again.Forgotten, c.Forgotten) {
		t.Errorf("%d forgotten ids were given back, there are %d", len(c.Forgotten), len(again.Forgotten))
	}
}

// TestForgottenIdsDontPileUp: where changes are not taken for long, nobody keeps all ids that were forgotten, and what has changed does not tell
// them any more; neither where changes are given back again and again.
func TestForgottenIdsDontPileUp(t *testing.T) {
	p := &optimizer.Param{Name: "emb", Shape: []int{0, 2}, Embedding: true, Entry: optimizer.Entry{CountFilter: 2}, MaxBytes: 64 << 10}
	x, err := NewSparse(p, optimizer.SGD{LR: 0.1}, Options{})
	check(t, err)
	take := tracked(t, x, nil)
	id, zero := uint64(0), make([]float32, 2*1000)
	pushes := func() {
		ids := make([]uint64, 1000)
		for i := range ids {
			id++
			ids[i] = id
		}
		_, err := x.Push(ids, zero, 1)
		check(t, err)
	}
	noted := func() (n int) {
		for i := range x.shards {
			n += len(x.shards[i].waiting.forgotten)
		}
		return n
	}
	const most = 10_000 // the ids that wait take as much memory
	for range 30 {
		pushes()
	}
	if n := noted(); n > most || !x.Remade() {
		t.Errorf("%d of %d ids that were forgotten are noted, changes tell all %t", n, id, !x.Remade())
	}
	if c := take(); x.Remade() || len(c.Forgotten) > most {
		t.Errorf("%d forgotten ids, and changes tell all %t", len(c.Forgotten), !x.Remade())
	}
	told := false
	for range 30 {
		pushes()
		told = told || x.Remade()
		(&TableImage{Table: x, changes: take()}).GiveBack()
		told = told || x.Remade()
		if n := noted(); n > most {
			t.Fatalf("%d of %d ids that were given back are noted", n, id)
		}
	}
	if !told {
		t.Error("ids were given back, not noted, and changes told all")
	}
}

// TestChangesBesideAnImage: what is changed behind the moment of an image, and before it is read, is in the next one, whether it had changed before
// or not; what is dropped then is in this one.
func TestChangesBesideAnImage(t *testing.T) {
	p := &optimizer.Param{Name: "emb", Shape: []int{0, 2}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}}
	x, err := NewSparse(p, optimizer.Adam{LR: 0.1}, Options{})
	check(t, err)
	push := func(ids ...uint64) {
		_, err := x.Push(ids, make([]float32, 2*len(ids)), 1)
		check(t, err)
	}
	var beside func()
	take := tracked(t, x, func() { beside() })
	has := func(what string, want ...uint64) {
		t.Helper()
		if c := take(); !slices.Equal(c.Rows, want) {
			t.Errorf("%s: changed are %v, want %v", what, c.Rows, want)
		}
	}
	push(1, 2, 3, 4)
	beside = func() { push(2, 5) }
	has("at first", 1, 2, 3, 4)
	push(1)
	beside = func() { push(3) }
	has("then", 1, 2, 5)
	push(4)
	beside = func() {
		x.Tick()
		x.Tick()
		_, err := x.Shrink(Shrink{Unseen: 1})
		check(t, err)
		push(4)
	}
	has("dropped meanwhile", 3, 4)
	beside = func() {}
	if c := take(); x.Remade() || !slices.Equal(c.Rows, []uint64{4}) || len(c.Dropped) != 5 {
		t.Errorf("rows were dropped behind the image, and changes are %+v", c)
	}
}

// TestChangesAlone changes all rows beside an image of changes, before they are listed and behind: those that had changed are what they
// were, no others are copied, and the next image has all.
func TestChangesAlone(t *testing.T) {
	const n = 5000
	p := &optimizer.Param{Name: "emb", Shape: []int{0, 2}, Embedding: true}
	x, err := NewSparse(p, optimizer.SGD{LR: 1}, Options{Shards: 4})
	check(t, err)
	s := new(Store)
	check(t, s.AddTable(x))
	x.Track()
	var all, some []uint64
	for id := range uint64(n) {
		if all = append(all, id*7); id%50 == 3 {
			some = append(some, id*7)
		}
	}
	push := func(ids []uint64) {
		g := make([]float32, 2*len(ids))
		for i := range g {
			g[i] = -1
		}
		_, err := x.Push(ids, g, 1)
		check(t, err)
	}
	push(all)
	first := s.TakeImage()
	if got := first.Tables[0].Changes().Rows; len(got) != n {
		t.Fatalf("%d rows were born, %d have changed", n, len(got))
	}
	first.Close()
	push(some)
	image := s.TakeChanges()
	defer image.Close()
	push(all[:n/2])
	push(append(all, 1<<40))
	changes := image.Tables[0].Changes()
	push(all)
	if !slices.Equal(changes.Rows, some) {
		t.Errorf("%d rows have changed, want %d: %v", len(changes.Rows), len(some), changes.Rows[:min(9, len(changes.Rows))])
	}
	copies := 0
	for i := range x.shards {
		copies += int(x.shards[i].image.copies.rows)
	}
	if copies != len(some) {
		t.Errorf("%d rows were copied, and %d had changed", copies, len(some))
	}
	for rows := range image.Tables[0].RowsOf(changes.Rows) {
		for i := range rows.IDs {
			if r := rows.row(&x.kind, i); r.W[0] != 2 || r.Updates != 2 {
				t.Fatalf("row %d: %v after %d updates, want 2", r.ID, r.W, r.Updates)
			}
		}
	}
	image.Close()
	next := s.TakeChanges()
	defer next.Close()
	if got := next.Tables[0].Changes().Rows; len(got) != n+1 {
		t.Errorf("%d rows have changed since, want %d", len(got), n+1)
	}
}
