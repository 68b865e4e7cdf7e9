package dataset

import (
	"errors"
	"io"
	"slices"
	"testing"
)

func TestShuffle(t *testing.T) {
	d := numbers(100).Shuffle(3)
	first := xs(t, d, 10)
	if sorted := slices.Sorted(slices.Values(first)); !slices.Equal(sorted, xs(t, numbers(100), 10)) || slices.IsSorted(first) {
		t.Errorf("no order of all rows: %v", first)
	}
	for name, c := range map[string]struct {
		d    *Dataset
		same bool
	}{
		"again":          {d, true},
		"the same epoch": {d.Epoch(0), true},
		"another size":   {numbers(100).Shuffle(3).Prefetch(2), true},
		"the next epoch": {d.Epoch(1), false},
		"another seed":   {numbers(100).Shuffle(4), false},
	} {
		if got := slices.Equal(first, xs(t, c.d, 7)); got != c.same {
			t.Errorf("%s: the same order is %v, want %v", name, got, c.same)
		}
	}
}

// Orders are frozen: a run that is resumed by a later release goes on where it was.
func TestShuffleIsFrozen(t *testing.T) {
	want := [][]int64{{2, 3, 1, 0, 6, 7, 4, 5}, {3, 1, 6, 4, 0, 2, 5, 7}}
	for epoch, want := range want {
		if got := xs(t, numbers(8).Shuffle(1).Epoch(epoch), 8); !slices.Equal(got, want) {
			t.Errorf("epoch %d: %v, want %v", epoch, got, want)
		}
	}
}

// Each row is as likely in each place, within four standard deviations.
func TestShuffleIsUniform(t *testing.T) {
	const n, epochs = 6, 6000
	var counts [n][n]int
	d := numbers(n).Shuffle(9)
	for epoch := range epochs {
		for place, row := range xs(t, d.Epoch(epoch), n) {
			counts[place][row]++
		}
	}
	for place, rows := range counts {
		for row, got := range rows {
			if got < 1000-116 || got > 1000+116 {
				t.Errorf("row %d stood %d of %d times in place %d, want about 1000", row, got, epochs, place)
			}
		}
	}
}

// Workers that shuffle alike and then shard have all rows once between them, in every epoch.
func TestWorkersShareAnEpoch(t *testing.T) {
	for epoch := range 3 {
		var all []int64
		for worker := range 4 {
			all = append(all, xs(t, numbers(101).Shuffle(5).Epoch(epoch).Shard(worker, 4), 8)...)
		}
		if slices.Sort(all); !slices.Equal(all, xs(t, numbers(101), 101)) {
			t.Errorf("epoch %d: %v", epoch, all)
		}
	}
}

func TestShuffleWindow(t *testing.T) {
	d := streamed(numbers(25)).ShuffleWindow(10, 1)
	got := xs(t, d, 4)
	for lo := 0; lo < 25; lo += 10 {
		window := slices.Clone(got[lo:min(lo+10, 25)])
		if slices.IsSorted(window) {
			t.Errorf("rows from %d on are in order: %v", lo, window)
		}
		slices.Sort(window)
		if window[0] != int64(lo) || window[len(window)-1] != int64(min(lo+9, 24)) {
			t.Errorf("rows from %d on: %v", lo, window)
		}
	}
	if slices.Equal(got[:5], slicesMinus(got[10:15], 10)) {
		t.Error("two windows have the same order")
	}
	if !slices.Equal(got, xs(t, d, 25)) || slices.Equal(got, xs(t, d.Epoch(1), 25)) {
		t.Error("the order must depend on the epoch, and not on the size of batches")
	}
}

func slicesMinus(s []int64, x int64) []int64 {
	out := slices.Clone(s)
	for i := range out {
		out[i] -= x
	}
	return out
}

// failing is a source whose third read fails.
type failing struct{ Source }

var errThird = errors.New("third read")

func (f failing) Open(int) (Reader, error) { return &failingReader{}, nil }

type failingReader struct{ reads int }

func (r *failingReader) Read(t *Table, n int) (int, error) {
	if r.reads++; r.reads == 3 {
		return 0, errThird
	}
	return 1, t.Add(func(row Row) error { return nil })
}
func (r *failingReader) Close() error { return nil }

// What a source reports comes out, whatever stands between it and the loop.
func TestErrorsPassThrough(t *testing.T) {
	d := New(failing{numbers(1).source})
	first, _ := d.Split(1, 1)
	for name, d := range map[string]*Dataset{
		"plain": d, "window": d.ShuffleWindow(5, 1), "split": first, "ahead": d.Prefetch(3), "chain": d.Skip(1).Take(9).Prefetch(1),
	} {
		for _, size := range []int{1, 2, 10} {
			var last error
			for _, err := range d.Batches(size) {
				if last != nil {
					t.Errorf("%s by %d: a batch after the error", name, size)
				}
				last = err
			}
			if last != errThird {
				t.Errorf("%s by %d: %v", name, size, last)
			}
		}
		if _, err := d.Load(t.Context()); err != errThird || errors.Is(err, io.EOF) {
			t.Errorf("%s: Load gave %v", name, err)
		}
	}
}

// TestShuffleGroups: rows of a group are next to each other in every share, but for a group where two shares meet; every row is there once, and
// the order is another in each epoch and each group.
func TestShuffleGroups(t *testing.T) {
	const rows, groups = 200, 30
	of := func(row int64) int64 { return row * row % groups * 1_000_003 }
	x, pair, query, distinct := make([]int64, rows), make([]float32, 2*rows), make([]int64, rows), map[int64]bool{}
	for i := range x {
		x[i], pair[2*i], pair[2*i+1], query[i] = int64(i), float32(2*i), float32(3*i), of(int64(i))
		distinct[query[i]] = true
	}
	d := FromColumns(IntValues("x", x), FloatValues("pair", pair, 2), IntValues("query", query))
	for _, workers := range []int{1, 3, 7} {
		grouped := d.ShuffleGroups("query", 5, workers)
		var orders [][]int64
		for epoch := range 2 {
			var all []int64
			blocks := 0
			for w := range workers {
				mine := xs(t, grouped.Epoch(epoch).Shard(w, workers), 16)
				for i, row := range mine {
					if i == 0 || of(row) != of(mine[i-1]) {
						blocks++
					}
				}
				all = append(all, mine...)
			}
			orders = append(orders, slices.Clone(all))
			if slices.Sort(all); !slices.Equal(all, xs(t, d, rows)) {
				t.Errorf("%d workers, epoch %d: rows are missing or twice: %v", workers, epoch, all)
			}
			if blocks < len(distinct) || blocks > len(distinct)+workers-1 {
				t.Errorf("%d workers, epoch %d: %d blocks of %d groups", workers, epoch, blocks, len(distinct))
			}
		}
		if slices.Equal(orders[0], orders[1]) || slices.IsSorted(orders[0]) {
			t.Errorf("%d workers: the order is %v, then %v", workers, orders[0], orders[1])
		}
	}
	for name, wrong := range map[string]*Dataset{"no worker": d.ShuffleGroups("query", 1, 0), "no column": d.ShuffleGroups("q", 1, 1),
		"streamed": streamed(d).ShuffleGroups("query", 1, 1)} {
		if wrong.Err() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got, want := xs(t, numbers(8).ShuffleGroups("x", 1, 2), 8), []int64{3, 4, 2, 1, 7, 6, 5, 0}; !slices.Equal(got, want) {
		t.Errorf("the order of a seed is %v, want %v", got, want)
	}
}
