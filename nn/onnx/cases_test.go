package onnx

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
	"gorgonia.org/tensor"
)

// opCase is a model that some ops are seen in.
type opCase struct {
	name    string
	outputs func(g *nn.Graph) []*nn.Node
	o       Options
}

// small is how many ids there are: tables with a height have so many, and those without have rows of half of them,
// and of largeID.
const (
	small   = 8
	largeID = 1<<63 + 5
)

// of is a case of one output, computed from a feed of these dimensions.
func of(name string, f func(x *nn.Node) *nn.Node, dims ...int) opCase {
	return opCase{name, func(g *nn.Graph) []*nn.Node { return []*nn.Node{f(g.Input("x", dims...))} }, Options{}}
}

// two is a case of one output, computed from two feeds.
func two(name string, f func(x, y *nn.Node) *nn.Node, x, y []int) opCase {
	return opCase{name, func(g *nn.Graph) []*nn.Node { return []*nn.Node{f(g.Input("x", x...), g.Input("y", y...))} }, Options{}}
}

func graph(name string, f func(g *nn.Graph) []*nn.Node) opCase { return opCase{name, f, Options{}} }

// born gives rows the same first values on every processor.
var born = optimizer.Constant{Value: 0.375}

func embeddingOf(name string, height int, padding *int64) nn.EmbeddingOptions {
	o := nn.EmbeddingOptions{Name: name, Height: height, Dim: 3, PaddingIdx: padding}
	if height > 0 {
		o.Init = born
	}
	return o
}

// cases have every op that is exported.
func cases() []opCase {
	padding := new(int64(3))
	all := []opCase{
		of("relu", nn.ReLU, 4), of("tanh", nn.Tanh, 4), of("sigmoid", nn.Sigmoid, 4), of("softplus", nn.Softplus, 4),
		of("exp", nn.Exp, 4), of("abs", nn.Abs, 4), of("square", nn.Square, 4), of("swish", nn.Swish, 4), of("gelu", nn.GELU, 4),
		of("log", func(x *nn.Node) *nn.Node { return nn.Log(nn.Scale(nn.Abs(x), 1, 0.25)) }, 4),
		of("log1p", func(x *nn.Node) *nn.Node { return nn.Log1p(nn.Abs(x)) }, 4),
		of("sqrt", func(x *nn.Node) *nn.Node { return nn.Sqrt(nn.Abs(x)) }, 4),
		of("leaky_relu", func(x *nn.Node) *nn.Node { return nn.LeakyReLU(x, 0.2) }, 4),
		of("elu", func(x *nn.Node) *nn.Node { return nn.ELU(x, 0.7) }, 4),
		of("pow", func(x *nn.Node) *nn.Node { return nn.Pow(x, 3) }, 4),
		of("clip", func(x *nn.Node) *nn.Node { return nn.Clip(x, -0.5, 0.75) }, 4),
		of("scale", func(x *nn.Node) *nn.Node { return nn.Scale(x, 3, -1) }, 4),
		of("prelu", nn.PReLU, 4), of("prelu of images", nn.PReLU, 3, 2, 2),
		of("dice", nn.Dice, 4), of("dice of sequences", nn.Dice, 3, 4),

		of("linear", func(x *nn.Node) *nn.Node { return nn.Linear(x, 5, nn.LinearOptions{}) }, 4),
		of("linear without a bias, of images", func(x *nn.Node) *nn.Node { return nn.Linear(x, 5, nn.LinearOptions{NoBias: true}) }, 2, 3),
		of("linear of a number", func(x *nn.Node) *nn.Node { return nn.Linear(x, 5, nn.LinearOptions{}) }),
		of("linear by position", func(x *nn.Node) *nn.Node { return nn.Linear(x, 5, nn.LinearOptions{PerPosition: true}) }, 3, 4),
		of("linear by position, without a bias", func(x *nn.Node) *nn.Node {
			return nn.Linear(x, 5, nn.LinearOptions{PerPosition: true, NoBias: true})
		}, 2, 3, 4),
		of("matmul", func(x *nn.Node) *nn.Node { return nn.MatMul(x, x.Graph().Parameter(nn.ParameterOptions{}, 4, 2)) }, 4),
		two("batch_matmul", nn.MatMul, []int{2, 3, 4}, []int{2, 4, 5}),
		two("batch_matmul transposed", nn.MatMulT, []int{3, 4}, []int{5, 4}),
		two("dot", nn.Dot, []int{3}, []int{6}), two("cosine_similarity", nn.CosineSimilarity, []int{3}, []int{3}),
		two("cosine_similarity of small numbers", func(x, y *nn.Node) *nn.Node {
			return nn.CosineSimilarity(nn.Scale(x, 1e-3, 0), nn.Scale(y, 1e-3, 0))
		}, []int{3, 2}, []int{3, 2}),
		two("din", func(q, rows *nn.Node) *nn.Node { return nn.DIN(q, rows, nil, nn.DINOptions{Hidden: []int{6, 4}}) }, []int{3}, []int{5, 3}),

		two("subtract", nn.Subtract, []int{3, 2, 4}, []int{4}), two("multiply", nn.Multiply, []int{3, 1}, []int{3, 4}),
		two("divide", func(x, y *nn.Node) *nn.Node { return nn.Divide(x, nn.Scale(nn.Abs(y), 1, 0.5)) }, []int{4}, []int{2, 4}),
		of("add a parameter", func(x *nn.Node) *nn.Node { return nn.Add(x.Graph().Parameter(nn.ParameterOptions{}, 3, 4), x) }, 3, 4),
		of("add a bias", func(x *nn.Node) *nn.Node { return nn.Add(x, x.Graph().Parameter(nn.ParameterOptions{}, 4)) }, 3, 4),
		of("expand", func(x *nn.Node) *nn.Node { return nn.Expand(x, 2, 3, 4) }, 3, 1),
		of("expand a parameter", func(x *nn.Node) *nn.Node {
			return nn.Add(x, nn.Expand(x.Graph().Parameter(nn.ParameterOptions{}, 1, 4), 3, 4))
		}, 3, 4),
		of("sum", func(x *nn.Node) *nn.Node { return nn.Sum(x, 1) }, 3, 4), of("mean of an axis", func(x *nn.Node) *nn.Node { return nn.MeanAxis(x, 2) }, 3, 4),
		of("sum of a parameter", func(x *nn.Node) *nn.Node { return nn.Add(x, nn.Sum(x.Graph().Parameter(nn.ParameterOptions{}, 4), 0)) }, 4),
		of("max", func(x *nn.Node) *nn.Node { return nn.Max(x, 2) }, 3, 4),
		of("softmax", nn.Softmax, 3, 4), of("log_softmax", nn.LogSoftmax, 3, 4),
		two("masked_softmax", func(x, mask *nn.Node) *nn.Node { return nn.MaskedSoftmax(x, nn.ReLU(mask)) }, []int{2, 3, 4}, []int{4}),
		two("concat", func(x, y *nn.Node) *nn.Node { return nn.Concat(x, y, x) }, []int{2, 3}, []int{2, 4}),
		two("concat of another axis", func(x, y *nn.Node) *nn.Node { return nn.ConcatAxis(1, x, y) }, []int{2, 3}, []int{4, 3}),
		two("stack", func(x, y *nn.Node) *nn.Node { return nn.Stack(1, x, y) }, []int{3}, []int{3}),
		of("slice", func(x *nn.Node) *nn.Node { return nn.Slice(x, 2, 1, 3) }, 2, 4),
		of("transpose", func(x *nn.Node) *nn.Node { return nn.Transpose(x, 0, 3, 1, 2) }, 2, 3, 4),
		of("reshape", func(x *nn.Node) *nn.Node { return nn.Reshape(x, 3, 4) }, 2, 6),
		of("detach", func(x *nn.Node) *nn.Node { return nn.Detach(x) }, 4), of("dropout", func(x *nn.Node) *nn.Node { return nn.Dropout(x, 0.5) }, 4),
		of("cast there and back", func(x *nn.Node) *nn.Node { return nn.Cast(nn.Cast(nn.Scale(x, 3, 0), nn.Int64), nn.Float32) }, 4),
		graph("cast of ids", func(g *nn.Graph) []*nn.Node { return []*nn.Node{nn.Cast(g.IDs("ids", 2), nn.Float32)} }),
		graph("gather", func(g *nn.Graph) []*nn.Node {
			x := g.Input("x", small, 3)
			return []*nn.Node{nn.Gather(x, g.IDs("ids", 2)), nn.Gather(x, g.IDs("last"))}
		}),

		of("conv2d", func(x *nn.Node) *nn.Node { return nn.Conv2D(x, 4, nn.ConvOptions{Kernel: 3, Padding: 1}) }, 2, 5, 6),
		of("conv2d same, of another width", func(x *nn.Node) *nn.Node {
			return nn.Conv2D(x, 4, nn.ConvOptions{Kernel: 2, Width: 3, Stride: 2, Same: true, Groups: 2})
		}, 2, 5, 6),
		of("conv2d padded, a kernel of 1 by 3", func(x *nn.Node) *nn.Node {
			return nn.Conv2D(x, 3, nn.ConvOptions{Kernel: 1, Width: 3, Padding: 2, Dilation: 2, NoBias: true})
		}, 2, 5, 6),
		of("conv1d", func(x *nn.Node) *nn.Node { return nn.Conv1D(x, 4, nn.ConvOptions{Kernel: 3, Dilation: 2}) }, 7, 3),
		of("conv1d without a bias", func(x *nn.Node) *nn.Node { return nn.Conv1D(x, 4, nn.ConvOptions{Kernel: 2, NoBias: true}) }, 7, 3),
		of("conv1d same", func(x *nn.Node) *nn.Node { return nn.Conv1D(x, 4, nn.ConvOptions{Kernel: 3, Same: true}) }, 7, 3),
		of("max_pool2d", func(x *nn.Node) *nn.Node { return nn.MaxPool2D(x, nn.PoolOptions{Kernel: 3, Stride: 2, Padding: 1}) }, 2, 5, 6),
		of("avg_pool2d", func(x *nn.Node) *nn.Node { return nn.AvgPool2D(x, nn.PoolOptions{Kernel: 3, Stride: 2, Padding: 1}) }, 2, 5, 6),
		of("global pools", func(x *nn.Node) *nn.Node { return nn.Concat(nn.GlobalAvgPool2D(x), nn.GlobalMaxPool2D(x)) }, 2, 5, 6),
		of("batch_norm", func(x *nn.Node) *nn.Node { return nn.BatchNorm(x, nn.NormOptions{}) }, 4),
		of("batch_norm of images", func(x *nn.Node) *nn.Node { return nn.BatchNorm(x, nn.NormOptions{Epsilon: 0.125}) }, 3, 4, 5),
		of("layer_norm", func(x *nn.Node) *nn.Node { return nn.LayerNorm(x, nn.NormOptions{}) }, 3, 4),
		of("layer_norm by position", func(x *nn.Node) *nn.Node { return nn.LayerNorm(x, nn.NormOptions{Axis: 2}) }, 3, 4),
		of("group norm", func(x *nn.Node) *nn.Node { return nn.GroupNorm(x, 2, nn.NormOptions{}) }, 4, 3, 2),

		of("gru", func(x *nn.Node) *nn.Node { return nn.GRU(x, 4, nn.GRUOptions{}) }, 5, 3),
		two("gru with a mask", func(x, mask *nn.Node) *nn.Node { return nn.GRU(x, 4, nn.GRUOptions{Mask: nn.ReLU(mask)}) }, []int{5, 3}, []int{5}),
		two("bidirectional gru", func(x, mask *nn.Node) *nn.Node {
			return nn.Bidirectional(nn.GRU, x, 4, nn.GRUOptions{Mask: nn.ReLU(mask)})
		}, []int{5, 3}, []int{5}),
		of("bidirectional lstm", func(x *nn.Node) *nn.Node { return nn.Bidirectional(nn.LSTM, x, 4, nn.RecurrentOptions{}) }, 5, 3),
		of("lstm", func(x *nn.Node) *nn.Node { return nn.LSTM(x, 4, nn.RecurrentOptions{}) }, 5, 3),
		two("lstm with a mask", func(x, mask *nn.Node) *nn.Node { return nn.LSTM(x, 4, nn.RecurrentOptions{Mask: nn.ReLU(mask)}) }, []int{5, 3}, []int{5}),
		two("transformer", func(x, mask *nn.Node) *nn.Node {
			return nn.TransformerEncoder(nn.PositionalEmbedding(x, nn.ParameterOptions{}), nn.TransformerOptions{Hidden: 6, Act: nn.GELU,
				Attention: nn.AttentionOptions{Heads: 2, Mask: nn.ReLU(mask), Causal: true, Dropout: 0.1}})
		}, []int{5, 4}, []int{5}),
		of("attention", func(x *nn.Node) *nn.Node { return nn.Attention(x, x, x, nn.AttentionOptions{}) }, 3, 4),
		of("attention that looks back", func(x *nn.Node) *nn.Node { return nn.Attention(x, x, x, nn.AttentionOptions{Causal: true}) }, 3, 4),
		of("mmoe", func(x *nn.Node) *nn.Node {
			return nn.Concat(nn.MMoE(x, nn.MMoEOptions{Experts: 3, Tasks: 2, Hidden: []int{4, 2}})...)
		}, 3),
		of("fm and cross", func(x *nn.Node) *nn.Node {
			return nn.Concat(nn.FM(x), nn.Cross(nn.Reshape(x, 12), nn.CrossOptions{Layers: 2, Rank: 2}))
		}, 3, 4),
		two("pool of a sequence", func(x, mask *nn.Node) *nn.Node {
			var pools []*nn.Node
			for _, pool := range []nn.Pool{nn.PoolSum, nn.PoolMean, nn.PoolSqrtN, nn.PoolMax, nn.PoolMeanUnpadded} {
				pools = append(pools, nn.SequencePool(x, nn.ReLU(mask), pool), nn.SequencePool(x, nil, pool))
			}
			return nn.Concat(pools...)
		}, []int{4, 3}, []int{4}),
		graph("outputs of all kinds", func(g *nn.Graph) []*nn.Node {
			x, ids := g.Input("x", 4), g.IDs("ids", 2)
			h := nn.Linear(x, 3, nn.LinearOptions{Act: nn.ReLU})
			return []*nn.Node{nn.Dropout(h, 0.5), h, nn.Cast(nn.Exp(x), nn.Int64), nn.Cast(ids, nn.Float32).Named("with a blank/ints 0")}
		}),
	}
	for _, height := range []int{0, small} {
		kind := []string{" below a height", ""}[1-min(height, 1)]
		if height == 0 {
			kind = " of any id"
		}
		all = append(all,
			graph("embedding"+kind, func(g *nn.Graph) []*nn.Node {
				ids := g.IDs("ids", 2)
				return []*nn.Node{nn.Embedding(ids, embeddingOf("emb", height, nil))}
			}),
			graph("embedding with padding"+kind, func(g *nn.Graph) []*nn.Node {
				o := embeddingOf("emb", height, padding)
				return []*nn.Node{nn.Embedding(g.IDs("ids", 2), o), nn.Embedding(g.IDs("more", 2, 2), embeddingOf("emb", height, nil)),
					nn.Embedding(g.IDs("third"), embeddingOf("other", height, new(int64(0))))}
			}),
			graph("embedding_pool"+kind, func(g *nn.Graph) []*nn.Node {
				var all []*nn.Node
				ids := g.Slot("ids")
				for _, pool := range []nn.Pool{nn.PoolSum, nn.PoolMean, nn.PoolSqrtN, nn.PoolMax, nn.PoolMeanUnpadded} {
					all = append(all, nn.EmbeddingPool(ids, pool, embeddingOf("emb", height, padding)),
						nn.EmbeddingPool(ids, pool, embeddingOf("emb", height, nil)))
				}
				return all
			}),
			graph("embedding_pool of values"+kind, func(g *nn.Graph) []*nn.Node {
				var all []*nn.Node
				ids, values := g.Slot("ids"), g.SlotValues("values")
				for _, pool := range []nn.Pool{nn.PoolSum, nn.PoolMean, nn.PoolSqrtN, nn.PoolMeanUnpadded} {
					all = append(all, nn.EmbeddingPoolWeighted(ids, values, pool, embeddingOf("emb", height, padding)))
				}
				return all
			}),
			graph("embedding_sequence"+kind, func(g *nn.Graph) []*nn.Node {
				s := nn.EmbeddingSequence(g.Slot("ids"), 3, embeddingOf("emb", height, padding))
				p := nn.EmbeddingSequence(g.IDs("fixed", 4), 0, embeddingOf("emb", height, padding))
				q := nn.EmbeddingSequence(g.IDs("all", 4), 0, embeddingOf("emb", height, nil))
				return []*nn.Node{s.Rows, s.Mask, s.Positions, p.Rows, p.Mask, p.Positions, q.Rows, q.Mask, q.Positions}
			}),
		)
	}
	return append(all,
		graph("embedding with padding outside of a height", func(g *nn.Graph) []*nn.Node {
			return []*nn.Node{nn.Embedding(g.IDs("outside", 2), embeddingOf("emb", small, new(int64(small))))}
		}),
		graph("embedding of ids of 64 bits", func(g *nn.Graph) []*nn.Node {
			return []*nn.Node{nn.Embedding(g.IDs("wide", 2), embeddingOf("emb", 0, padding))}
		}),
		graph("embedding without rows", func(g *nn.Graph) []*nn.Node {
			return []*nn.Node{nn.Embedding(g.IDs("ids", 2), embeddingOf("empty", 0, nil))}
		}),
		opCase{"rows are inputs", func(g *nn.Graph) []*nn.Node {
			s := nn.EmbeddingSequence(g.Slot("slot"), 3, embeddingOf("emb", 0, padding))
			pool := nn.EmbeddingPool(g.Slot("pooled"), nn.PoolMean, embeddingOf("emb", 0, nil))
			return []*nn.Node{nn.Embedding(g.IDs("ids", 2), embeddingOf("emb", 0, nil)), pool, s.Rows, s.Mask}
		}, Options{Rows: []string{"emb"}}},
		opCase{"weights in a second file", func(g *nn.Graph) []*nn.Node {
			h := nn.Linear(g.Input("x", 16), 64, nn.LinearOptions{Act: nn.Tanh})
			emb := nn.Embedding(g.IDs("ids", 2), nn.EmbeddingOptions{Name: "emb", Height: small, Dim: 40, Init: born})
			return []*nn.Node{nn.Linear(nn.Concat(h, emb), 3, nn.LinearOptions{})}
		}, Options{Inline: 1}},
	)
}

// rule draws numbers that every processor has the same bits of: multiples of 1/64 in a span.
type rule struct{ *rand.Rand }

func ruleOf(name string) rule {
	seed := uint64(1)
	for _, c := range name {
		seed = seed*31 + uint64(c)
	}
	return rule{rand.New(rand.NewPCG(seed, 7))}
}

func (r rule) floats(n int, low, high int) []float32 {
	all := make([]float32, n)
	for i := range all {
		all[i] = float32(64*low+r.IntN(64*(high-low))) / 64
	}
	return all
}

// model saves a case with weights by the rule, and loads it.
func (c opCase) model(t testing.TB) *serve.Model { return c.modelOf(t, nil) }

// modelOf is model, saved with the format of its rows.
func (c opCase) modelOf(t testing.TB, f dataset.Format) *serve.Model {
	t.Helper()
	g := nn.NewGraph(1)
	m := nn.Inference(c.outputs(g)...).WithFormat(f)
	law.Check(t, g.Err())
	from := weights.Source{Arrays: map[string]weights.Array{}, Rows: map[string]iter.Seq2[weights.Row, error]{}}
	for _, p := range m.Params() {
		r := ruleOf(p.Name)
		if p.Embedding {
			from.Rows[p.Name] = rowsOf(p, r)
			continue
		}
		low := -1
		if strings.HasSuffix(p.Name, ".w_2") {
			low = 0 // a variance
		}
		from.Arrays[p.Name] = weights.Array{Shape: p.Shape, Values: r.floats(p.Size(), low, 1)}
	}
	dir := filepath.Join(t.TempDir(), "model")
	law.Check(t, weights.SaveModel(context.Background(), dir, m, from))
	loaded, err := serve.Load(dir)
	law.Check(t, err)
	return loaded
}

func rowsOf(p *optimizer.Param, r rule) iter.Seq2[weights.Row, error] {
	ids := []uint64{0, 1, 4, 6}
	if p.Height() == 0 {
		ids = append(ids, largeID)
	}
	if p.Name == "empty" {
		ids = nil
	}
	return func(yield func(weights.Row, error) bool) {
		for _, id := range ids {
			if !yield(weights.Row{ID: id, W: r.floats(p.Dim(), -1, 1)}, nil) {
				return
			}
		}
	}
}

// feeds are so many examples for what a model is fed. Ids are below a number, by the names of feeds, or small; what
// none of below has may be any.
func feeds(values []nn.Value, examples int, below map[string]int64) map[string]*tensor.Dense {
	all := map[string]*tensor.Dense{}
	lengths := ruleOf("lengths")
	var ends []int64
	total := int64(0)
	for range examples + 1 {
		ends = append(ends, total)
		total += max(0, int64(lengths.IntN(9)-2))
	}
	total = ends[examples]
	ids := func(r rule, name string, n int) []int64 {
		list := make([]int64, n)
		for i := range list {
			limit := below[name]
			if limit == 0 {
				limit = small
			}
			list[i] = r.Int64N(limit)
		}
		return list
	}
	for _, v := range values {
		r, size := ruleOf(v.Name), 1
		for _, d := range v.Shape[min(1, len(v.Shape)):] {
			size *= d
		}
		dims := slices.Clone(v.Shape)
		dims[0] = examples
		switch v.Type {
		case nn.Float32:
			all[v.Name] = tensor.New(tensor.WithShape(dims...), tensor.WithBacking(r.floats(examples*size, -3, 3)))
		case nn.Int64:
			if v.Name == "wide" {
				list := make([]uint64, examples*size)
				for i, id := range ids(r, v.Name, examples*size) {
					list[i] = map[bool]uint64{false: uint64(id), true: largeID}[id == 0]
				}
				all[v.Name] = tensor.New(tensor.WithShape(dims...), tensor.WithBacking(list))
				break
			}
			all[v.Name] = tensor.New(tensor.WithShape(dims...), tensor.WithBacking(ids(r, v.Name, examples*size)))
		case slot:
			all[v.Name] = tensor.New(tensor.WithShape(int(total)), tensor.WithBacking(ids(r, v.Name, int(total))))
		case slotValues:
			all[v.Name] = tensor.New(tensor.WithShape(int(total)), tensor.WithBacking(r.floats(int(total), -2, 3)))
		default:
			panic(fmt.Sprint("a feed of type ", v.Type))
		}
		if v.Type == slot || v.Type == slotValues {
			all[v.Name+offsets] = tensor.New(tensor.WithShape(examples+1), tensor.WithBacking(slices.Clone(ends)))
		}
	}
	return all
}
