package nn

import (
	"fmt"
)

// limit is a bound on the values of an op's input. Feeds are checked before the step begins, computed values before the
// op uses them.
type limit struct {
	input   int    // the node's input
	below   int64  // upper bound of int64 values, exclusive; 0 means none. They must not be negative
	except  *int64 // an int64 value that is always valid
	between *span  // bounds of float32 values; int64 values must be 0 or 1 within them
	why     string // the reason for the bound, or a description of values outside
	at      *cell  // the input, or the feed whose cast it is
}

// span is the range between two numbers, inclusive. A span with nan accepts NaN.
type span struct {
	low, high float32
	nan       bool
}

func (s span) holds(v float32) bool { return v >= s.low && v <= s.high || s.nan && v != v }

// labels01 is the limit on the second input of n, labels of two classes. A NaN makes the loss NaN.
func labels01(n *Node) limit {
	return limit{input: 1, between: &span{0, 1, true},
		why: fmt.Sprintf("no label of %s, which is 0 or 1 (or between, as float32)", n.label())}
}

// probabilities is the limit on the first input of n, with a tolerance for rounding.
func probabilities(n *Node, rounding float32) limit {
	return limit{input: 0, between: &span{-rounding, 1 + rounding, true},
		why: fmt.Sprintf("no probability between 0 and 1 for %s: pass it through Sigmoid or Softmax", n.label())}
}

// check returns an error if computed values of an op's input are out of bounds.
func (l *limit) check(n *Node) error {
	i, wrong := l.first(l.at.ids, false, l.at.value)
	if i < 0 {
		return nil
	}
	row, column := position(l.at.node, nil, i)
	return fmt.Errorf("nn: %s: %v, row %d, column %d: %s", n.label(), l.at.node, row, column, wrong)
}

// first returns the place of the first value that is out of bounds, with a description, or -1. wide means that ids are
// uint64.
func (l *limit) first(ids []int64, wide bool, floats []float32) (at int, wrong string) {
	if i := l.firstID(ids, wide); i >= 0 {
		return i, l.refuse(ids[i], wide)
	}
	if l.between != nil {
		for i, v := range floats {
			if !l.between.holds(v) {
				return i, fmt.Sprintf("%v is %s", v, l.why)
			}
		}
	}
	return -1, ""
}

// firstID returns the place of the first int64 value that is out of bounds, or -1. It runs over every id that is looked
// up.
func (l *limit) firstID(ids []int64, wide bool) int {
	below := uint64(l.below) // as uint64, negative ids are above it
	switch {
	case l.between != nil:
		below = 2
	case l.below <= 0 && wide:
		return -1
	case l.below <= 0:
		below = 1 << 63
	}
	for i, id := range ids {
		if uint64(id) >= below && (l.except == nil || id != *l.except || wide && id < 0) {
			return i
		}
	}
	return -1
}

func (l *limit) refuse(id int64, wide bool) string {
	value := fmt.Sprint(id)
	if wide {
		value = fmt.Sprint(uint64(id))
	}
	switch {
	case l.between != nil:
		return fmt.Sprintf("%s is %s", value, l.why)
	case id < 0 && !wide:
		return fmt.Sprintf("%s is negative", value)
	}
	return fmt.Sprintf("%s is not below %d, %s", value, l.below, l.why)
}
