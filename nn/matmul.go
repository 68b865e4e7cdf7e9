package nn

import "fmt"

// MatMul is the matrix product of a, of shape [N k], and b, of a fixed shape [k m].
func MatMul(a, b *Node) *Node { return apply("", matmul{}, a, b) }

// matmul is a linear layer without bias that does not flatten.
type matmul struct{ linear }

func (matmul) kind() string { return "matmul" }

func (m matmul) infer(in []*Node) ([]int, error) {
	if len(in[0].shape) != 2 {
		return nil, fmt.Errorf("shapes [N k] and [k m] are needed, not %v and %v", in[0], in[1])
	}
	return m.linear.infer(in)
}
