package nn

import (
	"fmt"

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
