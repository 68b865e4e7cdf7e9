package nn

import "testing"

// TestConvolutionsRefuse: options that nothing can be made of, or whose reach is no number, are mistakes and no panic, and a
// negative option is no default.
func TestConvolutionsRefuse(t *testing.T) {
	const far = 1 << 62
	for _, o := range []ConvOptions{{Kernel: 3, Dilation: far}, {Kernel: 5, Dilation: far}, {Kernel: far + 1, Dilation: 4},
		{Kernel: 3, Dilation: far, Same: true}, {Kernel: 2, Stride: -1}, {Kernel: 2, Groups: -1}, {Kernel: 2, Width: -1}, {Kernel: 2, Dilation: -1}} {
		g := NewGraph(1)
		if y := Conv1D(g.Input("x", 8, 2), 2, o); y.Err() == nil {
			t.Errorf("Conv1D %+v: shape %v", o, y.Shape())
		}
		if y := Conv2D(NewGraph(1).Input("x", 2, 8, 8), 2, o); y.Err() == nil {
			t.Errorf("Conv2D %+v: shape %v", o, y.Shape())
		}
	}
	if y := Conv1D(NewGraph(1).Input("x", 4, 2), 2, ConvOptions{Kernel: 3, Dilation: 8, Padding: 8}); y.Err() != nil {
		t.Errorf("a kernel that reaches into padding alone: %v", y.Err())
	}
}
