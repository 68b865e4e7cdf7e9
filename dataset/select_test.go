package dataset

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSelections(t *testing.T) {
	d := numbers(10)
	for name, c := range map[string]struct {
		d    *Dataset
		want []int64
	}{
		"take":            {d.Take(3), []int64{0, 1, 2}},
		"take none":       {d.Take(0), []int64{}},
		"take too many":   {d.Take(99), []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"skip":            {d.Skip(7), []int64{7, 8, 9}},
		"skip all":        {d.Skip(10), []int64{}},
		"skip then take":  {d.Skip(2).Take(3), []int64{2, 3, 4}},
		"take then skip":  {d.Take(5).Skip(3), []int64{3, 4}},
		"first of three":  {d.Shard(0, 3), []int64{0, 3, 6, 9}},
		"last of three":   {d.Shard(2, 3), []int64{2, 5, 8}},
		"shard of shard":  {d.Shard(1, 2).Shard(1, 2), []int64{3, 7}},
		"more than rows":  {d.Take(2).Shard(2, 3), []int64{}},
		"skip in a shard": {d.Shard(0, 2).Skip(1).Take(2), []int64{2, 4}},
	} {
		for _, form := range []*Dataset{c.d, streamed(c.d)} {
			for _, size := range []int{1, 2, 4, 100} {
				if got := xs(t, form, size); !slices.Equal(got, c.want) {
					t.Errorf("%s by %d: %v, want %v", name, size, got, c.want)
				}
			}
		}
		if n, known := c.d.Len(); !known || n != len(c.want) {
			t.Errorf("%s: length %d, %v, want %d", name, n, known, len(c.want))
		}
	}
}

// Whatever is chosen of rows in memory is chosen of the same rows streaming by.
func TestStreamsAndMemoryAgree(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		memory := numbers(rapid.IntRange(0, 60).Draw(r, "rows"))
		stream := streamed(memory)
		for range rapid.IntRange(0, 4).Draw(r, "steps") {
			n := rapid.IntRange(0, 40).Draw(r, "n")
			var step func(d *Dataset) *Dataset
			switch rapid.IntRange(0, 3).Draw(r, "step") {
			case 0:
				step = func(d *Dataset) *Dataset { return d.Take(n) }
			case 1:
				step = func(d *Dataset) *Dataset { return d.Skip(n) }
			case 2:
				step = func(d *Dataset) *Dataset { return d.Shard(n%3, 3) }
			default:
				step = func(d *Dataset) *Dataset {
					first, second := d.Split(0.7, uint64(n))
					if n%2 == 0 {
						return second
					}
					return first
				}
			}
			memory, stream = step(memory), step(stream)
		}
		size := rapid.IntRange(1, 9).Draw(r, "size")
		a, b := xs(t, memory, size), xs(t, stream, size)
		if !slices.Equal(a, b) {
			r.Fatalf("memory %v, stream %v", a, b)
		}
		if n, known := memory.Len(); n != len(a) || !known {
			r.Fatalf("length %d of %d rows", n, len(a))
		}
	})
}

func TestSplit(t *testing.T) {
	d := numbers(10_000)
	first, second := d.Split(0.8, 1)
	a, b := xs(t, first, 100), xs(t, second, 100)
	if len(a) < 7_880 || len(a) > 8_120 { // three standard deviations of 40
		t.Errorf("%d rows of 10,000 in the first part", len(a))
	}
	both := slices.Sorted(slices.Values(slices.Concat(a, b)))
	if !slices.Equal(both, xs(t, d, 1000)) {
		t.Error("the two parts are not all rows once")
	}
	again, _ := d.Split(0.8, 1)
	other, _ := d.Split(0.8, 2)
	if !slices.Equal(a, xs(t, again, 7)) || slices.Equal(a, xs(t, other, 7)) {
		t.Error("a split must depend on its seed, and on nothing else")
	}
	whole, none := d.Split(1, 1)
	if n, _ := whole.Len(); n != 10_000 {
		t.Errorf("%d rows in a split of 1", n)
	}
	if n, _ := none.Len(); n != 0 {
		t.Errorf("%d rows beside a split of 1", n)
	}
}

// Splits are frozen: a model's test rows stay its test rows in the next release.
func TestSplitIsFrozen(t *testing.T) {
	first, _ := numbers(20).Split(0.5, 42)
	want := []int64{0, 1, 2, 5, 6, 8, 9, 10, 11, 12, 13, 14, 16, 17}
	if got := xs(t, first, 20); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestFileShard(t *testing.T) {
	for _, c := range []struct {
		files   string
		workers int
		want    string
	}{
		{"abcde", 2, "[[a b c] [d e]]"},
		{"ab", 3, "[[a] [b] []]"},
		{"abcdefgh", 3, "[[a b c] [d e f] [g h]]"},
		{"abcd", 4, "[[a] [b] [c] [d]]"},
		{"", 2, "[[] []]"},
		{"abc", 1, "[[a b c]]"},
	} {
		var files []string
		for _, f := range c.files {
			files = append(files, string(f))
		}
		var got [][]string
		for index := range c.workers {
			part, err := FileShard(files, index, c.workers)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, part)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s over %d: %v, want %s", c.files, c.workers, got, c.want)
		}
	}
	for _, bad := range [][2]int{{-1, 2}, {2, 2}, {0, 0}} {
		if _, err := FileShard([]string{"a"}, bad[0], bad[1]); err == nil {
			t.Errorf("worker %d of %d: no error", bad[0], bad[1])
		}
	}
}
