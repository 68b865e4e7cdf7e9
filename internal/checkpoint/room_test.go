package checkpoint

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// TestSavesTakeLittleRoom saves tables of 262,144 rows, of every way to keep what is known of a row: all that is allocated
// meanwhile, beside buffers, is less than 12 parts in 100 of the table's own memory, so that a process that was sized for its
// table lives through its checkpoints. Ids that wait for a row are a part of it.
//
// Promise: [G6] a checkpoint of a table is written in 15 parts in 100 of the memory that the table takes, ids that
// wait aside
// Also: TestLaterIsPut (internal/safetensors)
func TestSavesTakeLittleRoom(t *testing.T) {
	law.Long(t)
	const dim, most, buffers = 9, 1 << 18, 5 << 18 // of a save, whatever a table's size
	rated := optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 0.1}}
	type saved struct {
		rule  optimizer.Rule
		entry optimizer.Entry
		wait  int // of so many pushes one is of an id that waits
		how   []string
		part  float64
	}
	for name, c := range law.SomeOf(t, map[string]saved{
		"SGD":                 {rule: optimizer.SGD{LR: 1}, how: []string{"image", "tracked, whole", "tracked, based"}, part: 0.12},
		"rated":               {rule: optimizer.SparseAdagrad{}, entry: rated, how: []string{"image"}, part: 0.12},
		"rated, Adam":         {rule: optimizer.Adam{}, entry: rated, how: []string{"tracked, whole"}, part: 0.12},
		"counted, half waits": {optimizer.SGD{}, optimizer.Entry{CountFilter: 2}, 2, []string{"image", "tracked, whole"}, 0.2}, // of ids at 24 bytes
	}) {
		t.Run(name, func(t *testing.T) {
			for _, how := range law.Some(t, c.how) {
				before := live()
				s, emb := new(table.Store), &optimizer.Param{Name: "emb", Shape: []int{0, dim}, Embedding: true, Entry: c.entry}
				sparse, err := table.NewSparse(emb, c.rule, table.Options{})
				check(t, err)
				check(t, s.AddTable(sparse))
				tracker := NewTracker(s, how != "image")
				fillMany(t, s, sparse, most*uint64(max(1, c.wait)), c.wait)
				size := live() - before
				var image Image
				dir, base := t.TempDir(), ""
				if how == "tracked, based" {
					image, err = tracker.Image("a", base)
					check(t, err)
					_, err = WriteImage(t.Context(), dir, PartName("a", 0, 1), image)
					check(t, err)
					image.Close()
					fillMany(t, s, sparse, most, c.wait)
					base = "a"
				}
				runtime.GC()
				percent := debug.SetGCPercent(-1)
				defer debug.SetGCPercent(percent)
				took := allocated(func() {
					if how == "image" {
						image = ImageOf(s)
					} else {
						image, err = tracker.Image("b", base)
						check(t, err)
					}
					_, err = WriteImage(t.Context(), dir, PartName("b", 0, 1), image)
					check(t, err)
				})
				image.Close()
				debug.SetGCPercent(percent)
				part := max(0, float64(took)-buffers) / float64(size)
				t.Logf("%s: a table of %d MB, %.3f of it to save it, beside buffers", how, size>>20, part)
				if part > c.part {
					t.Errorf("%s: %.3f of a table is allocated to save it, want %v at most", how, part, c.part)
				}
				runtime.KeepAlive(s)
			}
		})
	}
}

// fillMany pushes some thousand rows at a time.
func fillMany(t *testing.T, s *table.Store, to *table.Sparse, most uint64, wait int) {
	ids, g := make([]uint64, 1<<13), make([]float32, 9<<13)
	for first := uint64(0); first < most; first += uint64(len(ids)) {
		for i := range ids {
			ids[i] = (first + uint64(i)) * 0x9e3779b97f4a7c15
		}
		for again := range 2 {
			some := ids
			if again == 1 && wait > 0 {
				some = ids[:len(ids)/wait]
			}
			step := s.Advance()
			_, err := to.Push(some, g[:9*len(some)], step)
			check(t, err)
			s.Finish(step)
		}
	}
}

// live are the bytes of what is reachable.
func live() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// allocated are the bytes that do allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
