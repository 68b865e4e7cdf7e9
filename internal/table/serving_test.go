package table

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestCountedRowsAlonePay: a delta score is 4 bytes, rounded up to 8, of rows that count shows, and nothing of others.
func TestCountedRowsAlonePay(t *testing.T) {
	for _, dim := range []int{1, 2, 8, 9} {
		if got, want := newLayout(dim, dim, false, false).stride, headerFloats+2*dim; got != want {
			t.Errorf("rows of %d take %d floats, want %d", dim, got, want)
		}
		if got, want := newLayout(dim, dim, true, false).stride, headerFloats+2*dim+4; got != want {
			t.Errorf("rows of %d that count take %d floats, want %d", dim, got, want)
		}
	}
}

// TestWhatServingHas follows rows through what is pushed, dropped, saved and restored.
//
// Promise: [G6] what serving has of a row is kept with the row, in bytes that others do not pay
// Also: TestCountedRowsAlonePay
func TestWhatServingHas(t *testing.T) {
	from := entryTable(t, 0, optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: .1}})
	all := new(Store)
	check(t, all.AddTable(from))
	push := func(table *Sparse, ids ...uint64) {
		t.Helper()
		_, err := table.Push(ids, make([]float32, len(ids)), 1)
		check(t, err)
	}
	how := Serving{Params: []string{"e"}, BaseThreshold: .2, DeltaThreshold: .2, Keep: -1}
	saved := func(s *Store, delta bool, rows, gone []uint64) {
		t.Helper()
		how.Delta = delta
		got := s.Select(how)
		if !slices.Equal(got[0].Rows, rows) || !slices.Equal(got[0].Gone, gone) {
			t.Errorf("delta %v: %v, want rows %v and %v gone", delta, got[0], rows, gone)
		}
		s.Serve(got, s.Chain().Next(delta, "x"))
	}
	push(from, 1, 2, 3, 4)
	push(from, 1, 2, 3)
	saved(all, false, []uint64{1, 2, 3}, nil)
	push(from, 1, 4)
	_, err := from.Shrink(Shrink{MinScore: .2, Decay: .9})
	check(t, err)
	if c := all.Chain(); c != (Chain{Base: "x", Last: "x", Serial: 1}) || from.Len() != 1 {
		t.Fatalf("%+v, %d rows: the test shows nothing", c, from.Len())
	}
	push(from, 2)
	push(from, 2, 5)
	copied, none := entryTable(t, 0, from.param.Entry), entryTable(t, 0, from.param.Entry)
	for r := range from.Rows(1) {
		check(t, Filler{Table: copied}.Row(r))
		r.Served, r.AsServed = false, false
		check(t, Filler{none,
			func(uint64) bool { return true }}.Rows(&Columns{IDs: []uint64{r.ID}, Floats: r.W, Stateless: true, Steps: []int64{1}, Seen: []uint32{0},
			Updates: []uint32{1}, Show: []float32{r.Show}, Click: []float32{r.Click}}))
	}
	Filler{Table: copied}.Gone([]uint64{2, 3})
	other, old := new(Store), new(Store)
	check(t, other.AddTable(copied))
	check(t, old.AddTable(none))
	saved(all, true, []uint64{2}, []uint64{3})
	saved(other, true, []uint64{2}, []uint64{3})
	saved(old, true, []uint64{1, 2}, nil)
	saved(all, true, nil, nil)
}
