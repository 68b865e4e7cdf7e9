package kernels

import (
	"math/rand/v2"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestVectorPathsAgree: paths in assembly give the same bits as each other, so that workers with different processors of a
// family can take part in a training that is to be repeated exactly.
func TestVectorPathsAgree(t *testing.T) {
	law.Slow(t)
	all := paths()[1:]
	if len(all) < 2 {
		t.Skipf("this machine has %d paths in assembly", len(all))
	}
	defer func(old *backend) { active = old }(active)
	var want []float32
	for _, p := range all {
		active = p
		got := everything()
		if want != nil {
			sameBits(t, p.name+" beside "+all[0].name, got, want)
		}
		want = got
	}
}

// everything is the result of every function on random input of many lengths, and on extremes.
func everything() (all []float32) {
	r := rand.New(rand.NewPCG(25, 26))
	for n := 0; n < 130; n += 130 / tries(130) {
		x, y := random(r, n), random(r, n)
		all = append(all, Sum(x), Dot(x, y), active.max(x))
		for _, g := range grads {
			dx := random(r, n)
			g.f(dx, x, y, true)
			all = append(all, dx...)
		}
		Axpy(0.3, x, y)
		Beyond(0.3, y, x, y)
		Mul(x, x, y)
		all = append(append(all, x...), y...)
		everyKind(n+1, 2*n+1, 5*n+1, func(p product) {
			a, b, c := p.operands(r)
			p.run(a, b, c)
			all = append(all, c...)
		})
	}
	x := append(extremes()[2:], random(r, 3001)...)
	for scale := float32(1); scale < 200; scale *= 3 {
		Scale(scale, x)
		for _, u := range unaries {
			y := make([]float32, len(x))
			u.f(y, x)
			if u.name != "Log" { // NaN below zero
				all = append(all, y...)
			}
		}
		y := random(r, 40*37)
		Scale(scale, y)
		SoftmaxRows(y, y, 37)
		all = append(all, y...)
	}
	return all
}
