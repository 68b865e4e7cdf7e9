package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// Rows last touched at ticks 0 to 4, looked at in tick 4.
func TestShrinkByAge(t *testing.T) {
	tests := []struct {
		unseen uint32
		left   []uint64
	}{
		{0, []uint64{0, 1, 2, 3, 4}},
		{1, []uint64{4}},
		{3, []uint64{2, 3, 4}},
		{4, []uint64{1, 2, 3, 4}},
		{5, []uint64{0, 1, 2, 3, 4}},
	}
	for _, tt := range tests {
		table := newSparse(t, embedding(0, 2), optimizer.SGD{LR: 1})
		for id := range uint64(5) {
			if id > 0 {
				table.Tick()
			}
			if id%2 == 0 { // both kinds of touch count
				check(t, table.Pull([]uint64{id}, make([]float32, 2), 0))
			} else {
				_, err := table.Push([]uint64{id}, make([]float32, 2), 1)
				check(t, err)
			}
		}
		check(t, table.Peek([]uint64{0}, make([]float32, 2), 0)) // an evaluation doesn't
		done, err := table.Shrink(Shrink{Unseen: tt.unseen})
		check(t, err)
		if got := table.IDs(); !slices.Equal(got, tt.left) || done.Rows != 5-len(tt.left) {
			t.Errorf("unseen %d: %+v, rows %v are left, want %v", tt.unseen, done, got, tt.left)
		}
		if st := table.Stats(); st.Free != done.Rows || st.Dropped != uint64(done.Rows) || st.Rows != len(tt.left) {
			t.Errorf("unseen %d: %+v after %+v", tt.unseen, st, done)
		}
	}
}

// Scores of 0.1·show + 0.9·click decay once before they are compared.
func TestShrinkByScore(t *testing.T) {
	table := entryTable(t, 0, optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 0.1}})
	_, err := table.PushClicks([]uint64{1, 2, 3}, make([]float32, 3), Clicks{Show: []float32{10, 9, 4}, Click: []float32{0, 0, 1}}, 1)
	check(t, err)
	done, err := table.Shrink(Shrink{Decay: 0.5, MinScore: 0.5})
	check(t, err)
	if got := table.IDs(); done.Rows != 1 || !slices.Equal(got, []uint64{1, 3}) {
		t.Fatalf("%+v, rows %v are left, want 1 and 3", done, got)
	}
	if r := rowsOf(table, 0)[1]; r.Show != 2 || r.Click != 0.5 {
		t.Errorf("row 3 has %v shows and %v clicks, want half of 4 and 1", r.Show, r.Click)
	}
}

func TestShrinkForgetsWhoWaits(t *testing.T) {
	table := entryTable(t, 0, optimizer.Entry{CountFilter: 3})
	push := func(ids ...uint64) Result {
		res, err := table.Push(ids, make([]float32, len(ids)), 1)
		check(t, err)
		return res
	}
	push(1, 2)
	push(1, 2)
	table.Tick()
	push(3)
	done, err := table.Shrink(Shrink{Unseen: 1})
	check(t, err)
	if done != (Shrunk{Waiting: 2}) {
		t.Errorf("%+v, want two ids forgotten", done)
	}
	if res := push(1, 3); res.Waiting != 2 {
		t.Errorf("%+v: a forgotten id begins anew", res)
	}
}

// A dropped row's memory is the next row's, which knows nothing of it.
func TestDroppedRowsAreUsedAgain(t *testing.T) {
	table := newSparse(t, embedding(0, 3), optimizer.Adagrad{LR: 1, InitialAccumulator: 0.5})
	const n = 5000
	push := func(first uint64, step int64) {
		ids, g := make([]uint64, n), make([]float32, 3*n)
		for i := range ids {
			ids[i] = first + uint64(i)
		}
		for i := range g {
			g[i] = 1
		}
		_, err := table.Push(ids, g, step)
		check(t, err)
	}
	push(0, 1)
	full := table.Stats().Bytes
	for round := uint64(1); round <= 10; round++ {
		table.Tick()
		done, err := table.Shrink(Shrink{Unseen: 1})
		check(t, err)
		if done.Rows != n || table.Len() != 0 || len(rowsOf(table, 0)) != 0 {
			t.Fatalf("round %d: %+v, %d rows left", round, done, table.Len())
		}
		push(round*n, 1)
	}
	if got := table.Stats().Bytes; float64(got) > 1.05*float64(full) { // shards are not equally full each time
		t.Errorf("%d bytes after ten generations, %d after the first", got, full)
	}
	fresh := newSparse(t, embedding(0, 3), table.rule)
	table, fresh = fresh, table
	push(10*n, 1)
	table.clock.atLeast(fresh.Clock())
	for i, want := range rowsOf(table, 0) {
		want.Seen = fresh.Clock()
		if got := rowsOf(fresh, 0)[i]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v, in a new table %+v", got, want)
		}
		if i == 20 {
			break
		}
	}
}

func TestShrinkRefuses(t *testing.T) {
	var store Store
	plain := newSparse(t, embedding(0, 1), optimizer.SGD{})
	check(t, store.AddTable(plain))
	_, noScore := plain.Shrink(Shrink{MinScore: 1})
	_, noDecay := plain.Shrink(Shrink{Decay: 0.5})
	_, noTable := store.Shrink(Shrink{MinScore: 1})
	for _, err := range []error{noScore, noDecay, noTable} {
		if !errors.Is(err, ErrNoScore) {
			t.Errorf("error %v, want %v", err, ErrNoScore)
		}
	}
	for says, o := range map[string]Shrink{"Decay is 1.5": {Decay: 1.5}, "Decay is -1": {Decay: -1}, "MinScore is -2": {MinScore: -2}} {
		if _, err := plain.Shrink(o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
}

func TestStoreShrinks(t *testing.T) {
	var store Store
	plain := newSparse(t, embedding(0, 1), optimizer.SGD{})
	rated := entryTable(t, 0, optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 0.1}})
	check(t, errors.Join(store.AddTable(plain), store.AddTable(rated)))
	for _, table := range store.Tables {
		_, err := table.Push([]uint64{1, 2}, make([]float32, 2), 1)
		check(t, err)
	}
	done, err := store.Shrink(Shrink{MinScore: 5})
	check(t, err)
	if !slices.Equal(done, []Shrunk{{}, {Rows: 2}}) || plain.Len() != 2 || rated.Len() != 0 {
		t.Errorf("%+v: %d and %d rows left, want 2 and 0", done, plain.Len(), rated.Len())
	}
	if done, err := store.EndPeriod(Shrink{Unseen: 1}); err != nil || done[0].Rows != 0 {
		t.Errorf("%+v, %v: rows of the first day went at its end", done, err)
	}
	if done, err := store.EndPeriod(Shrink{Unseen: 1}); err != nil || done[0].Rows != 2 || plain.Len() != 0 {
		t.Errorf("%+v, %v: %d rows left", done, err, plain.Len())
	}
}

// Rows that vanish between the list of ids and their reading are yielded as they would be born.
func TestRowsOfDropped(t *testing.T) {
	table := newSparse(t, embedding(0, 2), optimizer.Adagrad{InitialAccumulator: 0.25})
	_, err := table.Push([]uint64{1, 2}, []float32{1, 1, 1, 1}, 1)
	check(t, err)
	table.Tick()
	check(t, table.Pull([]uint64{2}, make([]float32, 2), 1))
	ids := table.IDs()
	_, err = table.Shrink(Shrink{Unseen: 1})
	check(t, err)
	want := make([]float32, 2)
	table.param.InitRow(want, 1)
	n := 0
	for r := range table.RowsOf(ids, 1) {
		if n++; r.ID == 1 {
			same(t, "weights", want, r.W)
			same(t, "state", []float32{0.25, 0.25}, r.State)
		}
	}
	if n != 2 {
		t.Errorf("%d rows of 2", n)
	}
}

// Everything at once, for the race detector and for rows that are written by two.
func TestShrinkWhileTraining(t *testing.T) {
	table := newSparse(t, &optimizer.Param{Name: "e", Shape: []int{0, 3}, Embedding: true}, optimizer.SGD{LR: 1})
	var wg sync.WaitGroup
	for worker := range uint64(4) {
		wg.Go(func() {
			ids, g := make([]uint64, 300), make([]float32, 900)
			for round := range uint64(30) {
				for i := range ids {
					ids[i] = (worker*37 + round*111 + uint64(i)) % 1500
				}
				for i := range g {
					g[i] = -1
				}
				if _, err := table.Push(ids, g, 1); err != nil {
					t.Error(err)
				}
				table.Tick()
				if worker == 0 {
					if _, err := table.Shrink(Shrink{Unseen: 8}); err != nil {
						t.Error(err)
					}
				}
				for r := range table.Rows(0) {
					if r.W[0] != r.W[1] || r.W[1] != r.W[2] {
						t.Errorf("row %d was read in the middle of something: %v", r.ID, r.W)
					}
				}
			}
		})
	}
	wg.Wait()
	st := table.Stats()
	if ids := table.IDs(); len(ids) != st.Rows || len(slices.Compact(ids)) != st.Rows {
		t.Errorf("%d ids, some twice? %+v", len(ids), st)
	}
}

// A worker read a row, the row was dropped, then its gradient arrives: the id begins anew, by the table's policy.
func TestGradientOfADroppedRow(t *testing.T) {
	for filter, want := range map[int]struct {
		res  Result
		read float32
	}{0: {Result{Applied: 1, Born: 1}, 99}, 2: {Result{Waiting: 1}, 0}} {
		table := entryTable(t, 0, optimizer.Entry{CountFilter: filter})
		check(t, table.Set([]uint64{7}, []float32{-3}, 0))
		w := make([]float32, 1)
		check(t, table.Pull([]uint64{7}, w, 0))
		table.Tick()
		_, err := table.Shrink(Shrink{Unseen: 1})
		check(t, err)
		res, err := table.Push([]uint64{7}, []float32{1}, 1)
		check(t, err)
		if got := peek(t, table, 7); w[0] != -3 || res != want.res || got != want.read {
			t.Errorf("count filter %d: %+v, then the row reads %v, want %+v and %v", filter, res, got, want.res, want.read)
		}
	}
}
