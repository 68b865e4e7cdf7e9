package check

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// value is a number, and how many rows have it.
type value struct {
	x    float64
	rows int
}

// code is a number of nines, such as -999, that rows have and that lies far beyond all others, with the share of rows,
// 0 if there is none.
func code(values []value) (x, share float64) {
	slices.SortFunc(values, func(a, b value) int { return cmp.Compare(a.x, b.x) })
	n, all := len(values), 0
	for _, v := range values {
		all += v.rows
	}
	nines := func(v value) bool {
		text := strconv.FormatFloat(math.Abs(v.x), 'f', -1, 64)
		return len(text) > 1 && strings.Trim(text, "9") == "" && v.rows > max(1, all/1000)
	}
	switch {
	case n < 3:
	case values[0].x < 0 && values[1].x >= values[0].x/2 && nines(values[0]):
		return values[0].x, float64(values[0].rows) / float64(all)
	case values[n-2].x <= values[n-1].x/2 && nines(values[n-1]):
		return values[n-1].x, float64(values[n-1].rows) / float64(all)
	}
	return 0, 0
}

// sorted are the column's numbers that are kept, in ascending order.
func (c *column) sorted() []pair {
	slices.SortFunc(c.pairs, func(a, b pair) int { return cmp.Compare(a.x, b.x) })
	return c.pairs
}

// values are the different ones of these numbers.
func (c *column) values() (all []value) {
	for _, p := range c.sorted() {
		if n := len(all); n > 0 && all[n-1].x == float64(p.x) {
			all[n-1].rows++
		} else {
			all = append(all, value{float64(p.x), 1})
		}
	}
	return all
}

// absurd is a number that lies a million deviations off, if there is one. The deviation is about a quarter of the range
// of all but the first and the last of a hundred numbers.
func (c *column) absurd() (x float64, is bool) {
	p := c.sorted()
	if len(p) < enoughRows {
		return 0, false
	}
	cut := (len(p) + 99) / 100
	low, middle, high := float64(p[cut].x), float64(p[len(p)/2].x), float64(p[len(p)-1-cut].x)
	if x = c.most; middle-c.least > x-middle {
		x = c.least
	}
	return x, high > low && math.Abs(x-middle) > 1e6*(high-low)/4
}
