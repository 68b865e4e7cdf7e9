package kernels_test

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// A layer of two outputs for a batch of two samples with three features, forward and back.
func Example() {
	x := []float32{1, 2, 3, 4, 5, 6}   // 2×3
	w := []float32{1, 0, 0, 1, -1, -1} // 3×2
	bias := []float32{0, 3}
	y := make([]float32, 4)
	kernels.Gemm(false, false, 2, 2, 3, x, w, y, false)
	kernels.AddBias(y, bias)
	kernels.ReLU(y, y)
	fmt.Println("y ", y)

	dy := []float32{1, 1, 1, 1}
	kernels.ReLUGrad(dy, y, dy, false)
	dw, db := make([]float32, 6), make([]float32, 2)
	kernels.Gemm(true, false, 3, 2, 2, x, dy, dw, false)
	kernels.SumRows(db, dy, false)
	fmt.Println("dw", dw)
	fmt.Println("db", db)
	// Output:
	// y  [0 2 0 2]
	// dw [0 5 0 7 0 9]
	// db [0 2]
}

// The rows of a batch's embeddings: each different id is fetched once and its gradients are summed.
func ExampleUnique() {
	var u kernels.Uniquer
	unique, inverse := kernels.Unique([]uint64{70, 3, 70, 11}, &u)
	fmt.Println(unique, inverse)

	rows := []float32{0.3, 0.3, 1.1, 1.1, 7, 7} // of ids 3, 11 and 70, two columns
	batch := make([]float32, 8)
	kernels.GatherRows(batch, rows, 2, inverse)
	fmt.Println(batch)

	grads := make([]float32, 6)
	kernels.ScatterAddRows(grads, []float32{1, 1, 1, 1, 1, 1, 1, 1}, 2, inverse)
	fmt.Println(grads)
	// Output:
	// [3 11 70] [2 0 2 1]
	// [7 7 0.3 0.3 7 7 1.1 1.1]
	// [1 1 1 1 2 2]
}
