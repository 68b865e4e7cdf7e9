package table

import (
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// entryTable is a table of zeros under SGD with a rate of 1, so that a row shows the gradients it took.
func entryTable(t testing.TB, height int, e optimizer.Entry) *Sparse {
	t.Helper()
	p := &optimizer.Param{Name: "e", Shape: []int{height, 1}, Embedding: true, Init: optimizer.Constant{Value: 100}, Entry: e}
	return newSparse(t, p, optimizer.SGD{LR: 1})
}

func peek(t testing.TB, table *Sparse, id uint64) float32 {
	t.Helper()
	w := []float32{-1}
	check(t, table.Peek([]uint64{id}, w, 0))
	return w[0]
}

// The third push is the first that counts; reads count for nothing.
func TestCountFilter(t *testing.T) {
	for height, missing := range map[int]float32{0: 0, 10: 100} {
		table := entryTable(t, height, optimizer.Entry{CountFilter: 3})
		for step, want := range []struct {
			after float32
			res   Result
		}{
			{missing, Result{Waiting: 1}},
			{missing, Result{Waiting: 1}},
			{99, Result{Applied: 1, Born: 1}},
			{98, Result{Applied: 1}},
		} {
			w := []float32{-1}
			for range 5 {
				check(t, table.Pull([]uint64{7}, w, 0))
			}
			if before := peek(t, table, 7); w[0] != before {
				t.Errorf("height %d, push %d: a training read gives %v, an evaluation %v", height, step+1, w[0], before)
			}
			res, err := table.Push([]uint64{7}, []float32{1}, int64(step)+1)
			check(t, err)
			if got := peek(t, table, 7); got != want.after || res != want.res {
				t.Errorf("height %d, push %d: the row reads %v after %+v, want %v after %+v", height, step+1, got, res, want.after, want.res)
			}
		}
		if st := table.Stats(); st.Rows != 1 || st.Waiting != 0 || st.KeptOut != 2 {
			t.Errorf("%+v", st)
		}
	}
}

func TestCountFilterOfOneLetsAllIn(t *testing.T) {
	table := entryTable(t, 0, optimizer.Entry{CountFilter: 1})
	check(t, table.Pull([]uint64{7}, make([]float32, 1), 0))
	if got := peek(t, table, 7); got != 100 {
		t.Errorf("the row reads %v, want its initial value", got)
	}
}

// The lot that decides is the param's: two tables of any shards agree, on the row's birth by a read and by a push.
func TestProbability(t *testing.T) {
	a, b := entryTable(t, 0, optimizer.Entry{Probability: 0.3}), entryTable(t, 0, optimizer.Entry{Probability: 0.3})
	const n = 2000
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(i) * 1_000_003
	}
	check(t, a.Pull(ids, make([]float32, n), 0))
	res, err := b.Push(ids, make([]float32, n), 1)
	check(t, err)
	if rows := a.Len(); rows != b.Len() || res.Applied != rows || res.Waiting != n-rows || math.Abs(float64(rows)-0.3*n) > 100 {
		t.Fatalf("%d ids were let in by a read, %d by a push (%+v)", rows, b.Len(), res)
	}
	for _, id := range ids {
		_, inA := (&machine{table: a}).rowOf(id)
		if want := a.param.Drawn(id); inA != want {
			t.Fatalf("row %d is there: %t, want %t", id, inA, want)
		}
	}
	if w := b.Stats().Waiting; w != 0 {
		t.Errorf("%d ids wait for a lot that never changes", w)
	}
}

func TestShowClick(t *testing.T) {
	table := entryTable(t, 0, optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 1.5}})
	push := func(show, click float32) Result {
		res, err := table.PushClicks([]uint64{7}, []float32{1}, Clicks{Show: []float32{show}, Click: []float32{click}}, 1)
		check(t, err)
		return res
	}
	for i, want := range []Result{{Waiting: 1}, {Waiting: 1}, {Applied: 1, Born: 1}, {Applied: 1}} {
		if got := push([]float32{4, 1, 3, 2}[i], []float32{0, 0, 1, 2}[i]); got != want {
			t.Fatalf("push %d: %+v, want %+v", i+1, got, want) // scores 0.4, 0.5, 1.7
		}
	}
	row := rowsOf(table, 0)[0]
	if row.Show != 10 || row.Click != 3 || row.Updates != 2 || row.W[0] != 98 {
		t.Errorf("%+v, want 10 shows, 3 clicks, 2 updates of 100", row)
	}
	if res, err := table.Push([]uint64{7}, []float32{0}, 2); err != nil || res.Applied != 1 || rowsOf(table, 0)[0].Show != 11 {
		t.Errorf("a push without counts is one show: %+v, %v, %+v", res, err, rowsOf(table, 0))
	}
}

// TestShowScale: the rule of a table that counts is told each push's shows, other tables' that nobody does.
func TestShowScale(t *testing.T) {
	rule := optimizer.ShowScale{Rule: optimizer.SGD{LR: 1}, Batch: 8}
	for _, c := range []struct {
		entry optimizer.Entry
		want  [2]float32 // of rows shown twice and four times
	}{
		{optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 0.01}}, [2]float32{-4, -2}},
		{optimizer.Entry{}, [2]float32{-1, -1}},
	} {
		table := newSparse(t, &optimizer.Param{Name: "e", Shape: []int{0, 1}, Embedding: true, Entry: c.entry}, rule)
		_, err := table.PushClicks([]uint64{3, 9}, []float32{1, 1}, Clicks{Show: []float32{2, 4}}, 1)
		check(t, err)
		if got := [2]float32{peek(t, table, 3), peek(t, table, 9)}; got != c.want {
			t.Errorf("%+v: rows are %v, want %v", c.entry, got, c.want)
		}
		_, err = table.PushClicks([]uint64{3}, []float32{1}, Clicks{}, 2) // says nothing: one show
		check(t, err)
		if got := peek(t, table, 3) - c.want[0]; got != -8 && c.entry.Counts() {
			t.Errorf("a push without shows moves the row by %v, want -8", got)
		}
	}
}

func TestExplicitRowsAskNoEntry(t *testing.T) {
	table := entryTable(t, 0, optimizer.Entry{CountFilter: 100})
	_, err := table.Push([]uint64{1, 2, 3}, make([]float32, 3), 1)
	check(t, err)
	check(t, table.Set([]uint64{1}, []float32{5}, 0))
	check(t, Filler{Table: table}.Row(Row{ID: 2, W: []float32{6}}))
	if a, b := peek(t, table, 1), peek(t, table, 2); a != 5 || b != 6 {
		t.Errorf("rows read %v and %v, want 5 and 6", a, b)
	}
	if st := table.Stats(); st.Rows != 2 || st.Waiting != 1 {
		t.Errorf("%+v, want the third id to wait", st)
	}
}

func TestPushRefusesClicks(t *testing.T) {
	table := entryTable(t, 0, optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 1}})
	nan := float32(math.NaN())
	for says, n := range map[string]Clicks{
		"2 show counts for 1 ids":  {Show: []float32{1, 2}},
		"0 click counts for 1 ids": {Click: []float32{}},
		"a show count is NaN":      {Show: []float32{nan}},
		"a click count is -1":      {Click: []float32{-1}},
	} {
		if _, err := table.PushClicks([]uint64{1}, []float32{1}, n, 1); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
	if st := table.Stats(); st.Rows+st.Waiting != 0 {
		t.Errorf("refused pushes left %+v", st)
	}
}

func TestRestoreRefusesClicks(t *testing.T) {
	table := entryTable(t, 10, optimizer.Entry{CountFilter: 2})
	inf := float32(math.Inf(1))
	for says, err := range map[string]error{
		"its step is -1":                          Filler{Table: table}.Row(Row{ID: 1, W: []float32{1}, Step: -1}),
		"+Inf shows and 0 clicks":                 Filler{Table: table}.Row(Row{ID: 1, W: []float32{1}, Show: inf}),
		"the click count of waiting id 1 is +Inf": Filler{Table: table}.Waiter(Waiter{ID: 1, Click: inf}),
		"waiting id 10, the height is 10":         Filler{Table: table}.Waiter(Waiter{ID: 10}),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
	if st := table.Stats(); st.Rows+st.Waiting != 0 {
		t.Errorf("refused calls left %+v", st)
	}
}

// Whoever pushes, an id is let in by exactly its n-th push and takes every later gradient.
func TestCountFilterRace(t *testing.T) {
	const workers, each, n, filter = 8, 20, 300, 50
	table := entryTable(t, 0, optimizer.Entry{CountFilter: filter})
	ids, g := make([]uint64, n), make([]float32, n)
	for i := range ids {
		ids[i], g[i] = uint64(i), -1
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				if _, err := table.Push(ids, g, 1); err != nil {
					t.Error(err)
				}
				if err := table.Pull(ids, make([]float32, n), 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for r := range table.Rows(0) {
		if want := float32(100 + workers*each - filter + 1); r.W[0] != want {
			t.Fatalf("row %d is %v, want %v", r.ID, r.W[0], want)
		}
	}
	if st := table.Stats(); st.Rows != n || st.Waiting != 0 || st.KeptOut != n*(filter-1) {
		t.Errorf("%+v", st)
	}
}

// A gradient that is dropped takes nothing from the ids after it.
func TestGradientsOfKeptOutIDsAreDroppedWhole(t *testing.T) {
	p := &optimizer.Param{Name: "e", Shape: []int{0, 2}, Embedding: true, Entry: optimizer.Entry{CountFilter: 2}}
	table := newSparse(t, p, optimizer.SGD{LR: 1})
	check(t, table.Set([]uint64{5, 9}, []float32{50, 50, 90, 90}, 0))
	ids := []uint64{9, 3, 5, 4, 3} // there, kept out, there, kept out, let in
	res, err := table.Push(ids, []float32{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, 1)
	check(t, err)
	if res != (Result{Applied: 3, Born: 1, Waiting: 2}) {
		t.Errorf("%+v", res)
	}
	w := make([]float32, 8)
	check(t, table.Peek([]uint64{3, 4, 5, 9}, w, 1))
	same(t, "rows", []float32{-5, -5, 0, 0, 47, 47, 89, 89}, w)
}
