package nn

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestWindowsGather: patches of images of any size, under filters of any height, width, stride, dilation, padding and number
// of groups, are those that four loops find, and spread is the reverse of gather.
func TestWindowsGather(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(from, to int, name string) int { return rapid.IntRange(from, to).Draw(t, name) }
		o := conv2d{Width: draw(0, 3, "width"), Dilation: draw(0, 3, "dilation"), Groups: draw(0, 3, "groups"), Same: draw(0, 1, "same") == 1}
		o.Kernel, o.Stride = draw(1, 4, "kernel"), draw(1, 5, "stride")
		if !o.Same {
			o.Padding = draw(0, o.Kernel-1, "padding")
		}
		channels, height, width := o.groups()*draw(1, 2, "channels"), draw(1, 9, "height"), draw(1, 9, "wide")
		x := &cell{shape: []int{2, channels, height, width}, value: uniform(1, 2*channels*height*width, -1, 1)}
		rows, cols := o.slides(x.shape)
		if rows.positions == 0 || cols.positions == 0 {
			return
		}
		x.grad = make([]float32, len(x.value))
		group := draw(0, o.groups()-1, "group")
		patches := uniform(2, channels/o.groups()*rows.kernel*cols.kernel*rows.positions*cols.positions, -1, 1) // of the image before
		o.gather(patches, x, 1, group)
		want, reverse := o.slowly(x, rows, cols, 1, group)
		if !slices.Equal(patches, want) {
			t.Fatalf("patches are %v, want %v", patches, want)
		}
		ones := make([]float32, len(patches))
		for i := range ones {
			ones[i] = 1
		}
		o.spread(ones, x, 1, group)
		if !slices.Equal(x.grad, reverse) {
			t.Fatalf("elements are in %v patches, want %v", x.grad, reverse)
		}
	})
}

// slowly are the patches of a group of image r, and how many of them each element of x is in.
func (o conv2d) slowly(x *cell, rows, cols slide, r, group int) (patches, times []float32) {
	times = make([]float32, len(x.value))
	height, width, channels := x.shape[2], x.shape[3], x.shape[1]/o.groups()
	for ch := range channels {
		for k := range rows.kernel * cols.kernel {
			for at := range rows.positions * cols.positions {
				row := at/cols.positions*rows.stride + k/cols.kernel*rows.dilation - rows.before
				col := at%cols.positions*cols.stride + k%cols.kernel*cols.dilation - cols.before
				if row < 0 || row >= height || col < 0 || col >= width {
					patches = append(patches, 0)
					continue
				}
				i := ((r*x.shape[1]+group*channels+ch)*height+row)*width + col
				patches = append(patches, x.value[i])
				times[i]++
			}
		}
	}
	return patches, times
}

// TestLargestOfWindows: of any numbers the first of the largest is taken, and NaN is larger than all.
func TestLargestOfWindows(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	numbers := []float32{0, float32(math.Copysign(0, -1)), 1e-45, -1e-45, 1, -1, math.MaxFloat32, inf, -inf, nan, -nan}
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.SliceOfN(rapid.IntRange(0, len(numbers)-1), 2, 2).Draw(t, "numbers")
		x := &cell{shape: []int{1, 1, 1, 2}, value: []float32{numbers[drawn[0]], numbers[drawn[1]]}}
		c := &cell{shape: []int{1, 1, 1, 1}, in: []*cell{x}, value: make([]float32, 1)}
		maxPool{window{Kernel: 2, Stride: 2}}.forward(c)
		want := x.value[0]
		if a, b := x.value[0], x.value[1]; a == a && (b > a || b != b) {
			want = b
		}
		if math.Float32bits(c.value[0]) != math.Float32bits(want) {
			t.Fatalf("the largest of %v is %v, want %v", x.value, c.value[0], want)
		}
	})
}
