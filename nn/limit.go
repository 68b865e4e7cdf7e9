package nn

import (
	"fmt"
	"slices"
)

// limiter is an op that knows which values of its inputs make sense.
type limiter interface {
	// limits are the limits that node n sets.
	limits(n *Node) []limit
}

// limit is a bound on the values of an op's input. What a batch feeds is checked before the step begins; what is
// computed, before the op uses it.
type limit struct {
	input   int    // of the node that sets it
	below   int64  // what int64 values are below; 0 is no bound. They are never negative
	except  *int64 // an int64 value that is always right
	between *span  // where float32 values lie; int64 values are then 0 and 1, as far as they lie there
	why     string // what sets it, or what a value outside is
	at      *cell  // the input, or the feed that it is a cast of
}

// span is what lies between two numbers, which it includes. A span that lets NaN pass does not look at it.
type span struct {
	low, high float32
	nan       bool
}

func (s span) holds(v float32) bool { return v >= s.low && v <= s.high || s.nan && v != v }

// labels01 is the limit of the second input of n, labels of two classes. A NaN shows in the loss.
func labels01(n *Node) limit {
	return limit{input: 1, between: &span{0, 1, true},
		why: fmt.Sprintf("no label of %s, which is 0 or 1 (or between, as float32)", n.label())}
}

// probabilities is the limit of the first input of n, give or take some rounding.
func probabilities(n *Node, rounding float32) limit {
	return limit{input: 0, between: &span{-rounding, 1 + rounding, true},
		why: fmt.Sprintf("no probability between 0 and 1 for %s: pass it through Sigmoid or Softmax", n.label())}
}

// limit adds a limit of the cell that was taken last to the plan's.
func (p *plan) limit(c *cell, l limit) {
	l.at = c.in[l.input]
	if cast, ok := l.at.node.op.(cast); ok && cast.To == Float32 {
		l.at = l.at.in[0] // it has the same values
	}
	if isFeed(l.at.node) {
		p.limits = append(p.limits, l)
		return
	}
	last := len(p.cells) - 1
	p.computed[last] = append(p.computed[last], l)
}

// check refuses values of a feed that are out of bounds.
func (b *feedBatch) check(p *plan, l *limit) error {
	feed, at := l.at.node, slices.Index(p.feeds, l.at)
	i, wrong := l.first(b.ids[at], b.wide[at], b.floats[at])
	if i < 0 {
		return nil
	}
	row, column := position(feed, b.offsets[at], i)
	return fmt.Errorf("nn: feed %q%s, row %d, column %d%s: %s", feed.name, feed.made, row, column, b.where(at, row),
		wrong)
}

// check refuses computed values of an op's input that are out of bounds.
func (l *limit) check(n *Node) error {
	i, wrong := l.first(l.at.ids, false, l.at.value)
	if i < 0 {
		return nil
	}
	row, column := position(l.at.node, nil, i)
	return fmt.Errorf("nn: %s: %v, row %d, column %d: %s", n.label(), l.at.node, row, column, wrong)
}

// first is the first value that is out of bounds, with what is wrong with it, or -1. wide says that ids stand for
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

// firstID is the first int64 value that is out of bounds, or -1. Every id that is looked up passes here.
func (l *limit) firstID(ids []int64, wide bool) int {
	below := uint64(l.below) // as a uint64 no negative id is below it
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
