package starter

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/gofleet/gofleet/internal/tokens"
)

// Bounds of the search for crosses: the most crosses of a program, the most fields whose pairs are tried, and the most
// values that are read, rows by fields.
const (
	mostCrosses = 8
	mostCrossed = 24
	mostLooked  = 20_000_000
)

// The conditions for a category or a cross that is made: a signal beyond chance, a share of the variance that the
// fields do not explain without it, and for a cross values that recur, since a model memorises values that it sees
// once.
const (
	leastSure = 5.0 // standard deviations
	leastGain = 0.001
	leastRows = 4.0 // of a value, among the rows that were read
)

// leastLeft is the share of the labels' variance that single fields must leave unexplained for a search: below it a net
// predicts so finely that rows of a table would be coarser.
const leastLeft = 0.2

// findCrosses finds pairs of fields whose values together explain more of the label than each alone: the best pair
// first, then the pair that explains most of the rest.
func (p *program) findCrosses(columns []*column, left []float64) {
	for _, c := range columns {
		c.signal = c.measure(left)
	}
	slices.SortStableFunc(columns, func(a, b *column) int { return cmp.Compare(b.gain, a.gain) })
	for range 2 { // twice, for the rest that correlated fields leave
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
			return !p.pays() || p.rows < leastRows
		})
		if len(pairs) == 0 {
			return
		}
		slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.gain, a.gain) })
		best := pairs[0]
		pairs = pairs[1:min(len(pairs), 2*mostCrosses)] // other pairs are not tried again
		c := cross(best.a, best.b)
		c.explain(left)
		from := []string{p.category(best.a), p.category(best.b)}
		f := newField(p.rows.free(strings.Join(from, " × ")))
		p.crosses, p.crossed = append(p.crosses, f), p.crossed+c.n
		p.rows.derived = append(p.rows.derived, tokens.Derived{Name: f.name, From: from})
	}
}

// category is the name of a column's field, or of the buckets of its numbers, which the program makes.
func (p *program) category(c *column) string {
	if c.bounds == nil {
		return c.field.name
	}
	name := c.field.name
	buckets := tokens.Derived{Name: p.rows.free(name + " bucket"), From: []string{name}, Buckets: c.bounds}
	if !slices.ContainsFunc(p.rows.derived, func(d tokens.Derived) bool { return d.Name == buckets.Name }) {
		p.rows.derived = append(p.rows.derived, buckets)
	}
	return buckets.Name
}

// pair is a cross of two columns that may be made.
type pair struct {
	a, b *column
	signal
}

// column is a field, or a cross, over the rows: the places of the values, by row.
type column struct {
	signal
	field  *field
	cells  []int32
	n      int // values
	places map[string]int32
	bounds []float64 // between buckets of numbers, which are the values
	copies float64   // rows of the file for each row that was read
}

// add appends a row's value; a new value gets the next place.
func (c *column) add(text string) {
	if slices.Contains(absent, text) || slices.Contains(c.field.codes, text) {
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

// cross returns a column with a value for each pair of values of two columns in a row. It returns an empty one if there
// could be far more pairs than rows: hardly any pair would recur.
func cross(a, b *column) *column {
	c := &column{copies: a.copies}
	if a.n*b.n > 16*len(a.cells) {
		return c
	}
	c.cells = make([]int32, len(a.cells))
	places := make([]int32, a.n*b.n) // the place plus 1
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

// signal is how much the values of a column explain of the labels.
type signal struct {
	share float64 // of the labels' variance, if the mean of each value were known exactly
	gain  float64 // that share, at the precision of means over the file's rows
	trust float64 // in the mean of a value's rows: share over the labels' variance
	rows  float64 // of a value, on average
	sure  float64 // standard deviations of the share that chance would show
}

// pays reports whether the values explain enough to be made ids.
func (s signal) pays() bool { return s.sure >= leastSure && s.gain >= leastGain }

// measure compares rows that have the same value, in pairs, so that a row is not compared with itself: the mean product
// of their labels is the variance of the values' means, and 0 in expectation if the values explain nothing.
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

// variance is the variance of labels around 0.
func variance(left []float64) (v float64) {
	for _, y := range left {
		v += y * y / float64(len(left))
	}
	return v
}

// explain subtracts from each row's label the mean of the other rows with its value, weighted by the trust in that
// mean.
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

// buckets is the number of buckets into which numbers are divided, to measure how much they explain.
const buckets = 8

// look reads the rows again and returns the columns of numbers and of categories; and the labels, of mean 0 and
// deviation 1, with classes as numbers.
func (p *program) look() (columns []*column, labels []float64) {
	fields := slices.Concat(p.numbers, p.categories, []*field{p.label})
	columns = p.rows.columns(fields, mostLooked/len(fields))
	last := columns[len(fields)-1]
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

// numbers returns the numbers of a column's texts, by row.
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

// bucket replaces a column's numbers by buckets of about equally many rows; rows without a number get a bucket of their
// own.
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
