package kernels

import (
	"strings"
	"testing"
)

// panics fails unless f panics with a message of this package that names op.
func panics(t *testing.T, op string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if s, _ := recover().(string); !strings.HasPrefix(s, "kernels: "+op+": ") {
			t.Errorf("%s panicked with %q, want a message that names it", op, s)
		}
	}()
	f()
}

// TestWrongLengths: every function refuses slices that don't fit, before it touches them.
func TestWrongLengths(t *testing.T) {
	x, y := make([]float32, 6), make([]float32, 7)
	index := []int32{0, 1}
	for op, f := range map[string]func(){
		"Axpy":            func() { Axpy(1, x, y) },
		"Beyond":          func() { Beyond(1, x, x, y) },
		"Add":             func() { Add(x, x, y) },
		"Mul":             func() { Mul(x, y, x) },
		"Dot":             func() { Dot(x, y) },
		"AddBias":         func() { AddBias(y, x) },
		"SumRows":         func() { SumRows(x, y, true) },
		"ReLU":            func() { ReLU(x, y) },
		"Exp":             func() { Exp(x, y) },
		"Log":             func() { Log(x, y) },
		"Sigmoid":         func() { Sigmoid(x, y) },
		"Tanh":            func() { Tanh(x, y) },
		"ReLUGrad":        func() { ReLUGrad(x, x, y, true) },
		"SigmoidGrad":     func() { SigmoidGrad(x, y, x, true) },
		"TanhGrad":        func() { TanhGrad(y, x, x, true) },
		"SoftmaxRows":     func() { SoftmaxRows(y, y, 2) },
		"SoftmaxRowsGrad": func() { SoftmaxRowsGrad(x, x, x, 0, false) },
		"GatherRows":      func() { GatherRows(y, x, 3, index) },
		"ScatterAddRows":  func() { ScatterAddRows(y, x, 3, index) },
		"Gemm":            func() { Gemm(false, false, 2, 3, 3, x, x, x, false) },
	} {
		panics(t, op, f)
	}
}
