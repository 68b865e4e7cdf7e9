package optimizertest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// slices trains one variable whole and in pieces: not one bit may differ.
func (e Exam) slices(t *testing.T, rule optimizer.Rule) {
	if e.Whole {
		t.Skip("the rule sees its slice as a whole")
	}
	if rule.StateLen(size)%size != 0 {
		t.Fatalf("StateLen(%d) = %d: want a multiple of the slice, or Exam.Whole", size,
			rule.StateLen(size))
	}
	for _, cuts := range [][]int{{0, 1, size}, {0, 8, 16, 24, size}, {0, 17, 18, size}} {
		r := rand.New(rand.NewPCG(2, 2))
		whole := newSlice(rule, random(r, size))
		parts := cut(rule, whole.w, cuts)
		for step := int64(1); step <= steps; step++ {
			g := random(r, size)
			rule.Update(whole.w, g, whole.state, e.state(step))
			for i, p := range parts {
				rule.Update(p.w, g[cuts[i]:cuts[i+1]], p.state, e.state(step))
			}
		}
		for i, p := range parts {
			equal(t, "w", whole.w[cuts[i]:cuts[i+1]], p.w)
			e.equalSlots(t, whole, p, cuts[i])
		}
	}
}

func cut(rule optimizer.Rule, w []float32, cuts []int) []slice {
	var parts []slice
	for i := range len(cuts) - 1 {
		parts = append(parts, newSlice(rule, w[cuts[i]:cuts[i+1]]))
	}
	return parts
}

// equalSlots compares a part's state with its piece of every slot of the whole.
func (e Exam) equalSlots(t *testing.T, whole, part slice, at int) {
	t.Helper()
	n, k := len(whole.w), len(part.w)
	for slot := range len(whole.state) / n {
		equal(t, "state", whole.state[slot*n+at:][:k], part.state[slot*k:][:k])
	}
}

func equal(t *testing.T, what string, a, b []float32) {
	t.Helper()
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			t.Fatalf("%s[%d]: %v and %v", what, i, a[i], b[i])
		}
	}
}
