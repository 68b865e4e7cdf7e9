package kernels

import "fmt"

// checkLen panics unless the slice called name, an argument of op, has the length that the other arguments require.
func checkLen(op, name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("kernels: %s: %s has %d elements, want %d", op, name, got, want))
	}
}

// checkRows panics unless n elements are whole rows of cols elements.
func checkRows(op string, n, cols int) {
	if n != 0 && (cols <= 0 || n%cols != 0) {
		panic(fmt.Sprintf("kernels: %s: %d elements are not rows of %d", op, n, cols))
	}
}
