package nn

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestWindowsGather: patches of images of any size, under kernels, strides and padding of any, are those that four loops find, and
// spread is the reverse of gather.
func TestWindowsGather(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := window{Kernel: rapid.IntRange(1, 4).Draw(t, "kernel"), Stride: rapid.IntRange(1, 5).Draw(t, "stride")}
		w.Padding = rapid.IntRange(0, w.Kernel-1).Draw(t, "padding")
		size := rapid.IntRange(max(1, w.Kernel-2*w.Padding), 7)
		channels, height, width := rapid.IntRange(1, 3).Draw(t, "channels"), size.Draw(t, "height"), size.Draw(t, "width")
		shape, err := w.slide(NewGraph(1).Input("x", channels, height, width))
		if err != nil {
			t.Fatal(err)
		}
		x := &cell{shape: []int{2, channels, height, width}, value: uniform(1, 2*channels*height*width, -1, 1)}
		x.grad = make([]float32, len(x.value))
		y := &cell{shape: append([]int{2}, shape[1:]...)}
		patches := uniform(2, channels*w.Kernel*w.Kernel*shape[2]*shape[3], -1, 1) // of the image before
		w.gather(patches, x, y, 1)
		want, reverse := w.slowly(x, y, 1)
		if !slices.Equal(patches, want) {
			t.Fatalf("patches are %v, want %v", patches, want)
		}
		ones := make([]float32, len(patches))
		for i := range ones {
			ones[i] = 1
		}
		w.spread(ones, x, y, 1)
		if !slices.Equal(x.grad, reverse) {
			t.Fatalf("elements are in %v patches, want %v", x.grad, reverse)
		}
	})
}

// slowly are the patches of image r, and how many of them each element of x is in.
func (w window) slowly(x, y *cell, r int) (patches, times []float32) {
	times = make([]float32, len(x.value))
	height, width := x.shape[2], x.shape[3]
	for ch := range x.shape[1] {
		for k := range w.Kernel * w.Kernel {
			for at := range y.shape[2] * y.shape[3] {
				row, col := at/y.shape[3]*w.Stride+k/w.Kernel-w.Padding, at%y.shape[3]*w.Stride+k%w.Kernel-w.Padding
				if row < 0 || row >= height || col < 0 || col >= width {
					patches = append(patches, 0)
					continue
				}
				i := ((r*x.shape[1]+ch)*height+row)*width + col
				patches = append(patches, x.value[i])
				times[i]++
			}
		}
	}
	return patches, times
}
