package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// AttentionOptions are the options of Attention, and of the attention in a [TransformerEncoder].
type AttentionOptions struct {
	// Name names the layer: its parameters are Name.query.w_0, Name.query.b_0, and so on for key, value and out. Empty
	// means attention_0 and so on.
	Name string
	// Heads is the number of attention heads; 0 means 1. Size must be a multiple of it.
	Heads int
	// Size is the size of all heads together, and of the result; 0 means the last dimension of query.
	Size int
	// Mask is 0 at positions of key and value to leave out; its shape is [N L], or one that broadcasts to [N Heads Q
	// L]. nil leaves none out. A query that sees no position at all gets zeros, plus the bias of the output layer.
	Mask *Node
	// Causal hides from each position of query the later positions of key.
	Causal bool
	// Dropout is the probability with which a weight is dropped while training.
	Dropout float32
}

// Attention is multi-head attention (Vaswani et al., 2017): Softmax(q·kᵀ/√d)·v in each head, where q, k and v are
// linear layers of query, of shape [N Q D], and of key and value, of shapes [N L …]; then a linear layer of all heads.
// The shape is [N Q Size]. Self-attention is Attention(x, x, x, o).
func Attention(query, key, value *Node, o AttentionOptions) *Node {
	in := []*Node{query, key, value}
	if slices.ContainsFunc(in, missing) {
		return apply("", batchMatMul{}, in...)
	}
	if err := o.fit(in); err != nil {
		return query.graph.newNode(o.Name, batchMatMul{}, query).spoil(fmt.Errorf("Attention: %w", err))
	}
	if o.Name == "" {
		o.Name = query.graph.free("attention")
	}
	for i, part := range []string{"query", "key", "value"} {
		in[i] = Linear(in[i], o.Size, LinearOptions{Name: o.Name + "." + part, PerPosition: true})
	}
	cut := heads{o.Heads}
	scores := Scale(apply("", headScores{cut}, in[0], in[1]), float32(1/math.Sqrt(float64(o.Size/o.Heads))), 0)
	weights := o.softmax(scores)
	if o.Dropout != 0 {
		weights = Dropout(weights, o.Dropout)
	}
	all := apply("", headMix{cut}, weights, in[2])
	return Linear(all, o.Size, LinearOptions{Name: o.Name + ".out", PerPosition: true})
}

// fit sets defaults and returns an error for options that do not fit the inputs.
func (o *AttentionOptions) fit(in []*Node) error {
	for _, x := range in {
		if len(x.shape) != 3 || x.shape[0] != batch {
			return fmt.Errorf("input %v has no places: shape [N L D] is needed", x)
		}
	}
	if in[1].shape[1] != in[2].shape[1] {
		return fmt.Errorf("key %v and value %v have different places", in[1], in[2])
	}
	if o.Heads == 0 {
		o.Heads = 1
	}
	if o.Size == 0 {
		o.Size = in[0].shape[2]
	}
	if o.Heads < 1 || o.Size < 1 || o.Size%o.Heads != 0 {
		return fmt.Errorf("%d heads don't divide a size of %d", o.Heads, o.Size)
	}
	return nil
}

func (o *AttentionOptions) softmax(scores *Node) *Node {
	switch {
	case o.Mask != nil:
		return apply("", maskedSoftmax{Causal: o.Causal}, scores, o.Mask)
	case o.Causal:
		return apply("", maskedSoftmax{Causal: true}, scores)
	}
	return Softmax(scores)
}

// TransformerOptions are the options of TransformerEncoder.
type TransformerOptions struct {
	// Attention are the options of the block's self-attention. Its Dropout also applies to the outputs that both halves
	// add to x. Its Name, or else transformer_0 and so on, names the block: its parameters are
	// Name.attention.query.w_0, Name.fc_0.w_0, Name.norm_0.w_0 and so on.
	Attention AttentionOptions
	// Hidden is the number of units between the two linear layers after the attention; 0 means four times the last
	// dimension of x.
	Hidden int
	// Act follows the first of the two; nil means ReLU.
	Act func(*Node) *Node
	// NormFirst normalises the input of each half instead of its output.
	NormFirst bool
}

// TransformerEncoder is a block of an encoder (Vaswani et al., 2017): x plus its attention to itself, then the sum plus
// two linear layers at each position; both halves have a layer norm. The shape is that of x, [N L D].
func TransformerEncoder(x *Node, o TransformerOptions) *Node {
	if missing(x) || len(x.shape) != 3 {
		return Attention(x, x, x, o.Attention)
	}
	name, width := o.Attention.Name, x.shape[2]
	if name == "" {
		name = x.graph.free("transformer")
	}
	if o.Hidden == 0 {
		o.Hidden = 4 * width
	}
	if o.Act == nil {
		o.Act = ReLU
	}
	o.Attention.Name, o.Attention.Size = name+".attention", width
	x = o.add(x, name+".norm_0", func(x *Node) *Node { return Attention(x, x, x, o.Attention) })
	return o.add(x, name+".norm_1", func(x *Node) *Node {
		h := Linear(x, o.Hidden, LinearOptions{Name: name + ".fc_0", Act: o.Act, PerPosition: true})
		return Linear(h, width, LinearOptions{Name: name + ".fc_1", PerPosition: true})
	})
}

// add returns x plus half a block.
func (o TransformerOptions) add(x *Node, norm string, half func(*Node) *Node) *Node {
	y := x
	if o.NormFirst {
		y = LayerNorm(x, NormOptions{Name: norm, Axis: 2})
	}
	y = half(y)
	if o.Attention.Dropout != 0 {
		y = Dropout(y, o.Attention.Dropout)
	}
	if y = Add(x, y); !o.NormFirst {
		y = LayerNorm(y, NormOptions{Name: norm, Axis: 2})
	}
	return y
}

// PositionalEmbedding adds a trained row to each position of x, of shape [N L D], the same rows for all examples. Empty
// o.Name means positions_0.w_0 and so on; its default o.Init is that of [Graph.Parameter].
func PositionalEmbedding(x *Node, o ParameterOptions) *Node {
	if missing(x) {
		return apply("", add{}, x)
	}
	if len(x.shape) != 3 {
		err := fmt.Errorf("PositionalEmbedding: input %v has no places: shape [N L D] is needed", x)
		return x.graph.newNode(o.Name, add{}, x).spoil(err)
	}
	if o.Name == "" {
		o.Name = x.graph.free("positions") + ".w_0"
	}
	return Add(x, x.graph.Parameter(o, x.shape[1:]...))
}

// The products of an attention's heads: each head has some columns of query, key and value, side by side with those of
// the other heads, and reads them in place.

// heads is the number of parts into which columns are divided.
type heads struct {
	Heads int `json:"heads"`
}

func (heads) byExample()    {}
func (heads) overwritable() {}

// fit returns an error for rows whose columns can't be divided.
func (o heads) fit(rows ...*Node) error {
	for _, x := range rows {
		if len(x.shape) != 3 || x.shape[0] != batch || o.Heads < 1 || x.shape[2]%o.Heads != 0 ||
			x.shape[2] != rows[0].shape[2] {
			return fmt.Errorf("%v have no columns for %d heads: shapes [N L D] are needed", rows, o.Heads)
		}
	}
	return nil
}

// rows returns the columns of a head in numbers of rows, one matrix an example.
func (o heads) rows(x *cell, numbers []float32, head int) kernels.View {
	places, d := x.shape[1], x.shape[2]
	return kernels.View{Data: numbers[head*d/o.Heads:], Row: d, Col: 1, Step: places * d}
}

// scores returns a head's part of numbers of scores, one matrix an example.
func (o heads) scores(s *cell, numbers []float32, head int) kernels.View {
	queries, places := s.shape[2], s.shape[3]
	return kernels.View{Data: numbers[head*queries*places:], Row: places, Col: 1, Step: o.Heads * queries * places}
}

// headScores computes the products of all rows of a query, [N Q D], and all of a key, [N L D], in each head: of shape
// [N heads Q L].
type headScores struct{ heads }

func (headScores) kind() string { return "head_scores" }

func (o headScores) infer(in []*Node) ([]int, error) {
	if err := o.fit(in...); err != nil {
		return nil, err
	}
	return []int{batch, o.Heads, in[0].shape[1], in[1].shape[1]}, wantFloat(in)
}

func (o headScores) forward(c *cell) {
	query, key := c.in[0], c.in[1]
	o.each(c, query, func(h, n, q, l, d int) {
		kernels.GemmViews(n, q, l, d, o.rows(query, query.value, h), o.rows(key, key.value, h).Turned(),
			o.scores(c, c.value, h), false)
	})
}

func (o headScores) backward(c *cell) {
	query, key := c.in[0], c.in[1]
	if query.wanted {
		add := query.adds()
		o.each(c, query, func(h, n, q, l, d int) {
			kernels.GemmViews(n, q, d, l, o.scores(c, c.grad, h), o.rows(key, key.value, h),
				o.rows(query, query.grad, h), add)
		})
	}
	if key.wanted {
		add := key.adds()
		o.each(c, query, func(h, n, q, l, d int) {
			kernels.GemmViews(n, l, d, q, o.scores(c, c.grad, h).Turned(), o.rows(query, query.value, h),
				o.rows(key, key.grad, h), add)
		})
	}
}

// each calls f for every head, with the sizes of its products: examples, queries, places and columns.
func (o heads) each(scores, rows *cell, f func(h, n, q, l, d int)) {
	for h := range o.Heads {
		f(h, scores.shape[0], scores.shape[2], scores.shape[3], rows.shape[2]/o.Heads)
	}
}

// headMix computes the sum of a value's rows, [N L D], times weights, [N heads Q L], in each head: of shape [N Q D].
type headMix struct{ heads }

func (headMix) kind() string { return "head_mix" }

func (o headMix) infer(in []*Node) ([]int, error) {
	w, value := in[0].shape, in[1]
	if err := o.fit(value); err != nil {
		return nil, err
	}
	if len(w) != 4 || w[0] != batch || w[1] != o.Heads || w[3] != value.shape[1] {
		return nil, fmt.Errorf("weights %v don't fit %v: shape [N %d Q L] is needed", in[0], value, o.Heads)
	}
	return []int{batch, w[2], value.shape[2]}, wantFloat(in)
}

func (o headMix) forward(c *cell) {
	weights, value := c.in[0], c.in[1]
	o.each(weights, value, func(h, n, q, l, d int) {
		kernels.GemmViews(n, q, d, l, o.scores(weights, weights.value, h), o.rows(value, value.value, h),
			o.rows(c, c.value, h), false)
	})
}

func (o headMix) backward(c *cell) {
	weights, value := c.in[0], c.in[1]
	if weights.wanted {
		add := weights.adds()
		o.each(weights, value, func(h, n, q, l, d int) {
			kernels.GemmViews(n, q, l, d, o.rows(c, c.grad, h), o.rows(value, value.value, h).Turned(),
				o.scores(weights, weights.grad, h), add)
		})
	}
	if value.wanted {
		add := value.adds()
		o.each(weights, value, func(h, n, q, l, d int) {
			kernels.GemmViews(n, l, d, q, o.scores(weights, weights.value, h).Turned(), o.rows(c, c.grad, h),
				o.rows(value, value.grad, h), add)
		})
	}
}
