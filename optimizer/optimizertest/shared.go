package optimizertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

// usesState searches for slots that no update ever writes: if two of the rule's slots share memory, or StateLen is too
// large.
func (e Exam) usesState(t *testing.T, rule optimizer.Rule) {
	r := rand.New(rand.NewPCG(9, 9))
	s := newSlice(rule, random(r, size))
	before := append([]float32(nil), s.state...)
	for step := int64(1); step <= steps; step++ {
		rule.Update(s.w, random(r, size), s.state, e.state(step))
	}
	for at := 0; at < len(before); at += size {
		end := min(at+size, len(before))
		if same(before[at:end], s.state[at:end]) {
			t.Errorf("state[%d:%d] is what it was after %d updates: two slots share memory, or StateLen(%d) is too "+
				"long", at, end, steps, size)
		}
	}
}

func same(a, b []float32) bool {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return false
		}
	}
	return true
}

// goroutines trains several variables concurrently, each in its own goroutine, and then one after another: data that a
// rule keeps in itself (scratch memory, a count of steps) causes a difference, or a report of the race detector.
func (e Exam) goroutines(t *testing.T, rule optimizer.Rule) {
	if e.Noise {
		t.Skip("the rule is not to be repeated")
	}
	const variables = 4
	var alone, together [variables]slice
	for i := range alone {
		alone[i] = e.train(rule, uint64(i))
	}
	var g sync.WaitGroup
	for i := range together {
		g.Go(func() { together[i] = e.train(rule, uint64(i)) })
	}
	g.Wait()
	for i := range alone {
		equal(t, "w", alone[i].w, together[i].w)
		equal(t, "state", alone[i].state, together[i].state)
	}
}

// train returns a variable after a long training.
func (e Exam) train(rule optimizer.Rule, seed uint64) slice {
	r := rand.New(rand.NewPCG(10, seed))
	s, st := newSlice(rule, random(r, size)), e.state(0)
	for range 50 * steps {
		st.Step++
		rule.Update(s.w, random(r, size), s.state, st)
	}
	return s
}

var address = regexp.MustCompile(`0x[0-9a-f]{6,}`)

// prints checks that a rule's printed form does not change with an update: processes of a job compare rules by it.
func (e Exam) prints(t *testing.T, rule optimizer.Rule) {
	before := fmt.Sprintf("%T%+v", rule, rule)
	if address.MatchString(before) {
		t.Errorf("%s has an address in it, which differs between processes: use plain fields, or give the type with "+
			"the pointer or function a String method", before)
	}
	if rule.Name() == "" {
		t.Error("Name is empty")
	}
	s := newSlice(rule, random(rand.New(rand.NewPCG(11, 11)), size))
	rule.Update(s.w, make([]float32, size), s.state, e.state(1))
	if after := fmt.Sprintf("%T%+v", rule, rule); after != before {
		t.Errorf("an update changes the rule from %s to %s: what changes belongs to the state", before, after)
	}
}

// initState checks that InitState does not depend on the memory's former contents.
func (e Exam) initState(t *testing.T, rule optimizer.Rule) {
	clean, dirty := make([]float32, rule.StateLen(size)), make([]float32, rule.StateLen(size))
	for i := range dirty {
		dirty[i] = float32(math.NaN())
	}
	rules.InitState(rule, clean)
	rules.InitState(rule, dirty)
	equal(t, "state", clean, dirty)
}
