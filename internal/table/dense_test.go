package table

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

func randomFloats(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// A block of any length, in chunks, is the rule on one slice.
//
// Promise: [G3] blocks are updated as a whole variable is
func TestDenseIsOneSlice(t *testing.T) {
	for _, rule := range testRules {
		for _, n := range []int{1, 100, denseChunk, denseChunk + 1, 3*denseChunk - 5} {
			t.Run(fmt.Sprintf("%+v/%d", rule, n), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				d, w := NewDense(n, rule), randomFloats(r, n)
				check(t, d.Set(w))
				state, got := make([]float32, rule.StateLen(n)), make([]float32, n)
				rules.InitState(rule, state)
				for step := int64(1); step < 5; step++ {
					g := randomFloats(r, n)
					rule.Update(w, g, state, &optimizer.State{Step: step})
					if step%2 == 0 {
						check(t, d.PushPull(g, got, step))
						same(t, "weights", w, got)
						continue
					}
					check(t, d.Push(g, step))
					check(t, d.Pull(got))
					same(t, "weights", w, got)
				}
				_, gotState, step := d.Snapshot()
				same(t, "state", state, gotState)
				if step != 4 {
					t.Fatalf("step %d, want 4", step)
				}
			})
		}
	}
}

// A snapshot that is restored goes on as if nothing had happened.
func TestDenseRestoreGoesOn(t *testing.T) {
	for _, rule := range testRules {
		r := rand.New(rand.NewPCG(2, 2))
		n := 2*denseChunk + 3
		a, b := NewDense(n, rule), NewDense(n, rule)
		check(t, b.Push(randomFloats(r, n), 9)) // to be overwritten
		for step := int64(1); step < 6; step++ {
			if step == 3 {
				check(t, b.Restore(a.Snapshot()))
			}
			g := randomFloats(r, n)
			check(t, a.Push(g, step))
			if step >= 3 {
				check(t, b.Push(g, 0)) // 0: the next
			}
		}
		wa, sa, stepA := a.Snapshot()
		wb, sb, stepB := b.Snapshot()
		same(t, "weights", wa, wb)
		same(t, "state", sa, sb)
		if stepA != stepB {
			t.Errorf("%+v: steps %d and %d", rule, stepA, stepB)
		}
	}
}

func TestDenseRestoreWithoutState(t *testing.T) {
	d := NewDense(2, optimizer.Adagrad{InitialAccumulator: 0.5})
	check(t, d.Push([]float32{1, 1}, 1))
	check(t, d.Restore([]float32{3, 4}, nil, 0))
	w, state, step := d.Snapshot()
	if !slices.Equal(w, []float32{3, 4}) || !slices.Equal(state, []float32{0.5, 0.5}) || step != 0 {
		t.Fatalf("weights %v, state %v, step %d", w, state, step)
	}
}

// whole is a rule that needs the norm of its slice.
type whole struct{ optimizer.SGD }

func (whole) WholeVariable() bool { return true }

func (whole) Update(w, g, _ []float32, _ *optimizer.State) {
	for i := range w {
		w[i] = float32(len(g))
	}
}

// shared keeps one number for a slice, however long.
type shared struct{ whole }

func (shared) WholeVariable() bool { return false }
func (shared) StateLen(int) int    { return 1 }

func TestDenseKeepsWholeVariablesWhole(t *testing.T) {
	n := 2 * denseChunk
	for _, rule := range []optimizer.Rule{whole{}, shared{}} {
		d, w := NewDense(n, rule), make([]float32, n)
		check(t, d.Push(w, 1))
		check(t, d.Pull(w))
		if w[0] != float32(n) {
			t.Errorf("%T saw a slice of %v weights, want %d", rule, w[0], n)
		}
		check(t, d.Restore(d.Snapshot()))
	}
}

func TestDenseManyGoroutines(t *testing.T) {
	const workers, n = 6, denseChunk + 10
	d := NewDense(n, optimizer.SGD{LR: 1})
	g := make([]float32, n)
	for i := range g {
		g[i] = -1
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			w := make([]float32, n)
			for range 10 {
				if err := errors.Join(d.Push(g, 0), d.Pull(w)); err != nil {
					t.Error(err)
				}
				if w[0] != w[denseChunk-1] || w[denseChunk] != w[n-1] {
					t.Error("a chunk was read in the middle of an update")
				}
			}
		})
	}
	wg.Wait()
	w, _, step := d.Snapshot()
	if w[0] != 10*workers || w[n-1] != 10*workers || step != 10*workers {
		t.Fatalf("weights %v and %v, step %d: want %d", w[0], w[n-1], step, 10*workers)
	}
}

func TestDenseRefuses(t *testing.T) {
	d, frozen := NewDense(4, optimizer.Adam{}), NewDense(4, nil)
	tests := []struct {
		name string
		err  error
		says string
	}{
		{"pull", d.Pull(make([]float32, 3)), "pull of a dense block of 4 weights with 3"},
		{"push", d.Push(make([]float32, 5), 1), "push of a dense block of 4 weights with 5"},
		{"push and pull", d.PushPull(make([]float32, 4), nil, 1), "pull of a dense block of 4 weights with 0"},
		{"frozen push and pull", frozen.PushPull(make([]float32, 4), make([]float32, 4), 1), "no rule"},
		{"set", d.Set(nil), "with 0"},
		{"restore", d.Restore(make([]float32, 4), make([]float32, 4), 0), "need 4 and 8"},
		{"frozen", frozen.Push(make([]float32, 4), 1), "no rule"},
	}
	for _, tt := range tests {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.says) {
			t.Errorf("%s: error %v, want one that says %q", tt.name, tt.err, tt.says)
		}
	}
}

func BenchmarkDense(b *testing.B) {
	const n = 1 << 20
	for _, rule := range []optimizer.Rule{optimizer.SGD{LR: 1e-3}, optimizer.Adam{LR: 1e-3}} {
		d, w := NewDense(n, rule), make([]float32, n)
		b.Run("push/"+rule.Name(), func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				d.Push(w, 0)
			}
		})
		b.Run("pull/"+rule.Name(), func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				d.Pull(w)
			}
		})
	}
}

// TestSpansAgainstWhole reads and writes pieces of a block in any cut.
func TestSpansAgainstWhole(t *testing.T) {
	const n = 2*denseChunk + 100
	d, want := NewDense(n, nil), make([]float32, n)
	for i, span := range [][2]int{{0, n}, {0, 0}, {n, n}, {5, 7}, {denseChunk - 3, 2 * denseChunk}, {denseChunk, denseChunk + 1}, {n - 150, n}} {
		part := want[span[0]:span[1]]
		for j := range part {
			part[j] = float32(i*n + j)
		}
		check(t, d.SetAt(span[0], part))
		got := make([]float32, len(part))
		check(t, d.PullAt(span[0], got))
		if !slices.Equal(got, part) {
			t.Fatalf("weights %v are not those set", span)
		}
	}
	got := make([]float32, n)
	check(t, d.Pull(got))
	if !slices.Equal(got, want) {
		t.Error("the whole is not its pieces")
	}
	for _, bad := range []error{d.SetAt(-1, nil), d.SetAt(n-1, []float32{1, 2}), d.PullAt(n+1, nil)} {
		if !errors.Is(bad, ErrShape) {
			t.Errorf("got %v", bad)
		}
	}
}
