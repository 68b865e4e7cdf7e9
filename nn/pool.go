package nn

import (
	"fmt"
	"math"
)

// PoolOptions describe the window of a pooling layer.
type PoolOptions struct {
	// Kernel is the window's height and width.
	Kernel int
	// Stride is the distance of two positions; 0 means Kernel.
	Stride int
	// Padding is the number of positions added on each side, which are not counted.
	Padding int
}

func (o PoolOptions) window() window {
	if o.Stride == 0 {
		o.Stride = o.Kernel
	}
	return window(o)
}

// MaxPool2D takes the largest element in each window of x, of shape [N C H W]; the result has shape [N C H' W'] as that
// of [Conv2D]. The first of equal elements gets the gradient.
func MaxPool2D(x *Node, o PoolOptions) *Node { return apply("", maxPool{o.window()}, x) }

// AvgPool2D takes the mean of each window of x, of shape [N C H W], counting only the elements inside x.
func AvgPool2D(x *Node, o PoolOptions) *Node { return apply("", avgPool{o.window()}, x) }

func (w window) infer(in []*Node) ([]int, error) {
	if err := wantFloat(in); err != nil {
		return nil, err
	}
	return w.slide(in[0])
}

// pooled calls f for every row of the result, which begins at out, with the rows that its windows cover in its
// channel's plane.
func (w window) pooled(c *cell, f func(out, plane int, rows [2]int)) {
	height, width := c.in[0].shape[2], c.in[0].shape[3]
	for i := range c.rows() * c.shape[1] * c.shape[2] {
		plane := i / c.shape[2]
		f(i*c.shape[3], plane*height*width, w.span(i%c.shape[2], height))
	}
}

// span returns the part of 0 … size that position i covers.
func (w window) span(i, size int) [2]int {
	from := i*w.Stride - w.Padding
	return [2]int{max(from, 0), min(from+w.Kernel, size)}
}

type maxPool struct{ window }

func (maxPool) kind() string { return "max_pool2d" }
func (maxPool) byExample()   {}

// forward stores the places of the largest elements for backward. Which of two is the larger can't be predicted, so a
// mask chooses, not a branch.
func (o maxPool) forward(c *cell) {
	x, width, best := c.in[0].value, c.in[0].shape[3], c.scratchInts(len(c.value))
	o.pooled(c, func(out, plane int, rows [2]int) {
		best, value := best[out:][:c.shape[3]], c.value[out:][:c.shape[3]]
		for j := range value {
			cols := o.span(j, width)
			top, largest := 0, int64(math.MinInt64/2)
			for from := plane + rows[0]*width; from < plane+rows[1]*width; from += width {
				for at := from + cols[0]; at < from+cols[1]; at++ {
					more := ordered(x[at]) - largest
					larger := ^((more - 1) >> 63) // all bits if more > 0
					top, largest = top^(top^at)&int(larger), largest+more&larger
				}
			}
			best[j], value[j] = int32(top), x[top]
		}
	})
}

// ordered returns a whole number that grows with v: one for equal numbers, and the largest for NaN.
func ordered(v float32) int64 {
	if v != v {
		return math.MaxInt32
	}
	bits := int32(math.Float32bits(v + 0)) // −0 + 0 is 0
	return int64(bits ^ bits>>31&math.MaxInt32)
}

func (maxPool) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		dx, best := x.sum(), c.scratchInts(len(c.value))
		for out, at := range best {
			dx[at] += c.grad[out]
		}
	}
}

type avgPool struct{ window }

func (avgPool) kind() string  { return "avg_pool2d" }
func (avgPool) byExample()    {}
func (avgPool) overwritable() {}

func (o avgPool) forward(c *cell) {
	x, width := c.in[0].value, c.in[0].shape[3]
	o.pooled(c, func(out, plane int, rows [2]int) {
		value := c.value[out:][:c.shape[3]]
		for j := range value {
			cols := o.span(j, width)
			var s float32
			for from := plane + rows[0]*width; from < plane+rows[1]*width; from += width {
				for _, v := range x[from+cols[0] : from+cols[1]] {
					s += v
				}
			}
			value[j] = s / covered(rows, cols)
		}
	})
}

func (o avgPool) backward(c *cell) {
	if !c.in[0].wanted {
		return
	}
	dx, width := c.in[0].sum(), c.in[0].shape[3]
	o.pooled(c, func(out, plane int, rows [2]int) {
		for j, v := range c.grad[out:][:c.shape[3]] {
			cols := o.span(j, width)
			share := v / covered(rows, cols)
			for from := plane + rows[0]*width; from < plane+rows[1]*width; from += width {
				for at := from + cols[0]; at < from+cols[1]; at++ {
					dx[at] += share
				}
			}
		}
	})
}

// covered is the number of elements in a window.
func covered(rows, cols [2]int) float32 { return float32((rows[1] - rows[0]) * (cols[1] - cols[0])) }

// widest bounds kernels and dilations, so that their product stays in range.
const widest = 1 << 20

// window is a square that slides over the last two dimensions of [N C H W].
type window struct {
	Kernel  int `json:"kernel"`
	Stride  int `json:"stride"`
	Padding int `json:"padding"`
}

// slide returns the shape of x with one element for each position of the window.
func (w window) slide(x *Node) ([]int, error) {
	if len(x.shape) != 4 || x.shape[0] != batch {
		return nil, fmt.Errorf("input %v is not of shape [N C H W]", x)
	}
	if w.Kernel <= 0 || w.Stride <= 0 || w.Padding < 0 || w.Padding >= w.Kernel {
		return nil, fmt.Errorf("kernel %d, stride %d, padding %d: a kernel of at least 1 and a smaller padding are "+
			"needed", w.Kernel, w.Stride, w.Padding)
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
