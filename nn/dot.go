package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Dot scores candidates: of a query of shape [N D] and candidates of shape [N K·D], such as K looked-up rows, it gives
// the K inner products, of shape [N K].
func Dot(query, candidates *Node) *Node { return apply("", dot{}, query, candidates) }

type dot struct{}

func (dot) kind() string { return "dot" }
func (dot) byExample()   {}

func (dot) infer(in []*Node) ([]int, error) {
	q, k := in[0], in[1]
	if q.shape[0] != k.shape[0] || k.perExample()%q.perExample() != 0 {
		return nil, fmt.Errorf("%v and %v don't fit: shapes [N D] and [N K·D] are needed", q, k)
	}
	return []int{q.shape[0], k.perExample() / q.perExample()}, wantFloat(in)
}

func (dot) forward(c *cell) {
	dim, k := c.in[0].cols(), c.cols()
	for i := range c.value {
		c.value[i] = kernels.Dot(c.in[0].row(i/k), c.in[1].value[i*dim:(i+1)*dim])
	}
}

func (dot) backward(c *cell) {
	query, cands := c.in[0], c.in[1]
	dim, k := query.cols(), c.cols()
	if query.wanted {
		dx := query.sum()
		for i, g := range c.grad {
			kernels.Axpy(g, cands.value[i*dim:(i+1)*dim], dx[i/k*dim:(i/k+1)*dim])
		}
	}
	if cands.wanted {
		dx := cands.sum()
		for i, g := range c.grad {
			kernels.Axpy(g, query.row(i/k), dx[i*dim:(i+1)*dim])
		}
	}
}

// CosineSimilarity is a·b/(|a|·|b|) of each example's numbers, of shape [N 1]. The product of the lengths counts as
// 1e-8 at least.
func CosineSimilarity(a, b *Node) *Node { return apply("", cosine{}, a, b) }

const cosineEpsilon = 1e-8

type cosine struct{}

func (cosine) kind() string { return "cosine_similarity" }
func (cosine) byExample()   {}

func (cosine) infer(in []*Node) ([]int, error) {
	return []int{in[0].shape[0], 1}, sameShape(in)
}

func (cosine) forward(c *cell) {
	for r := range c.rows() {
		a, b := c.in[0].row(r), c.in[1].row(r)
		aa, ab, bb := products(a, b)
		c.value[r] = float32(ab / max(math.Sqrt(aa*bb), cosineEpsilon))
	}
}

// products returns the inner products of a and b with themselves and each other.
func products(a, b []float32) (aa, ab, bb float64) {
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		aa, ab, bb = aa+x*x, ab+x*y, bb+y*y
	}
	return aa, ab, bb
}

// backward computes d/da = (b − a·ab/aa)/(|a|·|b|), and the same for b.
func (cosine) backward(c *cell) {
	for side := range 2 {
		x, other := c.in[side], c.in[1-side]
		if !x.wanted {
			continue
		}
		dx, cols := x.sum(), x.cols()
		for r := range c.rows() {
			a, b := x.row(r), other.row(r)
			aa, ab, bb := products(a, b)
			cosineGrad(dx[r*cols:(r+1)*cols], a, b, float64(c.grad[r]), aa, ab, bb)
		}
	}
}

func cosineGrad(dx, a, b []float32, dy, aa, ab, bb float64) {
	lengths, pull := math.Sqrt(aa*bb), ab/aa
	if lengths <= cosineEpsilon { // here the denominator is constant
		lengths, pull = cosineEpsilon, 0
	}
	for i := range dx {
		dx[i] += float32(dy * (float64(b[i]) - float64(a[i])*pull) / lengths)
	}
}
