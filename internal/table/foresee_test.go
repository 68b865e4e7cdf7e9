package table

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestForesight: a push gives weights that have moved on by its rule's momentum, which is what updates with zero gradients make of them,
// and the block keeps its own, those that Push makes.
func TestForesight(t *testing.T) {
	const n, mu = 40_000, 0.5 // three chunks
	for _, rule := range []optimizer.Rule{optimizer.Momentum{LR: 0.5, Momentum: mu}, optimizer.ClipByValue{Rule: optimizer.Momentum{LR: 0.5, Momentum: mu}, Max: 9}} {
		for updates, carried := range []float32{0, mu, mu + mu*mu, mu + mu*mu + mu*mu*mu} {
			d, twin := NewDense(n, rule), NewDense(n, rule)
			g, before, now, ahead, want := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
			for i := range g {
				g[i] = float32(i%5) - 2
			}
			for range 2 {
				check(t, d.Pull(before))
				check(t, twin.Push(g, 0))
				check(t, d.PushAhead(g, ahead, 0, updates))
				check(t, d.Pull(now))
				check(t, twin.Pull(want))
				if !slices.Equal(now, want) {
					t.Fatal("the block's own weights are not those of a push")
				}
				for i := range now {
					if want := now[i] + carried*(now[i]-before[i]); ahead[i] != want {
						t.Fatalf("%d updates on, weight %d is %v, want %v: it was %v and is %v", updates, i, ahead[i], want, before[i], now[i])
					}
				}
			}
		}
	}
}

// TestNoForesight: without momentum a block gives what it has.
func TestNoForesight(t *testing.T) {
	for name, rule := range map[string]optimizer.Rule{"sgd": optimizer.SGD{LR: 1}, "adagrad": optimizer.Adagrad{LR: 1}, "rmsprop": optimizer.RMSProp{}} {
		d := NewDense(3, rule)
		w, ahead := make([]float32, 3), make([]float32, 3)
		check(t, d.PushAhead([]float32{1, -2, 3}, ahead, 1, 5))
		check(t, d.Pull(w))
		if !slices.Equal(w, ahead) {
			t.Errorf("%s: %v, want %v", name, ahead, w)
		}
	}
	d := NewDense(3, optimizer.Adam{})
	if d.PushAhead(make([]float32, 3), make([]float32, 2), 1, 5) == nil || NewDense(3, nil).PushAhead(make([]float32, 3), make([]float32, 3), 1, 5) == nil {
		t.Error("room for too few weights, or a block without a rule, is taken")
	}
}
