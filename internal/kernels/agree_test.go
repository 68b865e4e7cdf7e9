package kernels

import (
	"encoding/binary"
	"hash/crc32"
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
		got := everything(130 / tries(130))
		if want != nil {
			sameBits(t, p.name+" beside "+all[0].name, got, want)
		}
		want = got
	}
}

// TestMachinesAgree: paths in assembly give the same bits on all kinds of processor, NEON's those of AVX2.
//
// Promise: [G2] products, sums and functions have the same bits on amd64 with AVX2 and on arm64
func TestMachinesAgree(t *testing.T) {
	defer func(old *backend) { active = old }(active)
	for _, p := range paths()[1:] {
		active = p
		sum := crc32.NewIEEE()
		for _, v := range everything(26) {
			if v != v {
				v = mark // kinds of processor have NaNs of their own
			}
			binary.Write(sum, binary.LittleEndian, v)
		}
		if got := sum.Sum32(); got != 0xc95175a9 {
			t.Errorf("path %s has results with the checksum %#x", p.name, got)
		}
	}
}

// everything is the result of every function on random input of every step-th length, and on extremes.
func everything(step int) (all []float32) {
	r := rand.New(rand.NewPCG(25, 26))
	for n := 0; n < 130; n += step {
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
