package nn

import "fmt"

// window is a square that slides over the last two dimensions of [N C H W].
type window struct {
	Kernel  int `json:"kernel"`
	Stride  int `json:"stride"`
	Padding int `json:"padding"`
}

// slide is the shape of x with one element for each position of the window.
func (w window) slide(x *Node) ([]int, error) {
	if len(x.shape) != 4 || x.shape[0] != batch {
		return nil, fmt.Errorf("input %v is not of shape [N C H W]", x)
	}
	if w.Kernel <= 0 || w.Stride <= 0 || w.Padding < 0 || w.Padding >= w.Kernel {
		return nil, fmt.Errorf("kernel %d, stride %d, padding %d: a kernel of at least 1 and a smaller padding are needed",
			w.Kernel, w.Stride, w.Padding)
	}
	shape := []int{batch, x.shape[1], 0, 0}
	for i := 2; i < 4; i++ {
		room := x.shape[i] + 2*w.Padding - w.Kernel
		if room < 0 {
			return nil, fmt.Errorf("a kernel of %d does not fit into %v with padding %d", w.Kernel, x, w.Padding)
		}
		shape[i] = room/w.Stride + 1
	}
	return shape, nil
}

// patch calls f for every row of positions of every element of a patch, patches being of shape [C·K·K positions]: run is where
// the row's positions lo … hi begin among the patches, and from where they begin in image r of x, a stride apart. The positions
// outside of lo … hi, and the rows that are not named, lie in the padding.
func (w window) patch(x, y *cell, r int, f func(run, lo, hi, from int)) {
	channels, height, width := x.shape[1], x.shape[2], x.shape[3]
	rows, cols := y.shape[2], y.shape[3]
	image := r * channels * height * width
	for d := range channels * w.Kernel * w.Kernel {
		dx, dy, channel := d%w.Kernel-w.Padding, d/w.Kernel%w.Kernel-w.Padding, d/(w.Kernel*w.Kernel)
		lo, hi := w.inside(dx, width, cols)
		for i := range rows {
			if row := i*w.Stride + dy; row >= 0 && row < height && lo < hi {
				f((d*rows+i)*cols, lo, hi, image+(channel*height+row)*width+lo*w.Stride+dx)
			}
		}
	}
}

// inside are the first position j with 0 ≤ j·stride + dx < size, and the first beyond them.
func (w window) inside(dx, size, positions int) (lo, hi int) {
	lo = max(0, (w.Stride-1-dx)/w.Stride)
	if dx >= 0 {
		lo = 0
	}
	hi = 0
	if size > dx {
		hi = min(positions, (size-1-dx)/w.Stride+1)
	}
	return lo, max(lo, hi)
}

// gather copies the patches of image r of x, y having one element for each position.
func (w window) gather(patches []float32, x, y *cell, r int) {
	if w.Padding > 0 {
		clear(patches)
	}
	w.patch(x, y, r, func(run, lo, hi, from int) {
		dst, src := patches[run+lo:run+hi], x.value[from:]
		if w.Stride == 1 {
			copy(dst, src)
			return
		}
		for i := range dst {
			dst[i] = src[i*w.Stride]
		}
	})
}

// spread adds patches to the gradient of image r of x: the reverse of gather.
func (w window) spread(patches []float32, x, y *cell, r int) {
	w.patch(x, y, r, func(run, lo, hi, from int) {
		src, dst := patches[run+lo:run+hi], x.grad[from:]
		if w.Stride == 1 {
			addTo(dst[:len(src)], src)
			return
		}
		for i, v := range src {
			dst[i*w.Stride] += v
		}
	})
}
