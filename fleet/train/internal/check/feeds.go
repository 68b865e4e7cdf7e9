package check

import (
	"math"
	"slices"
)

// Feed is the contents of a feed in the rows.
type Feed struct {
	Name  string
	Kind  string // number, id or slot
	Label bool   // the loss compares predictions with it
	// Mean, Deviation, Least and Most are for numbers, not for ids.
	Mean, Deviation, Least, Most float64
	Missing                      float64 // the share of values that files lack, or of numbers that are not finite
	Distinct                     int     // number of distinct values
	Many                         bool    // there are more than Distinct
	Texts, Shared                int     // texts that are hashed into its ids, and those that share one with others
	Commonest, Share             float64 // the commonest value, and its share; 0 if Many
	Unseen                       float64 // the share of ids in test rows that no training row has
}

// manyNumbers is the largest number of distinct values that are counted for a feed of numbers, and manyIDs for ids.
const (
	manyNumbers = 1000
	manyIDs     = 2_000_000
)

// column is one number of each row: its sums, and some of the numbers with their rows' labels.
type column struct {
	n, sum, squares float64
	pairs           []pair
}

type pair struct{ x, label float32 }

// paired is the number of values of a column that are kept with their labels, and pairedInAll for all columns of a
// feed.
const (
	paired      = 20_000
	pairedInAll = 2_000_000
)

func (c *column) add(x, label float32, keeps int) {
	v := float64(x)
	c.n, c.sum, c.squares = c.n+1, c.sum+v, c.squares+v*v
	if len(c.pairs) < keeps {
		c.pairs = append(c.pairs, pair{x, label})
	}
}

// parts is how well the number alone separates rows with label 1 from rows with 0: an AUC, from .5 to 1.
func (c *column) parts() float64 {
	c.sorted()
	var zeros, ones, wins float64
	for i := 0; i < len(c.pairs); {
		var zero, one float64 // of one value
		for x := c.pairs[i].x; i < len(c.pairs) && c.pairs[i].x == x; i++ {
			one += float64(c.pairs[i].label)
			zero += 1 - float64(c.pairs[i].label)
		}
		wins += one * (zeros + zero/2)
		zeros, ones = zeros+zero, ones+one
	}
	if min(zeros, ones) < 20 {
		return 0.5
	}
	return max(wins/(zeros*ones), 1-wins/(zeros*ones))
}

// tally counts a value's rows and sums their labels.
type tally struct {
	n     int
	label float64
}

// reading is the contents of one feed.
type reading struct {
	ids, slot bool
	columns   []column // of numbers
	missing   int
	values    map[uint64]tally // ids, or the bits of numbers
	many      bool             // more than are counted
	row       int              // the current row
	spots     []spot           // by place in a row, for a feed with the same number of values in each
	// the smallest value, the largest, and one that is not finite; its row is −1 if there is none
	edges [3]edge
}

// edge is a value, with its row and column.
type edge struct {
	value    float64
	row, col int
}

// reaches updates the edges with a value.
func (f *reading) reaches(x float64, col int) {
	if !(x >= f.edges[0].value) {
		f.edges[0] = edge{x, f.row, col}
	}
	if !(x <= f.edges[1].value) {
		f.edges[1] = edge{x, f.row, col}
	}
}

// id adds an id.
func (f *reading) id(id uint64, label float64) uint64 {
	f.reaches(float64(id), 0)
	if _, known := f.values[id]; known || len(f.values) < manyIDs {
		f.value(id, label)
	} else {
		f.many = true
	}
	return id
}

func newReading(ids, slot bool, width int) *reading {
	f := &reading{ids: ids, slot: slot, values: map[uint64]tally{},
		edges: [3]edge{{math.Inf(1), -1, 0}, {math.Inf(-1), -1, 0}, {0, -1, 0}}}
	if !ids {
		f.columns = make([]column, width)
	}
	return f
}

// number adds a number of a row's column.
func (f *reading) number(x float32, col int, label float64) {
	if x-x != 0 { // NaN, or infinite
		f.missing++
		f.edges[2].row = f.row
		return
	}
	f.reaches(float64(x), col)
	f.columns[col].add(x, float32(label), min(paired, pairedInAll/len(f.columns)))
	if f.many {
		return
	}
	f.value(uint64(math.Float32bits(x+0)), label) // −0 counts as 0
	f.many = len(f.values) > manyNumbers
}

// value counts a value.
func (f *reading) value(key uint64, label float64) {
	t := f.values[key]
	f.values[key] = tally{t.n + 1, t.label + label}
}

// known is the number of finite numbers.
func (f *reading) known() (n float64) {
	for _, c := range f.columns {
		n += c.n
	}
	return n
}

// lacking is the share of numbers that are NaN or infinite.
func (f *reading) lacking() float64 { return float64(f.missing) / max(f.known()+float64(f.missing), 1) }

// moments are the mean and the deviation of all numbers.
func (f *reading) moments() (mean, deviation float64) {
	var sum, squares float64
	for _, c := range f.columns {
		sum += c.sum
		squares += c.squares
	}
	n := max(f.known(), 1)
	mean = sum / n
	return mean, math.Sqrt(max(squares/n-mean*mean, 0))
}

// constant reports whether all rows have the same value.
func (f *reading) constant() bool { return !f.slot && len(f.values) == 1 && !f.many && f.missing == 0 }

// only is the value of a constant feed.
func (f *reading) only() float64 { v, _ := f.commonest(); return v }

// commonest is the value that most rows have, and its share.
func (f *reading) commonest() (value, share float64) {
	all, most := 0, 0
	for key, t := range f.values {
		at := float64(key)
		if !f.ids {
			at = float64(math.Float32frombits(uint32(key)))
		}
		if all += t.n; t.n > most || t.n == most && at < value {
			most, value = t.n, at
		}
	}
	if f.many || all == 0 {
		return 0, 0
	}
	return value, float64(most) / float64(all)
}

// unseen is the share of values in test rows that training rows lack.
func (f *reading) unseen(test *reading) float64 {
	all, strange := 0, 0
	for key, t := range test.values {
		all += t.n
		if _, known := f.values[key]; !known {
			strange += t.n
		}
	}
	return float64(strange) / float64(max(all, 1))
}

// telling is the column of a feed of numbers that separates rows by their label better than chance could, or -1.
func (f *reading) telling() int {
	return slices.IndexFunc(f.columns, func(c column) bool { return c.parts() > 0.995 })
}

// tells is the share of the labels' variance that ids explain, from 0 to 1, measured on the ids that several rows have,
// if these are most of the rows. Labels are 0 and 1.
func (f *reading) tells() float64 {
	if !f.ids || f.slot || len(f.values) < 2 {
		return 0
	}
	var all, several, labels, between float64
	for _, t := range f.values {
		if all += float64(t.n); t.n >= 5 {
			several += float64(t.n)
			labels += t.label
		}
	}
	mean := labels / several
	if several < all/2 || mean <= 0 || mean >= 1 {
		return 0
	}
	for _, t := range f.values {
		if t.n >= 5 {
			d := t.label/float64(t.n) - mean
			between += float64(t.n) * d * d
		}
	}
	return between / (several * mean * (1 - mean))
}

// describe returns the contents of feeds, in the order of the graph.
func describe(rows, tested readings, g graph) (feeds []Feed) {
	for _, name := range g.feeds {
		f := rows.feeds[name]
		d := Feed{Name: name, Kind: "number", Label: slices.Contains(g.labels, name), Distinct: len(f.values),
			Many: f.many}
		d.Commonest, d.Share = f.commonest()
		switch {
		case f.slot:
			d.Kind = "slot"
		case f.ids:
			d.Kind = "id"
		}
		if f.ids && !d.Label && name != g.group {
			if t := tested.feeds[name]; t != nil {
				d.Unseen = f.unseen(t)
			}
		}
		if !f.ids {
			d.Mean, d.Deviation = f.moments()
			d.Least, d.Most, d.Missing = f.edges[0].value, f.edges[1].value, f.lacking()
		}
		feeds = append(feeds, d)
	}
	return feeds
}
