package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestSplitLast: the second part has the largest values of each type of column, whatever the order, and all rows of the value at which it
// begins.
func TestSplitLast(t *testing.T) {
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		rows  *Dataset
		ratio float64
		want  []int64 // of the first, numbered from 0
	}{
		"floats":   {FromColumns(FloatValues("t", []float32{3, -1, nan, 9}), IntValues("x", []int64{0, 1, 2, 3})), 0.5, []int64{1, 2}},
		"ints":     {FromColumns(IntValues("t", []int64{5, 1, 4, 2}), IntValues("x", []int64{0, 1, 2, 3})), 0.75, []int64{1, 2, 3}},
		"ids":      {FromColumns(IDValues("t", []uint64{1 << 63, 7, 8, 9}), IntValues("x", []int64{0, 1, 2, 3})), 0.75, []int64{1, 2, 3}},
		"ties":     {FromColumns(IntValues("t", []int64{1, 2, 2, 2}), IntValues("x", []int64{0, 1, 2, 3})), 0.75, []int64{0}},
		"one":      {FromColumns(IntValues("t", []int64{2, 2}), IntValues("x", []int64{0, 1})), 0.5, []int64{}},
		"all":      {FromColumns(IntValues("t", []int64{2, 2}), IntValues("x", []int64{0, 1})), 1, []int64{0, 1}},
		"shuffled": {FromColumns(IntValues("t", []int64{0, 1, 2, 3}), IntValues("x", []int64{0, 1, 2, 3})).Shuffle(3), 0.5, []int64{0, 1}},
	} {
		first, second := c.rows.SplitLast("t", c.ratio)
		got := slices.Sorted(slices.Values(xOf(t, first)))
		if n, known := first.Len(); !slices.Equal(got, c.want) || !known || n != len(c.want) {
			t.Errorf("%s: the first part has %v (length %d, %v), want %v", name, got, n, known, c.want)
		}
		for epoch := range 4 {
			if now := slices.Sorted(slices.Values(xOf(t, first.Epoch(epoch)))); !slices.Equal(now, c.want) {
				t.Errorf("%s: in epoch %d the first part has %v, want %v", name, epoch, now, c.want)
			}
		}
		if got = append(got, xOf(t, second)...); len(got) != c.rows.source.(*view).len {
			t.Errorf("%s: both parts have %v", name, got)
		}
	}
	for want, bad := range map[string]*Dataset{
		"unknown column":  firstPart(numbers(4).SplitLast("t", 0.5)),
		"2 values a row":  firstPart(numbers(4).SplitLast("pair", 0.5)),
		"call Load":       firstPart(streamed(numbers(4)).SplitLast("x", 0.5)),
		"a ratio":         firstPart(numbers(4).SplitLast("x", math.NaN())),
		"between 0":       firstPart(numbers(4).SplitGroups("x", 2, 1)),
		"unknown column;": firstPart(streamed(numbers(4)).SplitGroups("t", 0.5, 1)),
	} {
		if err := bad.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %q: %v", want, err)
		}
	}
}

func firstPart(d, _ *Dataset) *Dataset { return d }

// TestSplitGroups: all rows of a group are in one part, the same for rows in memory and rows that stream by, about a share of the groups.
func TestSplitGroups(t *testing.T) {
	const groups, each = 500, 4
	user, x := make([]int64, groups*each), make([]int64, groups*each)
	for i := range user {
		user[i], x[i] = int64(i%groups)*7919, int64(i)
	}
	rows := FromColumns(IntValues("user", user), IntValues("x", x))
	one, other := rows.Shuffle(1).SplitGroups("user", 0.8, 5)
	part := map[int64]bool{}
	for _, i := range xOf(t, one) {
		part[user[i]] = true
	}
	for _, i := range xOf(t, other) {
		if part[user[i]] {
			t.Fatalf("user %d has rows in both parts", user[i])
		}
	}
	if n, known := one.Len(); !known || n != each*len(part) || len(part) < groups*7/10 || len(part) > groups*9/10 {
		t.Errorf("%d rows of %d groups, %v", n, len(part), known)
	}
	if got := xOf(t, firstPart(numbers(20).SplitGroups("x", 0.5, 42))); fmt.Sprint(got) != "[0 1 2 3 6 7 9 10 11 12 13 14 15 17 18]" { // frozen, as Split is
		t.Errorf("the first part of 20 groups is %v", got)
	}
	ordered, _ := rows.SplitGroups("user", 0.8, 5)
	stream, rest := streamed(rows).SplitGroups("user", 0.8, 5)
	if want := xOf(t, ordered); !slices.Equal(xOf(t, stream), want) || len(xOf(t, rest)) != groups*each-len(want) {
		t.Error("rows that stream by are parted otherwise")
	}
}

// xOf is column x.
func xOf(t *testing.T, d *Dataset) []int64 {
	t.Helper()
	rows, err := d.Select("x").Table(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows.Ints(0)
}
