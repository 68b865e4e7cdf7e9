package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// ConvOptions describe a convolution.
type ConvOptions struct {
	// Name names the layer: its parameters are Name.w_0, of shape [filters C/Groups Kernel Width], and Name.b_0, of
	// shape [filters]. Empty means conv2d_0 and so on.
	Name string
	// Kernel is the height of a filter, and its width unless Width says another.
	Kernel, Width int
	// Stride is the distance of two positions; 0 means 1.
	Stride int
	// Padding is the number of zeros on each side. Along a dimension in which the kernel is 1 there are none.
	Padding int
	// Same pads so that there are as many positions as elements, or one for each Stride of them; if the number of zeros
	// is odd, the end gets one more. Padding must be 0 then.
	Same bool
	// Dilation is the distance between the elements of x under adjacent elements of a filter; 0 means 1.
	Dilation int
	// Groups is the number of groups of channels and filters; each filter sees only the channels of its group. 0 means
	// 1.
	Groups int
	// Act is applied to the result; nil means nothing.
	Act func(*Node) *Node
	// Init gives the filters' initial values; nil means Kaiming{Normal: true}.
	Init optimizer.Initializer
	// BiasInit gives the bias' initial values; nil means zero.
	BiasInit optimizer.Initializer
	// NoBias leaves the bias out.
	NoBias bool
}

// Conv2D slides filters over x of shape [N C H W]; the result has shape [N filters H' W'], with
// H' = (H + 2·Padding − (Kernel−1)·Dilation − 1)/Stride + 1 rounded down, and W' likewise.
func Conv2D(x *Node, filters int, o ConvOptions) *Node {
	if x == nil || x.bad || len(x.shape) != 4 {
		return apply("", conv2d{}, x)
	}
	return o.convolve("conv2d", x, filters)
}

// Conv1D slides filters over the positions of x of shape [N L C], such as an [EmbeddingSequence]; the result has shape
// [N L' filters], L' as the H' of [Conv2D]. Same keeps the length. Filters have shape [filters C/Groups Kernel 1].
func Conv1D(x *Node, filters int, o ConvOptions) *Node {
	if x == nil || x.bad || len(x.shape) != 3 || x.shape[0] != batch || uint(o.Width) > 1 ||
		wantFloat([]*Node{x}) != nil {
		return apply("", conv2d{}, x)
	}
	act, positions := o.Act, x.shape[1]-(o.Kernel-1)*max(1, o.Dilation)
	o.Act, o.Width = nil, 1
	var y *Node
	if o.Padding != 0 || o.Same || uint(o.Groups) > 1 || uint(o.Stride) > 1 || // also below 0, which convolve refuses
		min(o.Kernel, positions, filters, o.Dilation+1) < 1 {
		y = o.convolve("conv1d", Reshape(Transpose(x, 0, 2, 1), x.shape[2], x.shape[1], 1), filters)
		if !y.bad {
			y = Transpose(Reshape(y, y.shape[1], y.shape[2]), 0, 2, 1)
		}
	} else {
		y = o.slide(x, filters)
	}
	if act != nil {
		y = act(y)
	}
	return y
}

// slide is a convolution along the positions as they are.
func (o ConvOptions) slide(x *Node, filters int) *Node {
	name, in := o.params("conv1d", x, x.shape[2], filters)
	in[1] = Reshape(Transpose(in[1], 2, 1, 3, 0), o.Kernel*x.shape[2], filters)
	return apply(name, sliding{Kernel: o.Kernel, Dilation: o.Dilation}, in...)
}

// GlobalMaxPool2D is the largest element of each channel of x of shape [N C H W], of shape [N C]. For sequences there
// is [SequencePool].
func GlobalMaxPool2D(x *Node) *Node { return global(Max, x) }

// GlobalAvgPool2D is the mean of each channel of x of shape [N C H W], of shape [N C].
func GlobalAvgPool2D(x *Node) *Node { return global(MeanAxis, x) }

func global(along func(x *Node, axis int) *Node, x *Node) *Node {
	if x == nil || x.bad || len(x.shape) != 4 {
		return apply("", avgPool{}, x)
	}
	return along(Reshape(x, x.shape[1], x.shape[2]*x.shape[3]), 2)
}

// params returns the name of a convolution of so many channels, and its inputs: x, filters, and a bias unless left out.
func (o ConvOptions) params(kind string, x *Node, channels, filters int) (name string, in []*Node) {
	g, init, width := x.graph, o.Init, o.Width
	if name = o.Name; name == "" {
		name = g.free(kind)
	}
	if width == 0 {
		width = o.Kernel
	}
	if init == nil {
		init = Kaiming{Normal: true}
	}
	in = []*Node{x, g.dense(name+".w_0", []int{filters, channels / max(1, o.Groups), o.Kernel, width}, init, false)}
	if !o.NoBias {
		in = append(in, g.dense(name+".b_0", []int{filters}, o.BiasInit, false))
	}
	return name, in
}

func (o ConvOptions) convolve(kind string, x *Node, filters int) *Node {
	name, in := o.params(kind, x, x.shape[1], filters)
	if o.Stride == 0 {
		o.Stride = 1
	}
	y := apply(name, conv2d{window{o.Kernel, o.Stride, o.Padding}, o.Width, o.Dilation, o.Groups, o.Same}, in...)
	if o.Act != nil {
		y = o.Act(y)
	}
	return y
}

// conv2d has filters as its second input, and optionally a bias as its third.
type conv2d struct {
	window
	Width    int  `json:"width,omitempty"`
	Dilation int  `json:"dilation,omitempty"`
	Groups   int  `json:"groups,omitempty"`
	Same     bool `json:"same,omitempty"`
}

func (conv2d) kind() string  { return "conv2d" }
func (conv2d) byExample()    {}
func (conv2d) overwritable() {}

func (o conv2d) groups() int { return max(1, o.Groups) }

// slides returns the movement of the filters along height and width.
func (o conv2d) slides(x []int) (rows, cols slide) {
	rows = slide{o.Kernel, o.Stride, max(1, o.Dilation), o.Padding, 0}
	cols = rows
	if o.Width > 0 {
		cols.kernel = o.Width
	}
	return rows.over(x[2], o.Same), cols.over(x[3], o.Same)
}

func (o conv2d) infer(in []*Node) ([]int, error) {
	x := in[0]
	if len(in) < 2 || len(x.shape) != 4 || x.shape[0] != batch {
		return nil, fmt.Errorf("input %v is not of shape [N C H W] (Conv1D takes [N L C], and no Width)", x)
	}
	w := in[1]
	least := min(o.Kernel, o.Stride, o.Padding+1, o.Width+1, o.Dilation+1, o.Groups+1)
	if max(o.Kernel, o.Width, o.Dilation) > widest {
		return nil, fmt.Errorf("kernel %d, width %d, dilation %d: none may be above %d", o.Kernel, o.Width, o.Dilation,
			widest)
	}
	if reach := (max(o.Kernel, o.Width)-1)*max(1, o.Dilation) + 1; least < 1 || o.Padding >= reach || o.Same &&
		o.Padding > 0 {
		return nil, fmt.Errorf("kernel %d, stride %d, padding %d: a kernel of at least 1 and a smaller padding are "+
			"needed (none beside Same), and nothing below 0", o.Kernel, o.Stride, o.Padding)
	}
	rows, cols := o.slides(x.shape)
	if rows.positions < 1 || cols.positions < 1 {
		return nil, fmt.Errorf("a kernel of %d does not fit into %v with padding %d", o.Kernel, x, o.Padding)
	}
	channels := x.shape[1] / o.groups()
	if len(w.shape) != 4 || !equalShapes(w.shape[1:], []int{channels, rows.kernel, cols.kernel}) ||
		channels*o.groups() != x.shape[1] || w.shape[0]%o.groups() != 0 {
		return nil, fmt.Errorf("filters %v don't fit %v in %d groups", w, x, o.groups())
	}
	if len(in) > 2 && !equalShapes(in[2].shape, w.shape[:1]) {
		return nil, fmt.Errorf("bias %v does not fit filters %v", in[2], w)
	}
	return []int{batch, w.shape[0], rows.positions, cols.positions}, wantFloat(in)
}

// sizes returns the filters of a group, the numbers of a patch, and the positions.
func (o conv2d) sizes(c *cell) (out, depth, positions int) {
	return c.shape[1] / o.groups(), c.in[1].cols(), c.shape[2] * c.shape[3]
}

// each calls f for every group of every image: its filters begin at w, and its results at y.
func (o conv2d) each(c *cell, f func(image, group, w, y int)) {
	out, depth, positions := o.sizes(c)
	for r := range c.rows() {
		for group := range o.groups() {
			f(r, group, group*out*depth, (r*o.groups()+group)*out*positions)
		}
	}
}

// forward multiplies, group by group, the filters [out C·K·K] with the image's patches [C·K·K positions].
func (o conv2d) forward(c *cell) {
	x, filters := c.in[0], c.in[1]
	out, depth, positions := o.sizes(c)
	patches := c.scratch(depth * positions)
	o.each(c, func(image, group, w, y int) {
		o.gather(patches, x, image, group)
		kernels.Gemm(false, false, out, positions, depth, filters.value[w:w+out*depth], patches,
			c.value[y:y+out*positions], false)
	})
	if len(c.in) > 2 {
		for r := range c.rows() {
			addToRuns(c.row(r), c.in[2].value, positions)
		}
	}
}

// addToRuns adds bias[i] to the i-th run of y.
func addToRuns(y, bias []float32, run int) {
	for i, b := range bias {
		for j := i * run; j < (i+1)*run; j++ {
			y[j] += b
		}
	}
}

func (o conv2d) backward(c *cell) {
	x, filters := c.in[0], c.in[1]
	if len(c.in) > 2 && c.in[2].wanted {
		o.biasGrad(c, c.in[2].sum())
	}
	if x.wanted {
		x.sum() // spread only adds
	}
	out, depth, positions := o.sizes(c)
	patches, adds := c.scratch(depth*positions), filters.wanted && filters.adds()
	o.each(c, func(image, group, w, y int) {
		dy := c.grad[y : y+out*positions]
		if filters.wanted {
			o.gather(patches, x, image, group)
			kernels.Gemm(false, true, out, depth, positions, dy, patches, filters.grad[w:w+out*depth], adds ||
				image > 0)
		}
		if x.wanted {
			kernels.Gemm(true, false, depth, positions, out, filters.value[w:w+out*depth], dy, patches, false)
			o.spread(patches, x, image, group)
		}
	})
}

func (conv2d) biasGrad(c *cell, db []float32) {
	positions := c.shape[2] * c.shape[3]
	for i := range c.rows() * len(db) {
		db[i%len(db)] += kernels.Sum(c.grad[i*positions : (i+1)*positions])
	}
}

// slide is the movement of a filter along one dimension: the number of its positions, and of the zeros before the
// dimension.
type slide struct{ kernel, stride, dilation, before, positions int }

// over returns the slide along a dimension of a size.
func (s slide) over(size int, same bool) slide {
	reach := (s.kernel-1)*s.dilation + 1
	switch {
	case same:
		s.positions = (size + s.stride - 1) / s.stride
		s.before = max(0, (s.positions-1)*s.stride+reach-size) / 2
		return s
	case s.kernel == 1:
		s.before = 0
	}
	if room := size + 2*s.before - reach; room >= 0 {
		s.positions = room/s.stride + 1
	}
	return s
}

// inside returns the first position j with 0 ≤ j·stride + dx < size, and the first one after them.
func (s slide) inside(dx, size int) (lo, hi int) {
	if dx < 0 {
		lo = (s.stride - 1 - dx) / s.stride
	}
	if size > dx {
		hi = min(s.positions, (size-1-dx)/s.stride+1)
	}
	return lo, max(lo, hi)
}

// sheet is one element of a filter at all positions that meet the image there: rows of positions, in the patches and
// in x.
type sheet struct {
	rows, cols int // positions; those outside of them are in the padding
	patch      int // the first of them in the patches, whose rows are as far apart as positions in a row
	x          int // the first element of x
	down, step int // elements of x from one row of positions to the next, and from one position to the next
}

// patch calls f for the sheet of every element of a patch of a group of channels of image r; patches have shape
// [C·K·K positions].
func (o conv2d) patch(x *cell, r, group int, f func(s sheet, across int)) {
	channels, height, width := x.shape[1]/o.groups(), x.shape[2], x.shape[3]
	rows, cols := o.slides(x.shape)
	image := (r*o.groups() + group) * channels * height * width
	for d := range channels * rows.kernel * cols.kernel {
		dx, dy := d%cols.kernel*cols.dilation-cols.before, d/cols.kernel%rows.kernel*rows.dilation-rows.before
		left, right := cols.inside(dx, width)
		top, bottom := rows.inside(dy, height)
		if left < right && top < bottom {
			channel := d / (rows.kernel * cols.kernel)
			f(sheet{bottom - top, right - left, (d*rows.positions+top)*cols.positions + left,
				image + (channel*height+top*rows.stride+dy)*width + left*cols.stride + dx,
				rows.stride * width, cols.stride}, cols.positions)
		}
	}
}

// gather copies the patches of a group of image r of x.
func (o conv2d) gather(patches []float32, x *cell, r, group int) {
	if o.Padding > 0 || o.Same {
		clear(patches)
	}
	o.patch(x, r, group, func(s sheet, across int) {
		if s.step == 1 {
			kernels.CopyRuns(patches[s.patch:], across, x.value[s.x:], s.down, s.rows, s.cols)
			return
		}
		for i := range s.rows {
			dst, src := patches[s.patch+i*across:][:s.cols], x.value[s.x+i*s.down:]
			for j := range dst {
				dst[j] = src[j*s.step]
			}
		}
	})
}

// spread adds patches to the gradient of a group of image r of x: the reverse of gather.
func (o conv2d) spread(patches []float32, x *cell, r, group int) {
	o.patch(x, r, group, func(s sheet, across int) {
		for i := range s.rows {
			src, dst := patches[s.patch+i*across:][:s.cols], x.grad[s.x+i*s.down:]
			if s.step == 1 {
				addTo(dst[:len(src)], src)
				continue
			}
			for j, v := range src {
				dst[j*s.step] += v
			}
		}
	})
}
