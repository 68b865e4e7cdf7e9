package starter

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/gofleet/gofleet/internal/derived"
)

// Bounds of the search for crosses: how many a program has, of how many fields pairs are tried, and how many values are
// looked at, rows by fields.
const (
	mostCrosses = 8
	mostCrossed = 24
	mostLooked  = 20_000_000
)

// What a cross needs to be one that is made: signs that chance does not give, a part of what no field explains, and
// values that come again, since a model learns by heart what it sees once.
const (
	leastSure = 5.0 // standard deviations
	leastGain = 0.001
	leastRows = 4.0 // of a value, among those that were looked at
)

// leastLeft is what fields by themselves have to leave of the labels' variance: rows of a table would make coarser what
// a net foretells that finely.
const leastLeft = 0.2

// findCrosses has the model see pairs of fields whose values together tell of the label what neither tells alone: the
// best one first, then what tells most of the rest.
func (p *program) findCrosses() {
	columns, left := p.look()
	for _, c := range columns {
		c.signal = c.measure(left)
	}
	slices.SortStableFunc(columns, func(a, b *column) int { return cmp.Compare(b.gain, a.gain) })
	for range 2 { // once more what correlated fields have left
		for _, c := range columns {
			c.explain(left)
		}
	}
	if variance(left) < leastLeft {
		return
	}
	var pairs []pair
	for i, b := range columns[:min(len(columns), mostCrossed)] {
		for _, a := range columns[:i] {
			pairs = append(pairs, pair{a: a, b: b})
		}
	}
	for len(p.crosses) < mostCrosses {
		for i := range pairs {
			pairs[i].signal = cross(pairs[i].a, pairs[i].b).measure(left)
		}
		pairs = slices.DeleteFunc(pairs, func(p pair) bool {
			return p.sure < leastSure || p.gain < leastGain || p.rows < leastRows
		})
		if len(pairs) == 0 {
			return
		}
		slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.gain, a.gain) })
		best := pairs[0]
		pairs = pairs[1:min(len(pairs), 2*mostCrosses)] // others are tried no more
		c := cross(best.a, best.b)
		c.explain(left)
		from := []string{p.category(best.a), p.category(best.b)}
		f := newField(p.rows.free(strings.Join(from, " × ")))
		p.crosses, p.crossed = append(p.crosses, f), p.crossed+c.n
		p.rows.derived = append(p.rows.derived, derived.Field{Name: f.name, From: from})
	}
}

// category is the name of a column's field, or of the buckets of its numbers, which the program makes.
func (p *program) category(c *column) string {
	if c.bounds == nil {
		return c.field.name
	}
	name := c.field.name
	buckets := derived.Field{Name: p.rows.free(name + " bucket"), From: []string{name}, Buckets: c.bounds}
	if !slices.ContainsFunc(p.rows.derived, func(d derived.Field) bool { return d.Name == buckets.Name }) {
		p.rows.derived = append(p.rows.derived, buckets)
	}
	return buckets.Name
}

// pair is a cross of two columns that may be made.
type pair struct {
	a, b *column
	signal
}

// column is what rows have of a field, or of a cross: the places of their values, by row.
type column struct {
	signal
	field  *field
	cells  []int32
	n      int // values
	places map[string]int32
	bounds []float64 // between buckets of numbers, which are the values
	copies float64   // rows of the file for each that was looked at
}

// add adds a row's value, which has the next place if it is new.
func (c *column) add(text string) {
	if slices.Contains(absent, text) {
		text = ""
	}
	at, seen := c.places[text]
	if !seen {
		at = int32(c.n)
		c.places[text] = at
		c.n++
	}
	c.cells = append(c.cells, at)
}

// cross is a column with a value for each two that rows have of others. Where there could be far more than rows it has
// none: hardly one would come again.
func cross(a, b *column) *column {
	c := &column{copies: a.copies}
	if a.n*b.n > 16*len(a.cells) {
		return c
	}
	c.cells = make([]int32, len(a.cells))
	places := make([]int32, a.n*b.n) // and 1
	for i, at := range a.cells {
		place := &places[int(at)*b.n+int(b.cells[i])]
		if *place == 0 {
			c.n++
			*place = int32(c.n)
		}
		c.cells[i] = *place - 1
	}
	return c
}

// signal is what the values of a column tell of labels.
type signal struct {
	share float64 // of the labels' variance, if the mean of each value were known
	gain  float64 // that share as far as the file's rows make means known
	trust float64 // in the mean of a value's rows: its variance by theirs around it
	rows  float64 // of a value, in the mean
	sure  float64 // standard deviations of what chance would have it seem to tell
}

// measure compares rows that have the same value, two by two, so that what a row tells of itself does not count: the
// mean product of their labels is the variance of the values' means, and 0 in expectation where they tell nothing.
func (c *column) measure(left []float64) (s signal) {
	pairs, rows := 0.0, make([]float64, c.n)
	for _, at := range c.cells {
		pairs += 2 * rows[at]
		rows[at]++
	}
	if pairs == 0 {
		return s
	}
	sums, rest := make([]float64, c.n), variance(left)+1e-9
	for i, at := range c.cells {
		s.share += 2 * sums[at] * left[i] / pairs
		sums[at] += left[i]
	}
	s.rows = float64(len(c.cells)) / float64(c.n)
	s.sure = s.share / rest * math.Sqrt(pairs/2)
	s.share = max(s.share, 0)
	s.trust = s.share / rest
	known := (1 + c.copies*pairs/float64(len(c.cells))) * s.trust
	s.gain = s.share * known / (known + 1)
	return s
}

// variance is that of labels around 0.
func variance(left []float64) (v float64) {
	for _, y := range left {
		v += y * y / float64(len(left))
	}
	return v
}

// explain takes from each row's label the mean of others with its value, as far as it can be relied on.
func (c *column) explain(left []float64) {
	s, sums, rows := c.measure(left), make([]float64, c.n), make([]float64, c.n)
	if s.sure < leastSure {
		return
	}
	for i, at := range c.cells {
		sums[at] += left[i]
		rows[at]++
	}
	for i, at := range c.cells {
		left[i] -= (sums[at] - left[i]) * s.trust / ((rows[at]-1)*s.trust + 1)
	}
}

// buckets is how many a number is parted into, to tell what it explains.
const buckets = 8

// look reads the rows again: the columns of numbers, in buckets, and of categories; and the labels, of mean 0 and
// deviation 1, of which classes are numbered.
func (p *program) look() (columns []*column, labels []float64) {
	categories := slices.DeleteFunc(slices.Clone(p.categories), (*field).recurs) // which are among the numbers
	fields := slices.Concat(p.numbers, categories, []*field{p.label})
	columns = p.rows.columns(fields, mostLooked/len(fields))
	last := columns[len(fields)-1]
	for i, c := range columns[:len(p.numbers)] {
		if !fields[i].recurs() {
			c.bucket()
		}
	}
	classes, m := p.label.ordered(), moments{}
	labels = last.numbers(func(text string) float64 {
		if x, _ := decimal(text); p.task == amount {
			return x
		}
		return float64(slices.Index(classes, text))
	})
	for _, y := range labels {
		m.add(y)
	}
	mean, deviation := m.of()
	for i, y := range labels {
		labels[i] = max(-3, min((y-mean)/(deviation+1e-12), 3))
	}
	return columns[:len(fields)-1], labels
}

// numbers are numbers that a column's texts have, by row.
func (c *column) numbers(of func(text string) float64) []float64 {
	values, rows := make([]float64, c.n), make([]float64, len(c.cells))
	for text, at := range c.places {
		values[at] = of(text)
	}
	for i, at := range c.cells {
		rows[i] = values[at]
	}
	return rows
}

// bucket makes buckets of a column's numbers its values: as many rows are in each, and those without a number in one of
// their own.
func (c *column) bucket() {
	numbers := c.numbers(func(text string) float64 {
		if x, is := decimal(text); is {
			return x
		}
		return math.NaN()
	})
	sorted := slices.DeleteFunc(slices.Sorted(slices.Values(numbers)), math.IsNaN)
	for i := 1; i < buckets && len(sorted) > 0; i++ {
		c.bounds = append(c.bounds, sorted[i*len(sorted)/buckets])
	}
	c.bounds = slices.Compact(c.bounds)
	for i, x := range numbers {
		c.cells[i] = int32(len(c.bounds) + 1)
		if !math.IsNaN(x) {
			c.cells[i] = int32(sort.Search(len(c.bounds), func(k int) bool { return c.bounds[k] > x }))
		}
	}
	c.n = len(c.bounds) + 2
}
