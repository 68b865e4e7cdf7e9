package table

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestForesight: a block that foresees gives weights that have moved on by its rule's momentum, which is what updates with zero
// gradients make of them, and keeps its own.
func TestForesight(t *testing.T) {
	const n, mu = 40_000, 0.5 // three chunks
	for _, rule := range []optimizer.Rule{optimizer.Momentum{LR: 0.5, Momentum: mu}, optimizer.ClipByValue{Rule: optimizer.Momentum{LR: 0.5, Momentum: mu}, Max: 9}} {
		d := NewDense(n, rule)
		d.Foresee()
		g, w, ahead := make([]float32, n), make([]float32, n), make([]float32, n)
		for i := range g {
			g[i] = float32(i%5) - 2
		}
		for updates := range 4 {
			check(t, d.PullAhead(0, ahead, updates))
			check(t, d.Pull(w))
			if !slices.Equal(ahead, w) {
				t.Fatal("a block that was never updated moves on")
			}
		}
		check(t, d.Push(g, 1))
		check(t, d.Pull(w))
		for updates, carried := range []float32{0, mu, mu + mu*mu, mu + mu*mu + mu*mu*mu} {
			check(t, d.PullAhead(7, ahead[7:], updates))
			for i := 7; i < n; i++ {
				if want := w[i] - carried*0.5*g[i]; ahead[i] != want {
					t.Fatalf("%d updates on, weight %d is %v, want %v: it is %v", updates, i, ahead[i], want, w[i])
				}
			}
		}
		check(t, d.Set(g))
		check(t, d.PullAhead(0, ahead, 3))
		if !slices.Equal(ahead, g) {
			t.Error("weights that were set move on")
		}
	}
}

// TestNoForesight: without momentum, or without being asked, a block gives what it has.
func TestNoForesight(t *testing.T) {
	for name, rule := range map[string]optimizer.Rule{"sgd": optimizer.SGD{LR: 1}, "adagrad": optimizer.Adagrad{LR: 1}, "not asked": optimizer.Adam{}} {
		d := NewDense(3, rule)
		if name != "not asked" {
			d.Foresee()
		}
		check(t, d.Push([]float32{1, -2, 3}, 1))
		w, ahead := make([]float32, 3), make([]float32, 3)
		check(t, d.Pull(w))
		check(t, d.PullAhead(0, ahead, 5))
		if !slices.Equal(w, ahead) {
			t.Errorf("%s: %v, want %v", name, ahead, w)
		}
	}
}
