package clicks

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/law"
)

// all is every row in one batch.
func all(t *testing.T, seed uint64, n int) map[string]*tensor.Dense {
	t.Helper()
	for batch, err := range Generate(seed, n).Batches(n) {
		if err != nil {
			t.Fatal(err)
		}
		return batch
	}
	t.Fatal("no rows")
	return nil
}

// TestSlots: each slot has the numbers of ids that it should have, below the height.
func TestSlots(t *testing.T) {
	batch := all(t, 1, 5000)
	for slot, want := range map[string][2]int64{"user": {1, 1}, "history": {0, 20}, "query": {1, 5}, "item": {1, 1}, "tags": {1, 4}, "hour": {1, 1}} {
		offsets := batch[slot+".offsets"].Int64s()
		least, most := int64(math.MaxInt64), int64(0)
		for i := range len(offsets) - 1 {
			n := offsets[i+1] - offsets[i]
			least, most = min(least, n), max(most, n)
		}
		if least != want[0] || most != want[1] {
			t.Errorf("slot %s has %d to %d ids, want %v", slot, least, most, want)
		}
		if ids := batch[slot].Int64s(); slices.Min(ids) < 0 || slices.Max(ids) >= Height {
			t.Errorf("slot %s has ids from %d to %d", slot, slices.Min(ids), slices.Max(ids))
		}
	}
}

// TestChances: clicks are as frequent as their chances say, among the likely and among the unlikely.
func TestChances(t *testing.T) {
	law.Slow(t)
	batch := all(t, 1, 50_000)
	labels, chances := batch[Label].Float32s(), batch[Chance].Float32s()
	for _, from := range []float32{0, 0.25, 0.5, 0.75} {
		var clicks, want, n float64
		for i, p := range chances {
			if p >= from && p < from+0.25 {
				clicks, want, n = clicks+float64(labels[i]), want+float64(p), n+1
			}
		}
		if n < 1000 || math.Abs(clicks-want) > 4*math.Sqrt(n)/2 {
			t.Errorf("of %v rows with chances from %v, %v were clicked, expected %.0f", n, from, clicks, want)
		}
	}
}

// TestRowsAreAFunctionOfTheSeed: rows are a function of the seed, and an item has the same tags in every row, but for a few items whose
// hashes are the same.
func TestRowsAreAFunctionOfTheSeed(t *testing.T) {
	a, b, other := all(t, 1, 3000), all(t, 1, 3000), all(t, 2, 3000)
	if !slices.Equal(a["history"].Int64s(), b["history"].Int64s()) || slices.Equal(a["item"].Int64s(), other["item"].Int64s()) {
		t.Error("rows are no function of the seed")
	}
	tagsOf, two := map[int64][]int64{}, map[int64]bool{}
	ids, offsets := a["tags"].Int64s(), a["tags.offsets"].Int64s()
	for i, item := range a["item"].Int64s() {
		tags := ids[offsets[i]:offsets[i+1]]
		if have, ok := tagsOf[item]; ok && !slices.Equal(have, tags) {
			two[item] = true
		}
		tagsOf[item] = tags
	}
	if len(two) > len(tagsOf)/50 {
		t.Errorf("%d of %d items have tags that change", len(two), len(tagsOf))
	}
}
