package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/dataset"
)

// sorted are the column's numbers that are kept, in ascending order.
func (c *column) sorted() []pair {
	slices.SortFunc(c.pairs, func(a, b pair) int { return cmp.Compare(a.x, b.x) })
	return c.pairs
}

// constant reports whether all rows have one number.
func (c *column) constant() bool {
	p := c.sorted()
	return len(p) >= enoughRows && p[0].x == p[len(p)-1].x && c.sum == c.n*float64(p[0].x)
}

// unscaled is a number as it was before its scaling, to six digits.
func unscaled(x float32, s dataset.Scaling) float64 {
	if s == (dataset.Scaling{}) {
		return float64(x)
	}
	y, _ := strconv.ParseFloat(strconv.FormatFloat(s.Inverse(float64(x)), 'g', 6, 64), 64)
	return y
}

// unscale gives labels the unit that they have in the files. Logarithms stay: their deviation is not a number's.
func (r *Report) unscale(j Job) {
	for i := range r.Feeds {
		f, s := &r.Feeds[i], j.scaling(r.Feeds[i].Name, 0)
		if f.Label && f.Kind == "number" && len(j.Scales[f.Name]) == 1 && !s.Log1p {
			f.Mean, f.Least, f.Most = s.Inverse(f.Mean), s.Inverse(f.Least), s.Inverse(f.Most)
			f.Commonest, f.Deviation = unscaled(float32(f.Commonest), s), f.Deviation*cmp.Or(s.Std, 1)
		}
	}
}

// code describes a number of nines, such as -999, that rows have, before a scaling, and that lies far beyond all
// others; "" if there is none.
func (c *column) code(by dataset.Scaling) (said string) {
	p, n := c.sorted(), len(c.pairs)
	least, most := 0, n // of rows with the least number, and of those without the most
	for least < n && p[least].x == p[0].x {
		least++
	}
	for most > 0 && p[most-1].x == p[n-1].x {
		most--
	}
	nines := func(x float64, rows int) {
		text := strconv.FormatFloat(math.Abs(x), 'f', -1, 32)
		all := strings.Trim(text, "9") == "" || len(text) > 8 && strings.Trim(text, "0") == "1" // float32 of 99999999
		if len(text) > 1 && all && rows > max(1, n/1000) {
			said = fmt.Sprintf(" (%v in %s of rows)", x, percent(float64(rows)/float64(n)))
		}
	}
	at := func(i int) float64 { return unscaled(p[i].x, by) }
	if least < n && at(0) < 0 && at(least) >= at(0)/2 {
		nines(at(0), least)
	}
	if most > 0 && at(most-1) <= at(n-1)/2 {
		nines(at(n-1), n-most)
	}
	return said
}

// elsewhere reports whether the numbers lie five deviations of others from these, on average.
func (c *column) elsewhere(others *column) bool {
	mean := others.sum / others.n
	deviation := math.Sqrt(max(others.squares/others.n-mean*mean, 0))
	return c.n >= enoughRows && math.Abs(c.sum/c.n-mean) > 5*deviation
}

// absurd reports whether a number lies a million deviations off. A deviation is about a quarter of the range of all but
// the first and the last of a hundred numbers.
func (c *column) absurd(x float64) bool {
	p := c.sorted()
	if len(p) < enoughRows {
		return false
	}
	cut := (len(p) + 99) / 100
	low, middle, high := float64(p[cut].x), float64(p[len(p)/2].x), float64(p[len(p)-1-cut].x)
	return high > low && math.Abs(x-middle) > 1e6*(high-low)/4
}
