package nn

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// mistake is an op on inputs that it can't take; the error has to show those that don't fit.
type mistake struct {
	op    op
	in    []*Node
	wrong []*Node
}

// mistakes has one or more for every op: inputs of shapes that don't fit, and for an op that takes any shape one of a wrong type.
func mistakes(g *Graph) []mistake {
	x := func(dims ...int) *Node { return g.Input(g.free("x"), dims...) }
	ids := func(dims ...int) *Node { return g.IDs(g.free("ids"), dims...) }
	w := func(dims ...int) *Node { return g.Parameter(ParameterOptions{}, dims...) }
	table := func() *Node { return g.table(EmbeddingOptions{Height: 3, Dim: 2}) }
	still := func(n int) *Node { return g.Parameter(ParameterOptions{Frozen: true}, n) }
	var all []mistake
	try := func(o op, in ...*Node) { all = append(all, mistake{o, in, in}) }
	// only says which of the last mistake's inputs don't fit.
	only := func(which ...int) {
		m := &all[len(all)-1]
		m.wrong = nil
		for _, i := range which {
			m.wrong = append(m.wrong, m.in[i])
		}
	}
	for _, o := range []op{logSoftmax{}, softmax{}, scaled{}, dropout{}, mean{}, reshape{[]int{2}}, sum{axisOp{1}}, maximum{axisOp{1}}} {
		try(o, ids(2))
		try(o, table())
	}
	ofTwo := []op{multiply{}, divide{}, subtract{}, cosine{}, meanError{"mae"}, meanError{"mse"}, meanError{"rmse"}}
	for _, name := range slices.Sorted(maps.Keys(differences)) {
		ofTwo = append(ofTwo, difference{differences.of(name, 1)})
	}
	for _, name := range slices.Sorted(maps.Keys(labelFormulas)) {
		ofTwo = append(ofTwo, labelled{labelFormulas.of(name, 1)})
	}
	for _, o := range ofTwo {
		try(o, x(2), x(3))
		try(o, x(2), x())
		try(o, x(2, 2), x(4))
		try(o, x(2), w(2, 2))
		try(o, ids(2), x(2))
		only(0)
	}
	for _, o := range []op{softmax{}, logSoftmax{}, reshape{[]int{2}}, sum{axisOp{0}}, sum{axisOp{1}}, maximum{axisOp{0}}, maximum{axisOp{-1}}} {
		try(o, x())
	}
	try(reshape{[]int{5}}, x(2, 3))
	try(expand{[]int{5}}, x(2, 3))
	try(expand{[]int{5, 3}}, x(2, 3))
	try(expand{[]int{0, 3}}, x(1, 3))
	try(expand{[]int{3}}, x(2, 1))
	try(expand{[]int{2}}, x())
	try(add{}, x(2, 3), w(3, 2, 3))
	try(multiply{}, w(3, 2, 3), x(2, 3))
	for _, o := range []op{crossEntropy{}, softmaxCrossEntropy{}, accuracy{K: 1}, batchAccuracy{accuracy{K: 1}}} {
		try(o, x(3), ids(2))
		try(o, x(3, 3), ids(1))
		try(o, x(), ids(1))
		try(o, ids(3), x(1))
		only(0)
	}
	for _, o := range []op{crossEntropy{}, softmaxCrossEntropy{}} {
		try(o, x(1), ids(1))
		only(0)
		try(o, x(1), x(1))
		only(0)
		try(o, x(3, 1), ids(3))
		only(0)
	}
	for _, o := range []op{auc{}, batchAUC{}, slidingAUC{Steps: 2}, bucketError{}, found{"precision"}, found{"recall"}, found{"binary_accuracy"}} {
		try(o, x(3), x(1))
		try(o, x(1), x(2))
		try(o, x(1), ids(2))
		try(o, x(2, 1), x(1))
		try(o, x(1), w(1))
		try(o, ids(1), x(1))
		only(0)
	}
	try(groupAUC{}, x(3), x(1), ids(1))
	try(groupAUC{}, x(1), x(2), ids(1))
	try(groupAUC{}, x(1), x(1), ids(2))
	try(groupAUC{}, x(1), x(1), x(1))
	try(groupRank{}, x(3), x(1), ids(1))
	try(groupRank{}, x(1), x(2), ids(1))
	try(groupRank{}, ids(1), x(1), ids(1))
	try(groupRank{}, x(1), x(1), x(1))
	try(groupRank{K: new(0)}, x(1), x(1), ids(1))
	only(0)
	try(detach{}, ids(2))
	try(cast{Int64}, table())
	try(cast{Float32}, g.Slot("cast slot"))
	try(cast{Int64}, ids(2))
	try(cast{Float32}, x(2))
	try(cast{"float64"}, x(2))
	try(embedding{}, Cast(x(2), Int64), table())
	try(add{}, x(2), x(3))
	try(add{}, x(2), w(3, 2))
	try(add{}, x(), x(2))
	try(concat{}, x(2), x(2, 2))
	try(concat{}, x(3, 2), x(2, 2))
	try(concat{}, x(), x())
	only(0)
	try(concat{1}, x(2, 3), x(2, 2))
	try(concat{-1}, x(2), x(2))
	only(0)
	try(concat{2}, x(2), x(2))
	only(0)
	try(slice{1, 0, 3}, x(2))
	try(slice{1, 1, 1}, x(2))
	try(slice{1, -1, 1}, x(2))
	try(slice{0, 0, 1}, x(2))
	try(slice{2, 0, 1}, x(2))
	try(slice{1, 0, 1}, ids(2))
	try(transpose{[]int{1, 0}}, x(2))
	try(transpose{[]int{0, 1}}, x(2, 2))
	try(transpose{[]int{0, 1, 1}}, x(2, 2))
	try(transpose{}, x(2))
	try(transpose{[]int{0, 1}}, ids(2))
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		try(elementOp(name), ids(2))
		try(elementOp(name), table())
	}
	try(prelu{}, x(2), w(3))
	try(dice{batchNorm{Epsilon: 1}}, x(2, 3), w(3), w(3), still(3), still(3), w(2))
	only(0, 5)
	try(dice{batchNorm{Epsilon: 1}}, x(2, 3), w(2), w(3), still(3), still(3), w(3))
	only(0, 1)
	try(pairs{}, x(2), x(4, 3))
	try(pairs{}, x(2), x(2))
	try(batchNorm{Epsilon: 1, Last: true}, x(3, 2), w(3), w(2), still(2), still(2))
	only(0, 1)
	try(prelu{}, x(1), w(3))
	try(prelu{}, x(), w(1))
	try(prelu{}, x(3), w(2, 3))
	try(linear{PerPosition: true}, x(), w(1, 2))
	only(0)
	try(linear{PerPosition: true}, x(3, 2), w(6, 2))
	try(layerNorm{Epsilon: 1, Axis: 2}, x(2), w(2), w(2))
	only(0)
	try(layerNorm{Epsilon: 1, Axis: 2}, x(3, 2), w(6), w(6))
	only(0, 1)
	try(layerNorm{Epsilon: 1}, x(2), w(2))
	only(1)
	for _, transposed := range []bool{false, true} {
		try(batchMatMul{transposed}, x(2), x(2))
		try(batchMatMul{transposed}, x(2, 3), x(4, 5))
		try(batchMatMul{transposed}, x(2, 2), w(7, 2, 2))
		try(batchMatMul{transposed}, x(2, 2, 2), x(3, 2, 2))
		try(batchMatMul{transposed}, ids(2, 2), x(2, 2))
		only(0)
	}
	try(sliding{Kernel: 2}, x(3), w(2, 3))
	try(sliding{Kernel: 2}, x(3, 2), w(3, 3))
	try(sliding{}, x(3, 2), w(2, 3))
	try(sliding{Kernel: 4}, x(3, 2), w(8, 3))
	only(0)
	try(headScores{heads{2}}, x(3, 4), x(3, 6))
	try(headScores{heads{2}}, x(3, 3), x(3, 3))
	try(headScores{}, x(3, 3), x(3, 3))
	try(headScores{heads{1}}, x(3), x(3))
	try(headMix{heads{2}}, x(2, 3, 4), x(5, 4))
	try(headMix{heads{2}}, x(3, 4), x(4, 4))
	try(headMix{heads{2}}, x(2, 3, 4), x(4, 3))
	only(1)
	try(gru{}, x(2, 4), w(1, 3), w(3))
	only(0)
	try(gru{}, x(2, 6), w(3, 6), w(6))
	only(1)
	try(gru{}, x(2, 6), w(2, 6), w(6), x(3))
	only(3)
	try(lstm{}, x(2, 6), w(1, 4), w(4))
	only(0)
	try(maskedSoftmax{}, x(2), x(3))
	try(maskedSoftmax{}, x(1), x(3))
	try(maskedSoftmax{}, x(), x())
	only(0)
	try(gather{}, x(2), x(2))
	try(gather{}, x(), ids(2))
	try(gather{}, ids(2), ids(2))
	only(0)
	try(gather{}, w(2, 2), ids(2))
	try(concat{}, x(2), w(5, 2))
	try(concat{}, w(5, 2), w(6, 2))
	try(linear{}, x(3), w(4, 5))
	try(linear{}, x(3), w(3))
	try(linear{}, x(3), w(3, 2, 2))
	try(linear{}, w(3, 5), w(5, 4), w(5))
	only(1, 2)
	try(matmul{}, x(3), w(4, 5))
	try(matmul{}, x(3, 4), w(4, 5))
	try(matmul{}, x(3), x(3))
	try(dot{}, x(3), x(7))
	try(dot{}, x(3), w(3, 3))
	try(layerNorm{Epsilon: 1}, x(3, 2), w(5), w(6))
	only(0, 1)
	try(layerNorm{Epsilon: 1}, x(3), w(3), w(3, 1))
	only(0, 2)
	try(batchNorm{Epsilon: 1}, x(3), w(4), w(3), still(3), still(3))
	only(0, 1)
	try(batchNorm{Epsilon: 1}, x(), w(3), w(3), still(3), still(3))
	only(0)
	try(batchNorm{Epsilon: 1}, x(3), w(3), w(3), still(3), w(3))
	only(4)
	for _, o := range []op{maxPool{window{2, 2, 0}}, avgPool{window{2, 2, 0}}} {
		try(o, x(3, 4))
		try(o, x(1, 1, 4))
		try(o, ids(1, 4, 4))
	}
	try(conv2d{window: window{2, 1, 0}}, x(4, 4), w(1, 1, 2, 2))
	only(0)
	try(conv2d{window: window{2, 1, 0}}, x(1, 4, 4), w(1, 2, 2, 2))
	try(conv2d{window: window{2, 1, 0}}, x(1, 4, 4), w(1, 1, 3, 2))
	try(conv2d{window: window{2, 1, 0}}, x(1, 4, 4), w(4))
	try(conv2d{window: window{2, 1, 0}}, x(1, 4, 4), w(3, 1, 2, 2), w(2))
	only(1, 2)
	try(conv2d{window: window{2, 1, 0}, Groups: 2}, x(2, 4, 4), w(4, 2, 2, 2))
	try(conv2d{window: window{2, 1, 0}, Groups: 2}, x(3, 4, 4), w(4, 1, 2, 2))
	try(conv2d{window: window{2, 1, 0}, Groups: 2}, x(2, 4, 4), w(3, 1, 2, 2))
	try(conv2d{window: window{2, 1, 0}, Width: 3}, x(2, 4, 4), w(3, 2, 2, 2))
	try(conv2d{window: window{2, 1, 1}, Same: true}, x(2, 4, 4), w(3, 2, 2, 2))
	only()
	try(conv2d{window: window{5, 1, 0}}, x(1, 4, 4), w(3, 1, 5, 5))
	only(0)
	try(embedding{}, x(2), table())
	try(embedding{}, ids(2), w(3, 2))
	try(embedding{}, g.Slot("slot"), table())
	try(embeddingPool{Pool: PoolSum}, ids(2), table())
	try(embeddingPool{Pool: PoolSum}, g.Node("slot"), w(3, 2))
	try(embeddingPool{Pool: PoolMax}, g.Node("slot"), table(), g.SlotValues("values"))
	only(0, 2)
	try(embeddingPool{Pool: PoolSum}, g.Node("slot"), table(), x(2))
	only(0, 2)
	try(elementOp("relu"), g.Node("values"))
	try(embeddingSequence{Length: 2}, g.Node("slot"), w(3, 2))
	try(embeddingSequence{Length: 2}, x(2), table())
	only(0)
	try(embeddingSequence{Length: 2}, ids(3), table())
	only(0)
	try(embeddingSequence{}, g.Node("slot"), table())
	only(0)
	try(sequenceMask{Length: 2}, ids(3))
	try(sequenceMask{Length: 2}, Cast(x(2), Int64))
	try(sequencePool{PoolSum}, x(2))
	try(sequencePool{PoolSum}, x(2, 3), x(3))
	try(sequencePool{PoolSum}, ids(2, 3))
	try(measure{Of: "f1"}, x(3), ids(1))
	try(measure{Of: "macro_f1"}, x(3), x(3))
	only(1)
	try(measure{Of: "ndcg", K: 2}, x(3), x(4))
	try(measure{Of: "ndcg", K: 2}, x(3, 2), x(3, 2))
	only(0)
	try(measure{Of: "ndcg"}, x(3), x(3))
	only()
	try(measure{Of: "f1"}, x(1), ids(1), x(2))
	only(2)
	try(measure{Of: "none"}, x(1), ids(1))
	only(0)
	try(measure{Of: "weighted_mse"}, x(2), x(3))
	try(nce{}, x(1))
	try(nce{}, x(3), x(2))
	try(nce{}, x(2, 2))
	try(sampledSoftmax{}, x(3), x(3), ids(2))
	only(0, 2)
	try(sampledSoftmax{}, x(3), x(2), ids(3))
	only(0, 1)
	try(sampledSoftmax{}, x(1), x(1), ids(1))
	only(0)
	for _, o := range []op{labelled{labelFormulas.of("hinge")}, labelled{labelFormulas.of("contrastive", 1)}} {
		try(o, x(2), x(3))
		try(o, x(2), ids(3))
	}
	try(softmaxCrossEntropy{}, x(2, 3), ids(3))
	try(softmaxCrossEntropy{}, x(2, 3), x(2))
	only(1)
	try(weightedMean{}, x(2), x(3))
	try(weightedMean{}, x(2), w(2))
	try(weightedMean{}, ids(2), x(2))
	only(0)
	try(weightedMean{}, x(2), Linear(x(2), 1, LinearOptions{}))
	only(1)
	try(classWeights{}, ids(1))
	only()
	try(classWeights{Weights: []float32{1, 2, 3}}, x(1))
	try(inBatchSoftmax{}, x(2), x(3))
	try(groupPairs{}, x(1), x(1), x(1))
	try(groupPairs{new(0)}, x(1), x(1), ids(1))
	try(groupPairs{}, x(2), x(2), ids(1))
	try(opOf(cubes{}), x(2), x(3))
	try(opOf(nil), x(2))
	only()
	try(opOf(cubes{}), ids(2), x(2))
	only(0)
	try(inBatchSoftmax{}, x(2, 2), x(2, 2))
	try(inBatchSoftmax{IDs: true}, x(2), x(2), x(1))
	only(2)
	try(inBatchSoftmax{LogQ: true}, x(2), x(2), x(2))
	only(2)
	return all
}

// TestMistakesOfAllOps: whatever op is given inputs that it can't take, the error names the node and its op, and shows names and
// shapes of the inputs.
func TestMistakesOfAllOps(t *testing.T) {
	seen := map[string]bool{"input": true}
	g := NewGraph(1)
	for _, m := range mistakes(g) {
		kind := m.op.kind()
		seen[kind] = true
		apply("wrong", m.op, m.in...)
		err := unplaced(g.Err())
		g.err = nil // the next has one of its own
		if want := fmt.Sprintf("nn: %s %q: ", kind, "wrong"); !strings.HasPrefix(err, want) {
			t.Errorf("%s of %v: %q does not begin with %q", kind, m.in, err, want)
		}
		for _, in := range m.wrong {
			if !strings.Contains(err, in.String()) {
				t.Errorf("%s of %v: %q does not show %v", kind, m.in, err, in)
			}
		}
	}
	for kind := range recipes {
		if !seen[kind] {
			t.Errorf("op %q has no mistakes", kind)
		}
	}
}

// TestLayersOfParameters: what has no examples, or holds int64, is a mistake where a layer takes it, and no panic.
func TestLayersOfParameters(t *testing.T) {
	inputs := map[string]func(g *Graph, shape ...int) *Node{
		"parameter": func(g *Graph, shape ...int) *Node {
			return g.Parameter(ParameterOptions{}, append([]int{3}, shape...)...)
		},
		"ids": func(g *Graph, shape ...int) *Node { return g.IDs("ids", shape...) },
	}
	layers := map[string]func(in func(shape ...int) *Node) *Node{
		"conv1d":        func(in func(...int) *Node) *Node { return Conv1D(in(2, 2), 1, ConvOptions{Kernel: 1}) },
		"conv2d":        func(in func(...int) *Node) *Node { return Conv2D(in(2, 2, 2), 1, ConvOptions{Kernel: 1}) },
		"global max":    func(in func(...int) *Node) *Node { return GlobalMaxPool2D(in(2, 2, 2)) },
		"global mean":   func(in func(...int) *Node) *Node { return GlobalAvgPool2D(in(2, 2, 2)) },
		"batch norm":    func(in func(...int) *Node) *Node { return BatchNorm(in(2), NormOptions{}) },
		"dice":          func(in func(...int) *Node) *Node { return Dice(in(2, 2)) },
		"gru":           func(in func(...int) *Node) *Node { return GRU(in(2, 2), 2, GRUOptions{}) },
		"cross":         func(in func(...int) *Node) *Node { return Cross(in(2, 2), CrossOptions{}) },
		"sequence pool": func(in func(...int) *Node) *Node { return SequencePool(in(2, 2), nil, PoolMean) },
	}
	for kind, in := range inputs {
		for name, layer := range layers {
			t.Run(name+" of "+kind, func(t *testing.T) {
				g := NewGraph(1)
				if layer(func(shape ...int) *Node { return in(g, shape...) }); g.Err() == nil {
					t.Error("taken")
				}
			})
		}
	}
}
