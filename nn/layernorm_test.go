package nn

import "testing"

// TestNormsOfLargeNumbers: numbers whose squares are beyond float32 have mean 0 and variance 1 too.
func TestNormsOfLargeNumbers(t *testing.T) {
	for _, scale := range []float32{1, 1e10, 1e19, 2e19, 1e30, 3e38} {
		g := NewGraph(1)
		x := g.Input("x", 4)
		feed := batchOf{"x": floats([]int{1, 4}, scale, -scale, scale, -scale)}
		layer, group := LayerNorm(x, NormOptions{}), GroupNorm(Reshape(x, 2, 2), 1, NormOptions{})
		out, err := NewExecutor(g).Eval(t.Context(), feed, layer, group)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out {
			if err := near(o.Float32s(), []float32{1, -1, 1, -1}, 1e-5, 1e-5); err != nil {
				t.Errorf("numbers of %v: %v", scale, err)
			}
		}
	}
}
