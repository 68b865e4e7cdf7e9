package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchVectors measures loops over n elements, in elements of a nanosecond.
func benchVectors(b *testing.B, n int, loops map[string]func(dst, x, y []float32)) {
	benchPaths(b, func(b *testing.B) {
		for name, loop := range loops {
			b.Run(fmt.Sprintf("%s-%d", name, n), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				dst, x, y := random(r, n), random(r, n), random(r, n)
				for b.Loop() {
					loop(dst, x, y)
				}
				b.ReportMetric(float64(n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "elements/ns")
			})
		}
	})
}

func BenchmarkVectors(b *testing.B) {
	benchVectors(b, 512*16, map[string]func(dst, x, y []float32){
		"Axpy":    func(dst, x, _ []float32) { Axpy(1e-9, x, dst) },
		"Scale":   func(dst, _, _ []float32) { Scale(1, dst) },
		"Add":     func(dst, x, y []float32) { Add(dst, x, y) },
		"Dot":     func(_, x, y []float32) { Dot(x, y) },
		"Sum":     func(_, x, _ []float32) { Sum(x) },
		"AddBias": func(dst, x, _ []float32) { AddBias(dst, x[:512]) },
		"SumRows": func(dst, x, _ []float32) { SumRows(dst[:512], x, true) },
	})
}

func BenchmarkActivations(b *testing.B) {
	benchVectors(b, 512*16, map[string]func(dst, x, y []float32){
		"ReLU":            func(dst, x, _ []float32) { ReLU(dst, x) },
		"Exp":             func(dst, x, _ []float32) { Exp(dst, x) },
		"Log":             func(dst, x, _ []float32) { Log(dst, x) },
		"Sigmoid":         func(dst, x, _ []float32) { Sigmoid(dst, x) },
		"Tanh":            func(dst, x, _ []float32) { Tanh(dst, x) },
		"ReLUGrad":        func(dst, x, y []float32) { ReLUGrad(dst, x, y, false) },
		"SigmoidGrad":     func(dst, x, y []float32) { SigmoidGrad(dst, x, y, true) },
		"TanhGrad":        func(dst, x, y []float32) { TanhGrad(dst, x, y, true) },
		"SoftmaxRows":     func(dst, x, _ []float32) { SoftmaxRows(dst, x, 16) },
		"SoftmaxRowsGrad": func(dst, x, y []float32) { SoftmaxRowsGrad(dst, x, y, 16, false) },
	})
}
