package table

import "math"

// norms has the Euclidean norms of vectors of a shard, by the power of two below them, and the largest.
type norms struct {
	counts  [exponents]uint32 // by the exponent; what is 0 is not counted
	seen    uint64
	largest float64
	id      uint64
	told    float64 // the largest when see last reported it
}

// exponents are those that are told apart, from -32 on. The norms of a push are counted if it is the first of a row, or
// normEvery pushes after one that is: all of them would take as long as a small rule.
const exponents, normEvery = 64, 64

// see counts a vector, and reports whether it is twice as long as any that it has reported, or as many were seen as
// make another look worth it.
func (n *norms) see(id uint64, x []float32) bool {
	squares := 0.0
	for _, v := range x {
		squares += float64(v) * float64(v)
	}
	norm := math.Sqrt(squares)
	if !(norm > 0) || math.IsInf(norm, 0) {
		return false
	}
	n.counts[min(max(math.Ilogb(norm)+exponents/2, 0), exponents-1)]++
	if n.seen++; norm > n.largest {
		n.largest, n.id = norm, id
	}
	if n.largest <= 2*n.told && n.seen&(n.seen-1) != 0 {
		return false
	}
	n.told = n.largest
	return true
}

// Norms describes Euclidean norms as pushes have seen them: at the first of a row, and at each 64th later. Those that
// are 0 are not among them.
type Norms struct {
	Seen    uint64
	Median  float64 // right to a factor of √2
	Largest float64
	ID      uint64 // of the largest
}

// Norms returns the norms of rows behind these pushes, and of the gradients that they brought.
func (t *Sparse) Norms() (rows, gradients Norms) {
	var counts [2][exponents]uint64
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		for k, of := range []*Norms{&rows, &gradients} {
			n := &s.norms[k]
			for e, c := range n.counts {
				counts[k][e] += uint64(c)
				of.Seen += uint64(c)
			}
			if n.largest > of.Largest {
				of.Largest, of.ID = n.largest, n.id
			}
		}
		s.Unlock()
	}
	for k, of := range []*Norms{&rows, &gradients} {
		below := uint64(0)
		for e, c := range counts[k] {
			if below += c; c > 0 && 2*below >= of.Seen {
				of.Median = math.Ldexp(math.Sqrt2, e-exponents/2)
				break
			}
		}
	}
	return rows, gradients
}

// A row is far from the others if its norm is farOff times the median, of at least enoughSeen, and its values are above
// largeValue in the mean: where rows begin at 0, most have hardly moved.
const farOff, enoughSeen, largeValue = 1000, 1000, 10

// outlier logs a row that is far larger than the others, and the next one that is ten times as large.
func (f *filling) outlier(t *Sparse) {
	if f.log == nil {
		return
	}
	rows, gradients := t.Norms()
	told := f.large.Load()
	least := max(farOff*rows.Median, largeValue*math.Sqrt(float64(t.dim)))
	if rows.Seen < enoughSeen || rows.Largest < least || rows.Largest < 10*math.Float64frombits(told) ||
		!f.large.CompareAndSwap(told, math.Float64bits(rows.Largest)) {
		return
	}
	f.log.Warn("a row of an embedding is a thousand times as large as others: look at what this id is in the data; a "+
		"clip by norm, or a smaller learning rate, bounds what one gradient does", "table", t.param.Name, "id", rows.ID,
		"norm", rows.Largest, "median", rows.Median, "largest_gradient", gradients.Largest, "of_id", gradients.ID)
}
