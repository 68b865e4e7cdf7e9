package nn

import (
	"math"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestBidirectional: a row that is padded, before or behind, has at its real positions the states that it has by itself, read from either end by
// PyTorch's formula in float64; a position's first half is of what is before it, and its second of what is behind.
func TestBidirectional(t *testing.T) {
	const length, dim, size = 5, 2, 3
	for name, layer := range map[string]func(*Node, int, RecurrentOptions) *Node{"gru": GRU, "lstm": LSTM} {
		g := NewGraph(1)
		y := Bidirectional(layer, g.Input("x", length, dim), size, RecurrentOptions{Name: "layer", Mask: g.Input("mask", length)})
		law.Check(t, g.Err())
		weights := map[string][]float64{}
		for _, p := range Inference(y).Params() {
			for _, v := range p.W {
				weights[p.Name] = append(weights[p.Name], float64(v))
			}
		}
		step, gates := gru64, 3
		if name == "lstm" {
			step, gates = lstm64, 4
		}
		masks := [][]float32{{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}, {0, 0, 1, 1, 1}, {1, 0, 0, 0, 0}, {0, 0, 0, 0, 0}}
		for i, mask := range masks {
			x := uniform(uint32(i), length*dim, -2, 2)
			out, err := NewExecutor(g).Eval(t.Context(), batchOf{"x": floats([]int{1, length, dim}, x...), "mask": floats([]int{1, length}, mask...)}, y)
			law.Check(t, err)
			for half, of := range []string{"layer", "layer.reverse"} {
				state, memory := make([]float64, size), make([]float64, size)
				for n := range length {
					at := n
					if half == 1 {
						at = length - 1 - n
					}
					if mask[at] != 0 {
						in := make([]float64, gates*size)
						for j := range in {
							in[j] = weights[of+".b_0"][j]
							for d := range dim {
								in[j] += float64(x[at*dim+d]) * weights[of+".w_0"][d*gates*size+j]
							}
						}
						own := matmul64(state, weights[of+".w_1"], size, gates*size)
						for j := range own {
							own[j] += weights[of+".b_1"][j]
						}
						step(own, in, state, memory)
					}
					for j, want := range state {
						if got := out[0].Float32s()[at*2*size+half*size+j]; math.Abs(float64(got)-want) > 1e-6 {
							t.Errorf("%s, %s, row %d: state %d of position %d is %v, want %v", name, of, i, j, at, got, want)
						}
					}
				}
			}
		}
	}
}
