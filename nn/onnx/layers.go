package onnx

import "slices"

// windowAttrs describe a window that slides over an image.
type windowAttrs struct{ Kernel, Stride, Padding int64 }

func (w windowAttrs) parts(n node) []part {
	twice := func(v int64) []int64 { return []int64{v, v} }
	return []part{n.in[0].value, attr("kernel_shape", twice(w.Kernel)), attr("strides", twice(w.Stride)),
		attr("pads", slices.Repeat([]int64{w.Padding}, 4))}
}

type convAttrs struct {
	Kernel, Stride, Padding, Width, Dilation, Groups int64
	Same                                             bool
}

func conv2d(b *builder, n node, a convAttrs) value {
	a.Dilation, a.Groups = max(1, a.Dilation), max(1, a.Groups)
	if a.Width == 0 {
		a.Width = a.Kernel
	}
	top, bottom := a.pads(a.Kernel, n.in[0].shape[2])
	left, right := a.pads(a.Width, n.in[0].shape[3])
	return b.op("Conv", append(n.values(), attr("kernel_shape", []int64{a.Kernel, a.Width}),
		attr("strides", []int64{a.Stride, a.Stride}), attr("dilations", []int64{a.Dilation, a.Dilation}),
		attr("pads", []int64{top, left, bottom, right}), attr("group", int(a.Groups)))...)
}

// pads returns the zeros before and after a dimension over which a kernel slides: Padding, none for a kernel of 1, or
// with Same as many as needed for a position per stride.
func (a convAttrs) pads(kernel int64, size int) (before, behind int64) {
	if a.Same {
		positions := (int64(size) + a.Stride - 1) / a.Stride
		all := max(0, (positions-1)*a.Stride+(kernel-1)*a.Dilation+1-int64(size))
		return all / 2, all - all/2
	}
	if kernel == 1 {
		return 0, 0
	}
	return a.Padding, a.Padding
}

// conv1d is a product of weights [kernel·C F] and the elements under a filter at each position, side by side.
func conv1d(b *builder, n node, a struct{ Kernel, Dilation int64 }) value {
	parts := []part{attr("axis", 2)}
	for k := range a.Kernel {
		from := k * max(1, a.Dilation)
		parts = append(parts, b.slice(n.in[0].value, 1, from, from+int64(n.shape[1])))
	}
	return b.biased(b.op("MatMul", b.op("Concat", parts...), n.in[1].value), n)
}

// normAttrs are the attributes of a batch norm: momentum is for training only.
type normAttrs struct {
	Epsilon, Momentum float32
	Last              bool
}

// batchNorm normalises by the moving averages.
func batchNorm(b *builder, n node, a normAttrs) value {
	if a.Last && len(n.shape) > 2 {
		return b.biased(b.op("Mul", b.normal(n, a.Epsilon), n.in[1].value), n)
	}
	return b.op("BatchNormalization", append(n.values(), attr("epsilon", a.Epsilon))...)
}

// normal is x minus its mean, divided by its deviation, for the units of the last dimension.
func (b *builder) normal(n node, epsilon float32) value {
	deviation := b.op("Sqrt", b.op("Add", n.in[4].value, b.float(epsilon)))
	return b.op("Div", b.op("Sub", n.in[0].value, n.in[3].value), deviation)
}

// dice is x·(slope + p·(1−slope)), with p the Sigmoid of normal.
func dice(b *builder, n node, a normAttrs) value {
	slope := n.in[5].value
	p := b.op("Sigmoid", b.normal(n, a.Epsilon))
	return b.op("Mul", n.in[0].value, b.op("Add", slope, b.op("Mul", p, b.op("Sub", b.float(1), slope))))
}

// layerNorm flattens the dimensions from an axis on to one, whose numbers are normalised.
func layerNorm(b *builder, n node, a struct {
	Epsilon float32
	Axis    int
}) value {
	axis := max(a.Axis, 1)
	flat := append(slices.Clone(n.shape[:axis]), width(node{shape: n.shape[axis-1:]}))
	x := n.in[0].value
	if len(flat) != len(n.shape) {
		x = b.reshape(x, flat...)
	}
	parts := []part{x, attr("axis", -1), attr("epsilon", a.Epsilon)}
	if len(n.in) > 1 {
		parts = append(parts, n.in[1].value, n.in[2].value)
	} else {
		parts = append(parts, b.repeated(1, flat[axis]))
	}
	y := b.op("LayerNormalization", parts...)
	if len(flat) != len(n.shape) {
		y = b.reshape(y, n.shape...)
	}
	return y
}

// recurrentAttrs are the attributes of gru and lstm.
type recurrentAttrs struct{ Reverse bool }

func gru(b *builder, n node, a recurrentAttrs) value {
	return b.scan(n, a, 1, func(x []value, own []value, old []value) []value {
		r := b.op("Sigmoid", b.op("Add", x[0], own[0]))
		z := b.op("Sigmoid", b.op("Add", x[1], own[1]))
		h := b.op("Tanh", b.op("Add", x[2], b.op("Mul", r, own[2])))
		return []value{b.op("Add", h, b.op("Mul", z, b.op("Sub", old[0], h)))}
	}, 3)
}

func lstm(b *builder, n node, a recurrentAttrs) value {
	return b.scan(n, a, 2, func(x []value, own []value, old []value) []value {
		gate := func(i int, f string) value { return b.op(f, b.op("Add", x[i], own[i])) }
		in, forget, new, out := gate(0, "Sigmoid"), gate(1, "Sigmoid"), gate(2, "Tanh"), gate(3, "Sigmoid")
		memory := b.op("Add", b.op("Mul", forget, old[1]), b.op("Mul", in, new))
		return []value{b.op("Mul", out, b.op("Tanh", memory)), memory}
	}, 4)
}

// scan iterates over the positions of gates [N L gates·size] with states states, the first of which is the output at
// each position. step computes the states after a position from the gates' parts of input and state, and the states
// before. If a mask is 0, states do not change.
func (b *builder) scan(n node, a recurrentAttrs, states int, step func(x, own, old []value) []value, gates int) value {
	size := n.shape[2]
	cut := func(v value) []value {
		sizes := b.ints(slices.Repeat([]int64{int64(size)}, gates)...)
		return b.several("Split", gates, v, sizes, attr("axis", 1))
	}
	var old []value
	for range states {
		old = append(old, b.fresh("state"))
	}
	inputs := append(slices.Clone(old), b.fresh("x"))
	if len(n.in) > 3 {
		inputs = append(inputs, b.fresh("mask"))
	}
	body := b.subgraph(inputs, func() []value {
		own := b.op("Gemm", old[0], n.in[1].value, n.in[2].value)
		after := step(cut(inputs[states]), cut(own), old)
		if len(n.in) > 3 {
			there := b.unsqueeze(b.isNot(inputs[states+1], b.float(0)), 1)
			for i := range after {
				after[i] = b.where(there, after[i], old[i])
			}
		}
		return append(after, b.op("Identity", after[0]))
	})
	examples := b.op("Shape", n.in[0].value, attr("start", 0), attr("end", 1))
	zeros := b.op("Expand", b.float(0), b.op("Concat", examples, b.ints(int64(size)), attr("axis", 0)))
	var parts []part
	for range states {
		parts = append(parts, zeros)
	}
	along := slices.Repeat([]int64{1}, len(inputs)-states)
	parts = append(parts, n.in[0].value)
	if len(n.in) > 3 {
		parts = append(parts, n.in[3].value)
	}
	parts = append(parts, attr("num_scan_inputs", len(along)), attr("scan_input_axes", along),
		attr("scan_output_axes", []int64{1}), attr("body", body))
	if a.Reverse {
		parts = append(parts, attr("scan_input_directions", along), attr("scan_output_directions", []int64{1}))
	}
	return b.several("Scan", states+1, parts...)[states]
}
