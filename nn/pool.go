package nn

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

// pooled calls f for every element of the result, with the rows and columns in its channel's plane that its window
// covers.
func (w window) pooled(c *cell, f func(out, plane int, rows, cols [2]int)) {
	height, width := c.in[0].shape[2], c.in[0].shape[3]
	out := 0
	for plane := range c.rows() * c.shape[1] {
		for i := range c.shape[2] {
			rows := w.span(i, height)
			for j := range c.shape[3] {
				f(out, plane*height*width, rows, w.span(j, width))
				out++
			}
		}
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

// forward stores the places of the largest elements for backward.
func (o maxPool) forward(c *cell) {
	x, width, best := c.in[0].value, c.in[0].shape[3], c.scratchInts(len(c.value))
	o.pooled(c, func(out, plane int, rows, cols [2]int) {
		top := plane + rows[0]*width + cols[0]
		largest := x[top]
		for i := rows[0]; i < rows[1]; i++ {
			from := plane + i*width + cols[0]
			for j, v := range x[from : from+cols[1]-cols[0]] {
				if v > largest || v != v {
					largest, top = v, from+j
				}
			}
		}
		best[out], c.value[out] = int32(top), largest
	})
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
	o.pooled(c, func(out, plane int, rows, cols [2]int) {
		var s float32
		for i := rows[0]; i < rows[1]; i++ {
			for _, v := range x[plane+i*width+cols[0] : plane+i*width+cols[1]] {
				s += v
			}
		}
		c.value[out] = s / covered(rows, cols)
	})
}

func (o avgPool) backward(c *cell) {
	if !c.in[0].wanted {
		return
	}
	dx, width := c.in[0].sum(), c.in[0].shape[3]
	o.pooled(c, func(out, plane int, rows, cols [2]int) {
		share := c.grad[out] / covered(rows, cols)
		for i := rows[0]; i < rows[1]; i++ {
			for at := plane + i*width + cols[0]; at < plane+i*width+cols[1]; at++ {
				dx[at] += share
			}
		}
	})
}

// covered is the number of elements in a window.
func covered(rows, cols [2]int) float32 { return float32((rows[1] - rows[0]) * (cols[1] - cols[0])) }
