package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/internal/law"
)

// drawnChain puts some calls behind d that keep rows, and change their order or how they are read.
func drawnChain(r *rapid.T, d *Dataset) *Dataset {
	for range rapid.IntRange(0, 3).Draw(r, "calls") {
		seed := rapid.Uint64Range(0, 9).Draw(r, "seed")
		switch rapid.IntRange(0, 5).Draw(r, "call") {
		case 0, 1:
			if _, memory := d.source.(*view); memory {
				d = d.Shuffle(seed)
			}
		case 2:
			d = d.ShuffleWindow(rapid.IntRange(1, 30).Draw(r, "window"), seed)
		case 3:
			d = d.Filter(func(Row) bool { return true })
		case 4:
			d = d.MapInts("x", func(x int64) int64 { return x })
		default:
			d = d.Prefetch(1)
		}
	}
	return d
}

// filed are the rows of numbers in two files, with lines between that are passed over.
func filed(r *rapid.T, n int) *Dataset {
	text, first := strings.Builder{}, ""
	for i := range n {
		for range rapid.IntRange(-4, 2).Draw(r, "bad lines") {
			text.WriteString("oops\n")
		}
		fmt.Fprintf(&text, "%d,%d,%d\n", i, 2*i, 3*i)
		if i == n/2 {
			first = text.String()
		}
	}
	second := text.String()[len(first):]
	return New(&Files{FS: fstest.MapFS{"a": {Data: []byte(first)}, "b": {Data: []byte(second)}}, Paths: []string{"a", "b"},
		SkipBad: 1000, OnBad: func(*LineError) {}, Format: CSV{Fields: []string{"x", "y", "z"},
			Schema: []CSVColumn{{Column: Ints("x")}, {Column: Floats("pair", 2), Fields: []string{"y", "z"}}}}})
}

// drawnCut is a part of the rows and the rest of them.
func drawnCut(r *rapid.T, d *Dataset, rows int) (part, rest *Dataset) {
	n := rapid.IntRange(0, rows).Draw(r, "cut")
	_, memory := d.source.(*view)
	switch how := rapid.IntRange(0, 4).Draw(r, "how"); {
	case how == 0:
		return d.Split(0.7, uint64(n))
	case how == 1:
		return d.SplitGroups(rapid.SampledFrom([]string{"x", "pair"}).Draw(r, "column"), 0.7, uint64(n))
	case how == 2 && memory:
		return d.SplitLast("x", float64(n)/max(float64(rows), 1))
	}
	return d.Take(n), d.Skip(n)
}

// TestPartsKeepTheirRows: whatever stands before a cut and behind it, its two parts have the same rows in every epoch, which together are
// all rows once; so have the workers' shares of a part, in each epoch, and what is left of a pass that was cut off is its end.
//
// Promise: [G9] the parts of a cut (Split, Take, Skip) have the same rows in every epoch, which together are all rows
// once; so have the workers' shares of an epoch, and a pass that goes on
// Also: TestTestRowsAreNotTrainedOn (fleet/train)
func TestPartsKeepTheirRows(t *testing.T) {
	law.Slow(t)
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(r, "rows")
		whole := numbers(n)
		switch rapid.IntRange(0, 2).Draw(r, "kind") {
		case 0:
			whole = streamed(whole)
		case 1:
			whole = filed(r, n)
		}
		cut := drawnChain(r, whole)
		if rapid.Bool().Draw(r, "epoch before") {
			cut = cut.Epoch(1)
		}
		part, rest := drawnCut(r, cut, n)
		rests := []*Dataset{drawnChain(r, rest)}
		if rapid.Bool().Draw(r, "twice") {
			part, rest = drawnCut(r, drawnChain(r, part), n)
			rests = append(rests, drawnChain(r, rest))
		}
		part = drawnChain(r, part)
		mine := slices.Sorted(slices.Values(xs(t, part, 9)))
		workers := rapid.IntRange(1, 4).Draw(r, "workers")
		for epoch := range 4 {
			now := part.Epoch(epoch)
			order := xs(t, now, 9)
			if got := slices.Sorted(slices.Values(order)); !slices.Equal(got, mine) {
				r.Fatalf("epoch %d: a part has the rows %v, and had %v", epoch, got, mine)
			}
			all := slices.Clone(order)
			for _, rest := range rests {
				all = append(all, xs(t, rest.Epoch(epoch+1), 9)...)
			}
			if slices.Sort(all); !slices.Equal(all, xs(t, numbers(n), 9)) {
				r.Fatalf("epoch %d: the two parts together have %v of %d rows", epoch, all, n)
			}
			passed := rapid.IntRange(0, len(order)).Draw(r, "passed")
			if left := xs(t, now.Skip(passed), 9); !slices.Equal(left, order[passed:]) {
				r.Fatalf("epoch %d: behind %d rows come %v, of %v", epoch, passed, left, order)
			}
			var shares []int64
			for w := range workers {
				mine := xs(t, now.Shard(w, workers), 9)
				shares = append(shares, mine...)
				if passed := len(mine) / 2; !slices.Equal(xs(t, now.Shard(w, workers).Skip(passed), 9), mine[passed:]) {
					r.Fatalf("epoch %d: worker %d of %d does not go on behind %d rows", epoch, w, workers, passed)
				}
				for i, x := range xs(t, now.ShardRows(w, workers), 9) {
					if x != order[i*workers+w] {
						r.Fatalf("epoch %d: row %d of worker %d of %d is %d, in %v", epoch, i, w, workers, x, order)
					}
				}
			}
			if slices.Sort(shares); !slices.Equal(shares, mine) {
				r.Fatalf("epoch %d: %d workers have %v of %v", epoch, workers, shares, mine)
			}
		}
	})
}
