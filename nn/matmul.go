package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// MatMul is the matrix product of a, of shape [N k], and b, of a fixed shape [k m]; or, example by example, of a of
// shape [N … m k] and b of shape [N … k n], where … stands for the same dimensions.
func MatMul(a, b *Node) *Node {
	if b != nil && !b.bad && len(b.shape) > 0 && b.shape[0] == batch {
		return apply("", batchMatMul{}, a, b)
	}
	return apply("", matmul{}, a, b)
}

// MatMulT is the matrix product of a and the transpose of b, example by example: of shapes [N … m k] and [N … n k] it
// is [N … m n], such as the scores of queries and keys.
func MatMulT(a, b *Node) *Node { return apply("", batchMatMul{Transposed: true}, a, b) }

// matmul is a linear layer without bias that does not flatten its input.
type matmul struct{ linear }

func (matmul) kind() string { return "matmul" }

func (m matmul) infer(in []*Node) ([]int, error) {
	if len(in[0].shape) != 2 {
		return nil, fmt.Errorf("shapes [N k] and [k m] are needed, not %v and %v", in[0], in[1])
	}
	return m.linear.infer(in)
}

// batchMatMul is a product of two matrices for each example, or for each of its parts, such as heads.
type batchMatMul struct {
	Transposed bool `json:"transposed,omitempty"` // the second matrix
}

func (batchMatMul) kind() string  { return "batch_matmul" }
func (batchMatMul) byExample()    {}
func (batchMatMul) overwritable() {}

func (o batchMatMul) infer(in []*Node) ([]int, error) {
	if err := wantFloat(in); err != nil {
		return nil, err
	}
	a, b := in[0].shape, in[1].shape
	last := len(a) - 1
	if last < 2 || len(b) != len(a) || a[0] != batch || !equalShapes(a[:last-1], b[:last-1]) {
		return nil, fmt.Errorf("can't multiply %v and %v: want shapes [N … m k] and [N … k n]", in[0], in[1])
	}
	inner, n := b[last-1], b[last]
	if o.Transposed {
		inner, n = n, inner
	}
	if a[last] != inner {
		return nil, fmt.Errorf("%v and %v can't be multiplied: one has %d columns, the other %d", in[0], in[1], a[last],
			inner)
	}
	return append(append([]int(nil), a[:last]...), n), nil
}

// each calls f for each product, with its sizes and its number.
func (o batchMatMul) each(c *cell, f func(i, m, n, k int)) {
	last := len(c.shape) - 1
	m, n, k := c.shape[last-1], c.shape[last], c.in[0].shape[last]
	for i := range product(c.shape[:last-1]) {
		f(i, m, n, k)
	}
}

// matrixOf returns the i-th matrix of x, each of size elements.
func matrixOf(x []float32, i, size int) []float32 { return x[i*size : (i+1)*size] }

func (o batchMatMul) forward(c *cell) {
	a, b := c.in[0].value, c.in[1].value
	o.each(c, func(i, m, n, k int) {
		kernels.Gemm(false, o.Transposed, m, n, k, matrixOf(a, i, m*k), matrixOf(b, i, k*n), matrixOf(c.value, i, m*n),
			false)
	})
}

// backward computes da = dy·bᵀ and db = aᵀ·dy, or dyᵀ·a for a transposed b.
func (o batchMatMul) backward(c *cell) {
	a, b := c.in[0], c.in[1]
	if a.wanted {
		add := a.adds()
		o.each(c, func(i, m, n, k int) {
			kernels.Gemm(false, !o.Transposed, m, k, n, matrixOf(c.grad, i, m*n), matrixOf(b.value, i, k*n),
				matrixOf(a.grad, i, m*k), add)
		})
	}
	if !b.wanted {
		return
	}
	add := b.adds()
	o.each(c, func(i, m, n, k int) {
		x, dy, db := matrixOf(a.value, i, m*k), matrixOf(c.grad, i, m*n), matrixOf(b.grad, i, k*n)
		if o.Transposed {
			kernels.Gemm(true, false, n, k, m, dy, x, db, add)
		} else {
			kernels.Gemm(true, false, k, n, m, x, dy, db, add)
		}
	})
}
