package overlay

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/narrow"
)

// few rows a page, so that small tables have many.
func smallPages(t *testing.T, n int) {
	was := pageRows
	pageRows = n
	t.Cleanup(func() { pageRows = was })
}

// plain is a table as a map.
type plain map[uint64][]float32

// rows gives rows of a map in an order that r draws, some at a time.
func (p plain) rows(r *rand.Rand, ascending bool) Rows {
	return func(do func([]uint64, []float32) error) error {
		ids := slices.Sorted(maps.Keys(p))
		if !ascending {
			r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		}
		for some := range slices.Chunk(ids, 1+r.IntN(7)) {
			var w []float32
			for _, id := range some {
				w = append(w, p[id]...)
			}
			if err := do(some, w); err != nil {
				return err
			}
		}
		return nil
	}
}

// alike reports whether numbers are the same, but for a unit in the last place of the scale of 8 bits.
func (s shape) alike(got, want []float32) bool {
	return slices.EqualFunc(got, want, func(a, b float32) bool {
		return a == b || s.as == narrow.Int8 && math.Abs(float64(a-b)) < 2e-7*math.Abs(float64(b))
	})
}

// compare says how a table differs from the map, by ids that either has, all rows in order, and the checksum.
func (p plain) compare(r *rand.Rand, t *Table, ids []uint64) error {
	w, all := make([]float32, t.dim), []uint64{}
	for _, id := range ids {
		if has := t.Row(w, id); has != (p[id] != nil) || has && !t.alike(w, p[id]) {
			return fmt.Errorf("row %d: %v, %t, want %v", id, w, has, p[id])
		}
	}
	err := t.EachRow(func(ids []uint64, w []float32) error {
		for i, id := range ids {
			if !t.alike(w[i*t.dim:(i+1)*t.dim], p[id]) {
				return fmt.Errorf("of all rows %d: %v, want %v", id, w[i*t.dim:(i+1)*t.dim], p[id])
			}
		}
		all = append(all, ids...)
		return nil
	})
	if want := slices.Sorted(maps.Keys(p)); err == nil && !slices.Equal(all, want) {
		err = fmt.Errorf("ids %v, want %v", all, want)
	}
	if fresh, unread := Read(t.dim, len(p), t.as, p.rows(r, true)); err == nil && (unread != nil || fresh.String() != t.String()) {
		err = fmt.Errorf("%v, read anew %v, %w", t, fresh, unread)
	}
	return err
}

// tested is a table beside the same as a map.
type tested struct {
	*Table
	same plain
}

// numbers are two that a format stores as they are.
func numbers(r *rand.Rand, as narrow.Format, n int) []float32 {
	if as == narrow.Float32 {
		return []float32{r.Float32(), float32(n)}
	}
	unit := float32(math.Ldexp(1, r.IntN(12)-9))
	return []float32{unit * float32(127-254*r.IntN(2)), unit * float32(r.IntN(255)-127)}
}

// TestTablesDrawn draws tables, in each format, deltas and folding in any order: each table has the rows of its map, and so have tables before it that somebody holds.
func TestTablesDrawn(t *testing.T) {
	for seed := range uint64(law.Share(300)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 5))
			smallPages(t, 1+r.IntN(20))
			const dim = 2
			as := []narrow.Format{narrow.Float32, narrow.Float16, narrow.Int8}[seed%3]
			ids := []uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1}
			for range r.IntN(200) {
				ids = append(ids, []uint64{r.Uint64(), r.Uint64N(300)}[r.IntN(2)])
			}
			draw := func(share float64) plain {
				p := plain{}
				for _, id := range ids {
					if r.Float64() < share {
						p[id] = numbers(r, as, len(p))
					}
				}
				return p
			}
			base := draw(r.Float64())
			first, err := Read(dim, len(base), as, base.rows(r, r.IntN(2) == 0))
			law.Check(t, err)
			all := []tested{{first, base}}
			for range 60 {
				now := all[len(all)-1]
				if len(all) > 1 && r.IntN(10) == 0 {
					now = all[r.IntN(len(all))] // somebody else's
				}
				switch r.IntN(6) {
				case 0:
					for few := r.IntN(5); r.IntN(6) > 0 && now.Fold(few); {
					}
				case 1, 2, 3:
					share := r.Float64() / []float64{3, 30}[r.IntN(2)]
					over, gone, next := draw(share), draw(share), maps.Clone(now.same)
					for id := range gone {
						delete(next, id)
					}
					maps.Copy(next, over)
					table, err := now.With(len(over), over.rows(r, r.IntN(2) == 0), slices.Sorted(maps.Keys(gone)))
					law.Check(t, err)
					all = append(all, tested{table, next})
				}
				for _, some := range []tested{now, all[r.IntN(len(all))]} {
					law.Check(t, some.same.compare(r, some.Table, ids))
				}
			}
			last := all[len(all)-1]
			for last.Fold(0) {
			}
			k := last.now.Load()
			if err := last.same.compare(r, last.Table, ids); err != nil || len(k.layers) > 0 {
				t.Errorf("folded: %d layers, %v", len(k.layers), err)
			}
			for _, p := range k.pages {
				if len(p.ids) > pageRows {
					t.Errorf("a page has %d rows", len(p.ids))
				}
			}
		})
	}
}

// TestReadersBesideAFold: who reads while deltas come and layers are folded has rows of one delta or the next.
func TestReadersBesideAFold(t *testing.T) {
	smallPages(t, 16)
	const n, deltas = 300, 40
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = kernels.Mix(uint64(i))
	}
	slices.Sort(ids)
	table, err := Read(1, n, narrow.Float32, rowsOf(ids, 1, 0))
	law.Check(t, err)
	var all sync.WaitGroup
	for d := range deltas {
		now, next := table, float32(d+1)
		for range 2 {
			all.Go(func() {
				w := []float32{-1}
				for _, id := range ids {
					if !now.Row(w, id) || w[0] != float32(d) {
						t.Errorf("delta %d: row %v", d, w)
						return
					}
				}
			})
		}
		all.Go(func() {
			for now.Fold(1) {
			}
		})
		if table, err = table.With(n, rowsOf(ids, 1, next), nil); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
}

// hashed is a table of n rows of hashed ids.
func hashed(tb testing.TB, n, dim int) (*Table, []uint64) {
	tb.Helper()
	ids, r := make([]uint64, n), rand.New(rand.NewPCG(1, 2))
	for i := range ids {
		ids[i] = r.Uint64()
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	t, err := Read(dim, len(ids), narrow.Float32, rowsOf(ids, dim, 1))
	law.Check(tb, err)
	return t, ids
}

// rowsOf gives rows of ids, all of one value.
func rowsOf(ids []uint64, dim int, value float32) Rows {
	return func(do func([]uint64, []float32) error) error {
		w := slices.Repeat([]float32{value}, rowsAtOnce*dim)
		for some := range slices.Chunk(ids, rowsAtOnce) {
			if err := do(some, w[:len(some)*dim]); err != nil {
				return err
			}
		}
		return nil
	}
}

// drawn is every 100th id, of another hundred for each seed.
func drawn(ids []uint64, seed uint64) (some []uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for range len(ids) / 100 {
		some = append(some, ids[r.IntN(len(ids))])
	}
	slices.Sort(some)
	return slices.Compact(some)
}

// TestMemoryOfADelta: a delta of a hundredth takes a thirtieth of the table's memory at most, and a piece of folding a little more than a page or
// an eighth of the table.
func TestMemoryOfADelta(t *testing.T) {
	const dim = 8
	table, ids := hashed(t, 500_000, dim)
	whole := len(ids) * (8 + 4*dim)
	for d := range uint64(Few + 1) {
		some := drawn(ids, d)
		bytes := allocated(func() {
			next, err := table.With(len(some), rowsOf(some, dim, 1), nil)
			law.Check(t, err)
			table = next
		})
		if bytes > whole*3/100 {
			t.Errorf("delta %d takes %d bytes, the table %d", d, bytes, whole)
		}
	}
	for few := Few; few >= 0; few -= Few {
		for pieces := 0; ; pieces++ {
			more := false
			bytes := allocated(func() { more = table.Fold(few) })
			if bytes > whole/share+pageRows*(8+4*dim) {
				t.Errorf("a piece takes %d bytes, the table %d", bytes, whole)
			}
			if !more {
				if pieces == 0 {
					t.Error("nothing was folded")
				}
				break
			}
		}
	}
}

// allocated is how much memory was asked for meanwhile.
func allocated(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// TestLayersAreBounded: deltas that nobody folds are folded when they are many, or large.
func TestLayersAreBounded(t *testing.T) {
	smallPages(t, 100)
	table, ids := hashed(t, 1000, 1)
	for n, some := range map[int][]uint64{100: ids[:1], 10: ids} {
		var err error
		for range n {
			if table, err = table.With(len(some), rowsOf(some, 1, 7), nil); err != nil {
				t.Fatal(err)
			}
			rows, changes := table.now.Load().count()
			if layers := len(table.now.Load().layers); layers > most || changes > rows/2 {
				t.Fatalf("%d layers of %d ids over %d rows", layers, changes, rows)
			}
		}
	}
}

// TestWhatIsRefused: rows of another width, ids that come twice, and gone ones in no order.
func TestWhatIsRefused(t *testing.T) {
	for want, rows := range map[string]Rows{
		"have 2 numbers, the graph's 3": rowsOf([]uint64{1, 2}, 2, 1),
		"id 2 comes twice":              rowsOf([]uint64{1, 2, 2}, 3, 1),
		"id 5 comes twice":              rowsOf([]uint64{5, 2, 5}, 3, 1),
	} {
		if _, err := Read(3, 3, narrow.Float32, rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	none, err := Read(3, 0, narrow.Float32, rowsOf(nil, 3, 0))
	law.Check(t, err)
	if _, err := none.With(0, rowsOf(nil, 3, 0), []uint64{2, 1}); err == nil {
		t.Error("gone ids that do not ascend")
	}
}

// TestSearch: ids are found where halving finds them, however they lie.
func TestSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		var ids []uint64
		for range n {
			ids = append(ids, []uint64{r.Uint64(), r.Uint64N(1000), r.Uint64() >> r.Uint64N(64), math.MaxUint64 - r.Uint64N(5)}[n%4])
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		for _, id := range append([]uint64{0, 1, 500, 1 << 63, math.MaxUint64}, ids...) {
			for d := range uint64(3) {
				at, found := search(ids, id+d-1)
				wantAt, want := slices.BinarySearch(ids, id+d-1)
				if found != want || found && at != wantAt {
					t.Fatalf("%d among %d: %d, %v, want %d, %v", id+d-1, ids, at, found, wantAt, want)
				}
			}
		}
	}
}
