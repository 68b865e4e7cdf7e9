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

// patch calls f for every pair of an element of image r and the place it takes among the patches: patches are of shape
// [C·K·K positions], and what lies in the padding is left out.
func (w window) patch(x, y *cell, r int, f func(patch, image int)) {
	channels, height, width := x.shape[1], x.shape[2], x.shape[3]
	rows, cols := y.shape[2], y.shape[3]
	image := r * channels * height * width
	for d := range channels * w.Kernel * w.Kernel {
		dx, dy, channel := d%w.Kernel-w.Padding, d/w.Kernel%w.Kernel-w.Padding, d/(w.Kernel*w.Kernel)
		for i := range rows {
			row := i*w.Stride + dy
			if row < 0 || row >= height {
				continue
			}
			from := image + (channel*height+row)*width
			for j := range cols {
				if col := j*w.Stride + dx; col >= 0 && col < width {
					f((d*rows+i)*cols+j, from+col)
				}
			}
		}
	}
}

// gather copies the patches of image r of x, y having one element for each position.
func (w window) gather(patches []float32, x, y *cell, r int) {
	clear(patches)
	w.patch(x, y, r, func(patch, image int) { patches[patch] = x.value[image] })
}

// spread adds patches to the gradient of image r of x: the reverse of gather.
func (w window) spread(patches []float32, x, y *cell, r int) {
	w.patch(x, y, r, func(patch, image int) { x.grad[image] += patches[patch] })
}
