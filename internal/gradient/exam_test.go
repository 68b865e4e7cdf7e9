package gradient

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// policies are everything that is done to gradients on their way from a backward pass to an update.
type policies struct {
	k         int // steps that are accumulated; 0 does not
	sum       bool
	notFinite strategy.NotFinite
	rule      optimizer.Rule
	byNorm    bool
	merge     strategy.Strategy
	merged    int // steps that travel together
	workers   int
	weighting strategy.Weighting
}

// weightings are all.
var weightings = []strategy.Weighting{strategy.WeightSamples, strategy.WeightEqual, strategy.WeightPushes}

func drawPolicies(r *rand.Rand) policies {
	rules := []optimizer.Rule{optimizer.SGD{LR: 1}, optimizer.Adagrad{LR: 1}, optimizer.ClipByValue{Rule: optimizer.SGD{LR: 1}, Max: 0.5},
		optimizer.ClipByNorm{Rule: optimizer.SGD{LR: 1}, Norm: 1}, optimizer.ClipByGlobalNorm{Rule: optimizer.Adagrad{LR: 1}, Norm: 1}}
	return policies{k: r.IntN(4), sum: half(r), notFinite: pick(r, []strategy.NotFinite{strategy.NotFiniteRefuse, strategy.NotFiniteSkip, strategy.NotFiniteClip}), rule: pick(r, rules), byNorm: half(r),
		merge:  strategy.Strategy{Mode: strategy.ModeAsync, Merge: pick(r, []strategy.Merge{strategy.MergeMean, strategy.MergeSum, ""})},
		merged: 1 + r.IntN(3), workers: 1 + r.IntN(3), weighting: pick(r, weightings)}
}

func half(r *rand.Rand) bool { return r.IntN(2) == 0 }

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// sums says whether steps that travel together are added up.
func (p policies) sums() bool { return p.merge.Sums(rules.Additive(p.rule)) }

// drawModel draws variables and embeddings, some of them frozen, some with tables that read shows and clicks.
func drawModel(r *rand.Rand) (params []*optimizer.Param) {
	for i := range 1 + r.IntN(4) {
		n := 1 + r.IntN(5)
		p := &optimizer.Param{Name: string(rune('a' + i)), Shape: []int{n}, G: make([]float32, n), Frozen: r.IntN(5) == 0}
		if p.Embedding = half(r); p.Embedding {
			p.Shape, p.G = []int{0, n}, nil
			if half(r) {
				p.Entry.ShowClick.Threshold = 1
			}
		}
		params = append(params, p)
	}
	return params
}

// drawStep draws a batch, with its gradients of variables in G of the params. One number of so many is not finite.
func drawStep(r *rand.Rand, params []*optimizer.Param, badOf int) *optimizer.Step {
	numbers := func(n int) []float32 {
		g := make([]float32, n)
		for i := range g {
			if g[i] = 4*r.Float32() - 2; r.IntN(badOf) == 0 {
				g[i] = pick(r, []float32{nan, inf, -inf})
			}
		}
		return g
	}
	counts := func(n int) []float32 {
		if half(r) {
			return nil
		}
		some := make([]float32, n)
		for i := range some {
			some[i] = float32(r.IntN(9))
		}
		return some
	}
	st := &optimizer.Step{Samples: 1 + r.IntN(9)}
	for _, p := range params {
		if !p.Embedding {
			copy(p.G, numbers(len(p.G)))
			continue
		}
		n := r.IntN(7)
		ids := someIDs(r, n, 7)
		st.Rows = append(st.Rows, optimizer.Rows{Param: p, IDs: ids, G: numbers(n * p.Dim()), Show: counts(n), Click: counts(n)})
	}
	return st
}

// candidate is a worker that treats gradients by the package, and twin what they come to by the maps.
type candidate struct {
	policies
	t      *testing.T
	r      *rand.Rand
	badOf  int
	params []*optimizer.Param
	seen   atomic.Int64
	sum    *Accumulator
	intake *Intake
	merger *Merger
	twins  int // of seen
}

func newCandidate(t *testing.T, r *rand.Rand, p policies, params []*optimizer.Param) *candidate {
	c := &candidate{policies: p, t: t, r: r, badOf: 10 + r.IntN(1000), params: params, sum: NewAccumulator(params, p.sum), merger: NewMerger(params, p.rule, p.merge)}
	clip := NewClipper(params, p.rule, p.byNorm, p.merge.Sums(true))
	c.intake = NewIntake(params, optimizer.SGD{}, Guard{p.notFinite, &c.seen}, clip)
	return c
}

// step is a step of the worker, or k that make one, and its twin. ok is false where the policy refuses it.
func (c *candidate) step() (s Step, twin plain, ok bool) {
	st := c.draw()
	if twin = plainOf(c.params, st, false); c.k > 0 {
		all := []plain{plainOf(c.params, st, true)}
		c.add(st)
		for range c.k - 1 {
			st = c.draw()
			c.add(st)
			all = append(all, plainOf(c.params, st, true))
		}
		if st = c.sum.Take(st); c.policies.sum {
			twin = together(all, once, false)
		} else {
			twin = together(all, bySamples(all), false)
		}
	}
	found := twin.guarded(c.notFinite)
	c.twins += found
	s, err := c.intake.Take(st)
	if refused := c.notFinite == strategy.NotFiniteRefuse && found > 0; refused != (err != nil) {
		c.t.Fatalf("%d gradients are not finite, error %v", found, err)
	}
	c.clip(twin)
	return s, twin, err == nil
}

func (c *candidate) draw() *optimizer.Step { return drawStep(c.r, c.params, c.badOf) }

func (c *candidate) add(st *optimizer.Step) {
	if err := c.sum.Add(st); err != nil {
		c.t.Fatal(err)
	}
}

// clip is the worker's part of the rule for the twin.
func (c *candidate) clip(twin plain) {
	switch r := c.rule.(type) {
	case optimizer.ClipByNorm:
		if c.byNorm {
			twin.clipped(r.Norm, false)
		}
	case optimizer.ClipByGlobalNorm:
		if c.byNorm {
			twin.clipped(r.Norm, true)
		}
	case optimizer.ClipByValue:
		if c.merge.Sums(true) {
			twin.limited(r.Max)
		}
	}
}

// push is what the worker hands over, and its twin.
func (c *candidate) push() (push Step, twin plain, ok bool) {
	push = NewStep(c.params)
	for i := range c.merged {
		s, next, ok := c.step()
		if !ok {
			return push, twin, false
		}
		if i == 0 {
			push.Set(s)
			twin = next
			continue
		}
		c.merger.Add(&push, s)
		if all := []plain{twin, next}; c.sums() {
			twin = together(all, once, false)
		} else {
			twin = together(all, bySamples(all), false)
		}
	}
	return push, twin, true
}

func once(int, place) float64 { return 1 }

// TestPoliciesTwin holds every policy, and all of them after each other, to loops over maps: what k steps make, what is not finite,
// what is too long, what travels together, and what a round of workers comes to.
//
// Promise: [G2] what k steps make, what is not finite, clips, merges and folds, one after the other, are what loops
// over maps come to
func TestPoliciesTwin(t *testing.T) {
	law.Slow(t)
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		p, params := drawPolicies(r), drawModel(r)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { examine(t, r, p, params) })
	}
}

func examine(t *testing.T, r *rand.Rand, p policies, params []*optimizer.Param) {
	var pushes []Step
	var twins []plain
	for range p.workers {
		c := newCandidate(t, r, p, params)
		for range 2 { // the second time in memory of the first
			push, twin, ok := c.push()
			if !ok {
				return
			}
			if c.seen.Load() != int64(c.twins) {
				t.Fatalf("%+v: %d gradients were counted, want %d", p, c.seen.Load(), c.twins)
			}
			compare(t, params, push, twin)
			pushes, twins = append(pushes, push), append(twins, twin)
		}
	}
	compare(t, params, round(params, p.weighting, pushes), roundOf(p.weighting, twins))
}

// round folds pushes as servers do.
func round(params []*optimizer.Param, w strategy.Weighting, pushes []Step) Step {
	all, samples := NewStep(params), []int(nil)
	for _, s := range pushes {
		samples = append(samples, s.Samples)
	}
	factors := Factors(nil, w, samples)
	e := 0
	for i, p := range params {
		var dense [][]float32
		var rows []Rows
		for _, s := range pushes {
			if dense = append(dense, s.Dense[i]); p.Embedding {
				rows = append(rows, s.Rows[e])
			}
		}
		if FoldDense(all.Dense[i], dense, factors); p.Embedding {
			all.Rows[e] = new(Folder).Fold(p, rows, factors, w)
			e++
		}
	}
	return all
}

func roundOf(w strategy.Weighting, twins []plain) plain {
	if w == strategy.WeightSamples {
		return together(twins, bySamples(twins), false)
	}
	return together(twins, func(_ int, at place) float64 {
		if w == strategy.WeightPushes && at.row {
			return 1
		}
		return 1 / float64(len(twins))
	}, w == strategy.WeightPushes)
}

// compare holds a step to its twin.
func compare(t *testing.T, params []*optimizer.Param, got Step, want plain) {
	e, rows := 0, 0
	for i, p := range params {
		switch {
		case !p.Embedding && !p.Frozen:
			near(t, place{param: p.Name}, got.Dense[i], want.g[place{param: p.Name}])
		case p.Embedding:
			r := got.Rows[e]
			e, rows = e+1, rows+len(r.IDs)
			if !slices.IsSorted(r.IDs) {
				t.Fatalf("%q: ids %v", p.Name, r.IDs)
			}
			for k, id := range r.IDs {
				at := place{p.Name, true, id}
				if near(t, at, r.G[k*p.Dim():][:p.Dim()], want.g[at]); (r.Clicks != nil) != want.said[at] {
					t.Fatalf("%+v: clicks %v, something is said: %t", at, r.Clicks, want.said[at])
				}
				if r.Clicks != nil {
					n := want.clicks[at]
					near(t, at, r.Clicks[2*k:][:2], n[:])
				}
			}
		}
	}
	for at := range want.g {
		if at.row {
			rows--
		}
	}
	if rows != 0 {
		t.Fatalf("%d rows too many", rows)
	}
}

func near(t *testing.T, at place, got []float32, want []float64) {
	if len(got) != len(want) {
		t.Fatalf("%+v: %v, want %v", at, got, want)
	}
	for i, v := range got {
		if math.Abs(float64(v)-want[i]) > 1e-4*(1+math.Abs(want[i])) {
			t.Fatalf("%+v: %v, want %v", at, got, want)
		}
	}
}
