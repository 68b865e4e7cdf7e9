package nn

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
)

// written is where the progress of loops goes, lines and records, in two places that are not the same to [reflect.DeepEqual].
var written = [2]struct {
	bytes.Buffer
	number int
}{{number: 0}, {number: 1}}

// options has two values of each type that takes options, which differ in the fields that the row is about: each of them alone,
// taken from the second into the first, must change the effect: what is trained, computed, reported or refused. A field that is in no row
// fails TestEveryOptionActs. Nodes stand for the feeds of their names.
var options = []struct {
	from, to any
	effect   func(*testing.T, any) string
}{
	{LinearOptions{}, LinearOptions{Name: "l", Act: Tanh, Init: optimizer.Constant{Value: 0.5}, BiasInit: optimizer.Constant{Value: 1}, NoBias: true},
		layer(func(x *Node, o any) *Node { return Linear(x, 3, o.(LinearOptions)) })},
	{ConvOptions{Kernel: 2},
		ConvOptions{Name: "c", Kernel: 3, Stride: 2, Padding: 1, Act: Tanh, Init: optimizer.Constant{Value: 0.5}, BiasInit: optimizer.Constant{Value: 1}, NoBias: true},
		layer(func(x *Node, o any) *Node { return Conv2D(x, 2, o.(ConvOptions)) })},
	{ConvOptions{Kernel: 2}, ConvOptions{Kernel: 2, Width: 3, Same: true, Dilation: 2, Groups: 2},
		layer(func(x *Node, o any) *Node { return Conv2D(Reshape(x, 2, 2, 4), 2, o.(ConvOptions)) })},
	{ConvOptions{Kernel: 2}, ConvOptions{Name: "c", Kernel: 3, Stride: 2, Padding: 1, Act: Tanh, Init: optimizer.Constant{Value: 0.5},
		BiasInit: optimizer.Constant{Value: 1}, NoBias: true, Width: 2, Same: true, Dilation: 2, Groups: 2},
		layer(func(x *Node, o any) *Node { return Conv1D(Reshape(x, 4, 4), 2, o.(ConvOptions)) })},
	{ConvOptions{Kernel: 2}, ConvOptions{Kernel: 2, Stride: -1}, layer(func(x *Node, o any) *Node { return Conv2D(x, 2, o.(ConvOptions)) })},
	{PoolOptions{Kernel: 2}, PoolOptions{Kernel: 3, Stride: 1, Padding: 1}, layer(func(x *Node, o any) *Node { return MaxPool2D(weighted(x), o.(PoolOptions)) })},
	{PoolOptions{Kernel: 2}, PoolOptions{Kernel: 3, Stride: 1, Padding: 1}, layer(func(x *Node, o any) *Node { return AvgPool2D(weighted(x), o.(PoolOptions)) })},
	{LinearOptions{}, LinearOptions{PerPosition: true}, layer(func(x *Node, o any) *Node { return Linear(x, 3, o.(LinearOptions)) })},
	{NormOptions{}, NormOptions{Name: "n", Epsilon: 0.5, Momentum: 0.5, Axis: 3}, layer(func(x *Node, o any) *Node { return GroupNorm(x, 1, o.(NormOptions)) })},
	{NormOptions{}, NormOptions{Name: "n", Epsilon: 0.5, Momentum: 0.5, Axis: 3}, layer(func(x *Node, o any) *Node { return BatchNorm(x, o.(NormOptions)) })},
	{NormOptions{}, NormOptions{Name: "n", Epsilon: 0.5, Momentum: 0.5, Axis: 3}, layer(func(x *Node, o any) *Node { return LayerNorm(x, o.(NormOptions)) })},
	{MMoEOptions{Experts: 2, Tasks: 1, Hidden: []int{3}}, MMoEOptions{Name: "m", Experts: 3, Tasks: 2, Hidden: []int{3, 2}, Act: Tanh},
		layer(func(x *Node, o any) *Node { return Concat(MMoE(Reshape(x, 16), o.(MMoEOptions))...) })},
	{AttentionOptions{}, AttentionOptions{Name: "a", Heads: 2, Size: 8, Mask: named("mask"), Causal: true, Dropout: 0.5},
		layer(func(x *Node, o any) *Node { return attended(x, o.(AttentionOptions)) })},
	{TransformerOptions{}, TransformerOptions{Attention: AttentionOptions{Name: "t"}, Hidden: 3, Act: Tanh, NormFirst: true},
		layer(func(x *Node, o any) *Node { return TransformerEncoder(Reshape(x, 4, 4), o.(TransformerOptions)) })},
	{TransformerOptions{}, TransformerOptions{Attention: AttentionOptions{Dropout: 0.5}},
		layer(func(x *Node, o any) *Node { return TransformerEncoder(Reshape(x, 4, 4), o.(TransformerOptions)) })},
	{DINOptions{}, DINOptions{Name: "d", Hidden: []int{3}, Act: Tanh, Softmax: true},
		layer(func(x *Node, o any) *Node {
			return DIN(Slice(Reshape(x, 16), 1, 0, 4), Reshape(x, 4, 4), nil, o.(DINOptions))
		})},
	{GRUOptions{}, GRUOptions{Name: "g", Init: optimizer.Constant{Value: 0.1}, Mask: named("mask"), Reverse: true},
		layer(func(x *Node, options any) *Node {
			o := options.(GRUOptions)
			if o.Mask != nil {
				o.Mask = ReLU(Slice(Reshape(x, 16), 1, 0, 4)) // 0 here and there
			}
			return GRU(Reshape(x, 4, 4), 3, o)
		})},
	{CrossOptions{}, CrossOptions{Name: "c", Layers: 2, Rank: 3},
		layer(func(x *Node, o any) *Node { return Cross(Reshape(x, 16), o.(CrossOptions)) })},
	{ParameterOptions{}, ParameterOptions{Name: "p", Init: optimizer.Constant{Value: 0.5}, Frozen: true},
		layer(func(x *Node, o any) *Node { return Add(weighted(x), x.graph.Parameter(o.(ParameterOptions), 4, 4)) })},
	{CrossEntropyOptions{}, CrossEntropyOptions{Smoothing: 0.5, Ignore: new(int64(2))}, layer(func(x *Node, o any) *Node {
		return SoftmaxWithCrossEntropyOf(Linear(x, 3, LinearOptions{}), someClasses(x), o.(CrossEntropyOptions))
	})},
	{ClassWeightOptions{Weights: []float32{1, 2, 3}}, ClassWeightOptions{Weights: []float32{1, 3, 5}, Ignore: new(int64(2))},
		layer(func(x *Node, o any) *Node {
			return WeightedMean(Linear(x, 1, LinearOptions{}), ClassWeights(someClasses(x), o.(ClassWeightOptions)))
		})},
	{InBatchOptions{}, InBatchOptions{Temperature: 0.3, LogQ: named("logq"), IDs: named("ids")}, layer(func(x *Node, o any) *Node {
		in := o.(InBatchOptions)
		if in.LogQ != nil {
			in.LogQ = Reshape(Sum(Reshape(x, 16), 1), 1)
		}
		if in.IDs != nil {
			in.IDs = Cast(Clip(Scale(Reshape(Sum(Reshape(x, 16), 1), 1), 0, 2), 0, 2), Int64)
		}
		return InBatchSoftmax(Linear(x, 2, LinearOptions{}), Linear(x, 2, LinearOptions{}), in)
	})},

	{EmbeddingOptions{Dim: 2}, EmbeddingOptions{Name: "t", Height: 2000, Dim: 3, PaddingIdx: new(int64(1)), Init: optimizer.Constant{Value: 0.5},
		Entry: optimizer.Entry{CountFilter: 3}, Show: named("show"), Click: named("click"), MaxBytes: 1}, embeddings},
	{EmbeddingOptions{Dim: 2, MaxBytes: 1 << 20}, EmbeddingOptions{Dim: 2, MaxBytes: 1 << 20, Evict: optimizer.Evict{By: optimizer.EvictScore}}, embeddings},
	{EmbeddingOptions{Dim: 2, Entry: byClicks}, EmbeddingOptions{Dim: 2, Entry: byClicks, Show: named("show"), Click: named("click")}, embeddings},

	{TrainOptions{}, TrainOptions{Fetch: []*Node{named("pred")}, Progress: &Progress{Out: &written[0]}, MayBeEmpty: true, Step: tired, Gradients: watched}, trainFrom},
	{TrainOptions{}, TrainOptions{Fetch: []*Node{named("pred")}, Progress: &Progress{Out: &written[0]}, MayBeEmpty: true, Step: tired, Gradients: watched}, trainThreads},
	{Progress{Out: &written[0]}, Progress{Out: &written[1], Label: "epoch 1", Total: 9000, Every: time.Second, Steps: 7,
		Logger: slog.New(slog.NewTextHandler(&written[1], nil))}, progress(trainFrom)},
	{Progress{Out: &written[0]}, Progress{Out: &written[1], Label: "epoch 1", Total: 9000, Every: time.Second, Steps: 7,
		Logger: slog.New(slog.NewTextHandler(&written[1], nil))}, progress(trainThreads)},
	{Progress{Out: &written[0]}, Progress{Out: &written[0], Total: -1, Every: -1, Steps: -1}, progress(trainFrom)},
	{Progress{Out: &written[0]}, Progress{Out: &written[0], Total: -1, Every: -1, Steps: -1}, progress(trainThreads)},

	{Xavier{}, Xavier{Normal: true}, begins}, {Kaiming{}, Kaiming{Normal: true}, begins}, {FanIn{}, FanIn{Normal: true}, begins},
	{UniformSampler{Classes: 5}, UniformSampler{Classes: 50}, draws},
	{LogUniformSampler{Classes: 5}, LogUniformSampler{Classes: 50}, draws},
}

// noOptions are the exported structs that tell and are not set.
var noOptions = []string{"Executor", "Sequence", "Value", "TrainResult", "Histogram", "OpCall", "OpValue"}

// TestEveryOptionActs: no exported field of what a user sets is without effect.
//
// Promise: [G10] every option of layers, tables and training loops acts
func TestEveryOptionActs(t *testing.T) {
	law.Slow(t)
	acts := map[string]bool{}
	for _, o := range options {
		from, to := reflect.ValueOf(o.from), reflect.ValueOf(o.to)
		before := o.effect(t, o.from)
		if again := o.effect(t, o.from); again != before {
			t.Errorf("%T%+v gives two results: %s, %s", o.from, o.from, before, again)
		}
		for i := range from.NumField() {
			if reflect.DeepEqual(from.Field(i).Interface(), to.Field(i).Interface()) {
				continue
			}
			changed := reflect.New(from.Type()).Elem()
			changed.Set(from)
			changed.Field(i).Set(to.Field(i))
			name := from.Type().Name() + "." + from.Type().Field(i).Name
			if after := o.effect(t, changed.Interface()); after == before {
				t.Errorf("%s of %v in %+v does the same: %s", name, to.Field(i), o.from, after)
			}
			acts[name] = true
		}
	}
	for _, name := range exportedFields(t) {
		if of, _, _ := strings.Cut(name, "."); !acts[name] && !slices.Contains(noOptions, of) {
			t.Errorf("%s: no row of options shows that it acts", name)
		}
	}
}

// begins are weights that begin as an initializer says.
func begins(_ *testing.T, o any) string {
	w := make([]float32, 3)
	o.(optimizer.Initializer).Fill(w, 1)
	return fmt.Sprint(w)
}

// exportedFields are the fields, as Type.Field, of the structs that the package exports, from its source.
func exportedFields(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source: %v", err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, isType := n.(*ast.TypeSpec)
			if isType && spec.Name.IsExported() {
				names = append(names, fieldsOf(spec)...)
			}
			return !isType
		})
	}
	return names
}

func fieldsOf(spec *ast.TypeSpec) (names []string) {
	body, isStruct := spec.Type.(*ast.StructType)
	if !isStruct {
		return nil
	}
	for _, f := range body.Fields.List {
		for _, name := range f.Names {
			if name.IsExported() {
				names = append(names, spec.Name.Name+"."+name.Name)
			}
		}
		if f.Names == nil {
			names = append(names, fmt.Sprintf("%s.%v", spec.Name.Name, f.Type))
		}
	}
	return names
}

// named stands for a feed of one number an example.
func named(name string) *Node { return NewGraph(1).Input(name, 1) }

// weighted is x of one channel times a parameter, so that there is something to train.
func weighted(x *Node) *Node {
	return Reshape(Linear(x, 16, LinearOptions{Name: "before", NoBias: true}), 1, 4, 4)
}

// someClasses are labels from 0 to 2.
func someClasses(x *Node) *Node {
	return Cast(Clip(Scale(Sum(Reshape(x, 16), 1), 0.4, -2), 0, 2), Int64)
}

// attended is x's attention to itself. Any mask leaves the second place out.
func attended(x *Node, o AttentionOptions) *Node {
	if o.Mask != nil {
		o.Mask = x.graph.Parameter(ParameterOptions{Init: optimizer.Assign([]float32{1, 0, 1, 1}), Frozen: true}, 4)
	}
	x = Reshape(x, 4, 4)
	return Attention(x, x, x, o)
}

// layer is the effect of a layer's options: names and weights after two steps, and what it evaluates to.
func layer(build func(x *Node, o any) *Node) func(*testing.T, any) string {
	return func(t *testing.T, o any) string {
		g := NewGraph(1)
		y := build(g.Input("x", 1, 4, 4), o)
		return trained(t, y, batchOf{"x": floats([]int{3, 1, 4, 4}, uniform(3, 48, -1, 2)...)})
	}
}

// embeddings is the effect of a table's options in both ops that look ids up: rows after three steps, and what is looked up.
func embeddings(t *testing.T, options any) string {
	effect := ""
	for _, op := range []string{"embedding", "pool"} {
		g, o := NewGraph(1), options.(EmbeddingOptions)
		for _, count := range []**Node{&o.Show, &o.Click} {
			if *count != nil {
				*count = g.Input((*count).name, 1)
			}
		}
		var y *Node
		if op == "embedding" {
			y = Embedding(g.IDs("id", 2), o)
		} else {
			y = EmbeddingPool(g.Slot("id"), PoolSum, o)
		}
		feed := batchOf{"show": floats([]int{3, 1}, 90, 1, 1), "click": floats([]int{3, 1}, 1, 1, 0)}
		if op == "embedding" {
			feed["id"] = int64sOf([]int{3, 2}, 1, 2, 2, 3, 4, 1999)
		} else {
			feed["id"], feed["id.offsets"] = int64sOf([]int{6}, 1, 2, 2, 3, 4, 1999), int64sOf([]int{4}, 0, 2, 4, 6)
		}
		effect += trained(t, y, feed)
	}
	return effect
}

// trained is what became of the params behind y, and y itself, after two steps on the batch with y's square as the loss.
func trained(t *testing.T, y *Node, feed batchOf) string {
	loss := Mean(Multiply(y, y))
	weights, err := local.Minimize(loss, optimizer.SGD{LR: 0.1})
	if err != nil {
		return err.Error()
	}
	e, effect := NewExecutor(y.graph), ""
	for range 2 {
		if _, err := e.Train(t.Context(), feed); err != nil {
			return err.Error()
		}
	}
	out, err := e.Eval(t.Context(), feed, y, loss)
	if err != nil {
		return err.Error()
	}
	for _, p := range loss.Params() {
		effect += fmt.Sprintf("%s %v ", p.Name, p.Shape)
		if rows, ok := weights.Store().Table(p.Name); ok {
			effect += fmt.Sprintf("%d rows ", rows.Len())
		}
	}
	return effect + fmt.Sprint(y.Name(), out[0].Float32s(), out[1].Float32s())
}

// loop is the effect of a training loop's options: what it returns, writes and refuses, with batches and without.
func loop(t *testing.T, o TrainOptions, train trainer) (effect string) {
	t.Setenv("FLEET_PROGRESS", "plain")
	synctest.Test(t, func(t *testing.T) {
		for _, batches := range [][]batchOf{nil, slices.Repeat((*toy).batches(nil, 20), 400)} {
			n, o := newToy(1), o
			n.loss.Bind(still{})
			if o.Fetch != nil {
				o.Fetch = []*Node{n.auc}
			}
			res, err := train(t, n, slowly(batches), o)
			effect += fmt.Sprintf("%d steps, %v, %v\n", res.Steps, res.Last(), err)
			for i := range written {
				effect += fmt.Sprintf("%d: %s\n", i, written[i].String())
				written[i].Reset()
			}
		}
	})
	return effect
}

type trainer func(t *testing.T, n *toy, batches stream, o TrainOptions) (TrainResult, error)

func trainFrom(t *testing.T, o any) string {
	return loop(t, o.(TrainOptions), func(t *testing.T, n *toy, batches stream, o TrainOptions) (TrainResult, error) {
		return NewExecutor(n.g).TrainFrom(t.Context(), batches, o)
	})
}

func trainThreads(t *testing.T, o any) string {
	return loop(t, o.(TrainOptions), func(t *testing.T, n *toy, batches stream, o TrainOptions) (TrainResult, error) {
		return TrainThreads(t.Context(), n.g, 1, func(int) stream { return batches }, o)
	})
}

// progress is the effect of a loop's progress.
func progress(effect func(*testing.T, any) string) func(*testing.T, any) string {
	return func(t *testing.T, o any) string {
		p := o.(Progress)
		return effect(t, TrainOptions{Progress: &p})
	}
}

// draws is what a sampler draws.
func draws(_ *testing.T, o any) string {
	s, r, counts := o.(Sampler), rand.New(rand.NewPCG(1, 1)), map[int64]int{}
	for range 100 {
		counts[s.Draw(r)]++
	}
	return fmt.Sprint(slices.Sorted(maps.Keys(counts)), s.Probability(3))
}

// watched is a TrainOptions.Gradients that writes down how many steps it was shown.
func watched(_ []*optimizer.Param, s *optimizer.Step) { fmt.Fprint(&written[1], s.Number, " ") }

// tired is a TrainOptions.Step that ends a loop after three.
func tired(_ context.Context, so TrainResult) error {
	if so.Steps < 3 {
		return nil
	}
	return fmt.Errorf("enough after %d steps of %d samples, loss %v", so.Steps, so.Samples, so.Loss)
}
