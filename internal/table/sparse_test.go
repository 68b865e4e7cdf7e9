package table

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/optimizer"
)

func embedding(height, dim int) *optimizer.Param {
	return &optimizer.Param{Name: "emb", Shape: []int{height, dim}, Embedding: true, Seed: 7, Init: optimizer.Uniform{Low: -1, High: 1}}
}

func newSparse(t testing.TB, p *optimizer.Param, rule optimizer.Rule) *Sparse {
	t.Helper()
	table, err := NewSparse(p, rule, Options{Shards: 4})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func rowsOf(t *Sparse, step int64) []Row {
	var out []Row
	for r := range t.Rows(step) {
		r.W, r.State = slices.Clone(r.W), slices.Clone(r.State)
		out = append(out, r)
	}
	return out
}

var testRules = []optimizer.Rule{
	optimizer.SGD{LR: 0.1}, optimizer.Adagrad{LR: 0.1, InitialAccumulator: 0.1}, optimizer.Adam{LR: 0.1},
	optimizer.Adam{LR: 0.1, Dense: true},
}

// noSlots hides what is nil or empty.
var noSlots = cmp.Transformer("slots", func(r Row) string { return fmt.Sprintf("%+v", r) })

type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func check(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t fataler, what string, want, got []float32) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// Many ids, so that chunks and indexes grow several times.
func TestSparseGrows(t *testing.T) {
	table := newSparse(t, embedding(0, 2), optimizer.SGD{LR: 1})
	const n = 40_000
	ids, ones := make([]uint64, n), make([]float32, 2*n)
	for i := range ids {
		ids[i] = uint64(i) << 40
	}
	for i := range ones {
		ones[i] = 1
	}
	for step := int64(1); step <= 3; step++ {
		res, err := table.Push(ids, ones, step)
		check(t, err)
		if want := map[bool]int{true: n}[step == 1]; res.Applied != n || res.Born != want {
			t.Fatalf("step %d: %+v, want %d applied, %d born", step, res, n, want)
		}
	}
	w := make([]float32, 2*n)
	check(t, table.Pull(ids, w, 3))
	want := make([]float32, 2)
	for i, id := range ids {
		table.param.InitRow(want, id)
		same(t, "row", []float32{want[0] - 1 - 1 - 1, want[1] - 1 - 1 - 1}, w[2*i:][:2])
	}
	if table.Len() != n {
		t.Fatalf("%d rows, want %d", table.Len(), n)
	}
}

// Many goroutines meet ids that nobody has seen: each row is born once and no update is lost.
func TestFirstTouchRace(t *testing.T) {
	table := newSparse(t, &optimizer.Param{Name: "e", Shape: []int{0, 3}, Embedding: true}, optimizer.SGD{LR: 1})
	const workers, n = 8, 500
	ids, g := make([]uint64, n), make([]float32, 3*n)
	for i := range ids {
		ids[i] = uint64(i)
	}
	for i := range g {
		g[i] = -1
	}
	var wg sync.WaitGroup
	born := make([]int, workers)
	for worker := range workers {
		wg.Go(func() {
			w := make([]float32, len(g))
			if worker%2 == 0 {
				if err := table.Pull(ids, w, 0); err != nil {
					t.Error(err)
				}
			}
			res, err := table.Push(ids, g, 1)
			if err != nil {
				t.Error(err)
			}
			born[worker] = res.Born
			for r := range table.Rows(0) {
				if r.W[0] != r.W[1] || r.W[1] != r.W[2] {
					t.Errorf("row %d was read in the middle of an update: %v", r.ID, r.W)
				}
			}
		})
	}
	wg.Wait()
	if table.Len() != n {
		t.Fatalf("%d rows, want %d", table.Len(), n)
	}
	for r := range table.Rows(0) {
		if r.W[0] != workers || r.Updates != workers {
			t.Fatalf("row %d is %v after %d updates, want %d", r.ID, r.W, r.Updates, workers)
		}
	}
}

func TestSmallestAndLargestIDs(t *testing.T) {
	table := newSparse(t, embedding(0, 2), optimizer.SGD{LR: 1})
	ids := []uint64{0, 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64 - 1, math.MaxUint64}
	w := make([]float32, 2*len(ids))
	check(t, table.Pull(ids, w, 0))
	if table.Len() != len(ids) {
		t.Fatalf("%d rows, want %d", table.Len(), len(ids))
	}
	if got := table.IDs(); !slices.Equal(got, ids) {
		t.Fatalf("ids %v, want %v", got, ids)
	}
	for i, id := range ids {
		want := make([]float32, 2)
		table.param.InitRow(want, id)
		same(t, fmt.Sprint("row ", id), want, w[2*i:][:2])
	}
}

// A gradient belongs to its own id whatever becomes of the ids before it.
func TestGradientsStayWithTheirIDs(t *testing.T) {
	table := newSparse(t, &optimizer.Param{Name: "e", Shape: []int{0, 2}, Embedding: true}, optimizer.SGD{LR: 1})
	check(t, table.Set([]uint64{5, 9}, []float32{50, 50, 90, 90}, 0))
	ids := []uint64{9, 3, 5, 3, 7} // old, new, old, twice, new
	_, err := table.Push(ids, []float32{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, 1)
	check(t, err)
	w := make([]float32, 8)
	check(t, table.Peek([]uint64{3, 5, 7, 9}, w, 1))
	same(t, "rows", []float32{-6, -6, 47, 47, -5, -5, 89, 89}, w)
}

// Two tables meet the same ids in other orders: a row's first values depend on its id alone.
//
// Promise: [G2] a row has the same initial values wherever and whenever it is created
func TestRebirthIsEqual(t *testing.T) {
	a := newSparse(t, embedding(0, 4), optimizer.SGD{})
	b, err := NewSparse(embedding(0, 4), optimizer.SGD{}, Options{Shards: 1})
	check(t, err)
	ids := []uint64{11, 22, 33, 44}
	check(t, a.Pull(ids, make([]float32, 16), 0))
	for _, id := range []uint64{44, 11, 33, 22} {
		check(t, b.Pull([]uint64{id}, make([]float32, 4), 0))
	}
	if d := cmp.Diff(rowsOf(a, 0), rowsOf(b, 0), noSlots); d != "" {
		t.Fatal(d)
	}
}

func TestPeekInsertsNothing(t *testing.T) {
	for _, height := range []int{0, 100} {
		table := newSparse(t, embedding(height, 3), optimizer.SGD{})
		w, want := []float32{9, 9, 9}, make([]float32, 3)
		if height > 0 {
			table.param.InitRow(want, 42)
		}
		check(t, table.Peek([]uint64{42}, w, 0))
		same(t, "missing row", want, w)
		if table.Len() != 0 {
			t.Fatalf("height %d: a peek left %d rows behind", height, table.Len())
		}
	}
}

// Promise: [G8] a table refuses wrong input
// Also: TestDenseRefuses
func TestSparseRefuses(t *testing.T) {
	table := newSparse(t, embedding(10, 2), optimizer.Adam{})
	frozen := newSparse(t, embedding(10, 2), nil)
	tests := []struct {
		name string
		err  error
		is   error
		says string
	}{
		{"short pull", table.Pull([]uint64{1, 2}, make([]float32, 3), 0), ErrShape, `pull of "emb": 2 ids need 2×2 floats, have 3`},
		{"long set", table.Set([]uint64{1}, make([]float32, 3), 0), ErrShape, "set"},
		{"id at the height", table.Peek([]uint64{1, 10}, make([]float32, 4), 0), ErrID, `peek of "emb": id 10, the height is 10`},
		{"restored weights", Filler{Table: table}.Row(Row{ID: 1, W: make([]float32, 3)}), ErrShape, "restore of row 1"},
		{"restored state", Filler{Table: table}.Row(Row{ID: 1, W: make([]float32, 2), State: make([]float32, 2)}), ErrShape, "need 2 and 4"},
		{"restored id", Filler{Table: table}.Row(Row{ID: 10, W: make([]float32, 2)}), ErrID, "id 10"},
		{"frozen", second(frozen.Push([]uint64{1}, make([]float32, 2), 1)), nil, "no rule"},
		{"push beside a good id", second(table.Push([]uint64{1, 99}, make([]float32, 4), 1)), ErrID, "push"},
	}
	for _, tt := range tests {
		if tt.err == nil || tt.is != nil && !errors.Is(tt.err, tt.is) || !strings.Contains(tt.err.Error(), tt.says) {
			t.Errorf("%s: error %v, want one that says %q", tt.name, tt.err, tt.says)
		}
	}
	if n := table.Len() + frozen.Len(); n != 0 {
		t.Errorf("refused calls left %d rows", n)
	}
}

func second[A any](_ A, err error) error { return err }

func TestNewSparseRefuses(t *testing.T) {
	dense := &optimizer.Param{Name: "w", Shape: []int{2}, W: make([]float32, 2), G: make([]float32, 2)}
	if _, err := NewSparse(dense, nil, Options{}); err == nil {
		t.Error("a dense param made a sparse table")
	}
	if _, err := NewSparse(embedding(0, 0), nil, Options{}); err == nil {
		t.Error("an embedding of width 0 made a table")
	}
	if _, err := NewSparse(embedding(0, 1), nil, Options{Shards: -1}); err == nil {
		t.Error("-1 shards made a table")
	}
}

// Promise: [G6] tables that were restored go on as if nothing had happened
// Also: TestDenseRestoreGoesOn
func TestRestoreIsRows(t *testing.T) {
	for _, rule := range testRules {
		a, b := newSparse(t, embedding(0, 3), rule), newSparse(t, embedding(0, 3), rule)
		a.Tick()
		for step := int64(1); step < 5; step++ {
			_, err := a.Push([]uint64{1, uint64(step) * 7, math.MaxUint64}, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, step)
			check(t, err)
		}
		for r := range a.Rows(5) {
			check(t, Filler{Table: b}.Row(r))
		}
		if d := cmp.Diff(rowsOf(a, 5), rowsOf(b, 5), noSlots); d != "" {
			t.Fatalf("%+v: %s", rule, d)
		}
	}
}

func TestRestoreWithoutState(t *testing.T) {
	table := newSparse(t, embedding(0, 2), optimizer.Adagrad{InitialAccumulator: 0.5})
	_, err := table.Push([]uint64{3}, []float32{1, 1}, 1)
	check(t, err)
	check(t, Filler{Table: table}.Row(Row{ID: 3, W: []float32{8, 9}}))
	got := rowsOf(table, 0)[0]
	same(t, "weights", []float32{8, 9}, got.W)
	same(t, "state", []float32{0.5, 0.5}, got.State)
}

// Rows may be stopped half-way and used while the table changes.
func TestRowsStops(t *testing.T) {
	table := newSparse(t, embedding(0, 1), optimizer.SGD{LR: 1})
	ids := make([]uint64, 3000)
	for i := range ids {
		ids[i] = uint64(i)
	}
	check(t, table.Pull(ids, make([]float32, 3000), 0))
	seen := uint64(0)
	for r := range table.Rows(0) {
		if r.ID != seen {
			t.Fatalf("row %d came at place %d", r.ID, seen)
		}
		if seen++; seen == 2000 {
			break
		}
		_, err := table.Push([]uint64{r.ID, r.ID + 1_000_000}, []float32{1, 1}, 1) // holds no lock while it yields
		check(t, err)
	}
	if table.Len() != 3000+1999 {
		t.Fatalf("%d rows", table.Len())
	}
}

// A row that rests is not replayed step by step: this test would not end otherwise.
func TestSweeperRests(t *testing.T) {
	table := newSparse(t, embedding(0, 2), optimizer.Adam{Dense: true})
	w := make([]float32, 2)
	check(t, table.Pull([]uint64{1}, w, 1<<50))
	if got := rowsOf(table, 1<<50)[0].Step; got != 1<<50 {
		t.Fatalf("the row is at step %d", got)
	}
}

func TestSteadyCallsAllocateNothing(t *testing.T) {
	table := newSparse(t, embedding(0, 8), optimizer.Adam{})
	ids, w := make([]uint64, 2000), make([]float32, 16000)
	for i := range ids {
		ids[i] = uint64(i * 3)
	}
	check(t, table.Pull(ids, w, 0))
	calls := map[string]func(){
		"pull": func() { table.Pull(ids, w, 1) },
		"peek": func() { table.Peek(ids, w, 1) },
		"push": func() { table.Push(ids, w, 1) },
		"set":  func() { table.Set(ids, w, 1) },
	}
	for name, call := range calls {
		if n := testing.AllocsPerRun(20, call); n > 0.5 && !raceEnabled {
			t.Errorf("a steady %s allocates %v times", name, n)
		}
	}
}

func TestBytesPerRow(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a million rows")
	}
	table := fullTable(t, optimizer.Adagrad{}, benchRows)
	st := table.Stats()
	per, limit := float64(st.Bytes)/float64(st.Rows), 1.15*(4*benchDim*2+24)
	t.Logf("%.1f bytes a row, limit %.1f: %+v", per, limit, st)
	if per > limit {
		t.Errorf("%.1f bytes a row at %d rows, more than %.1f", per, st.Rows, limit)
	}
}
