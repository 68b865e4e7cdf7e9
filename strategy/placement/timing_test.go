package placement_test

import (
	"testing"

	"github.com/gofleet/gofleet/strategy/placement"
)

func BenchmarkServerOf(b *testing.B) {
	vars := append(wideDeep(), placement.Variable{Name: "user", Shape: []int{0, 16}, Open: true})
	p := mustPlan(b, vars, 3, placement.Options{})
	for name, v := range map[string]int{"height": 2, "open": len(vars) - 1} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			id, sum := uint64(1), 0
			for b.Loop() {
				id = (id*31 + 7) % 1000001
				sum += p.ServerOf(v, id)
			}
			if sum < 0 {
				b.Fatal("a row without a server")
			}
		})
	}
}
