package nntest

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	ws "github.com/gofleet/gofleet/optimizer/weights"
	"gorgonia.org/tensor"
)

// built is a case's graph, with the elements of its inputs and its feeds.
type built struct {
	nodes []*nn.Node
	in    [][]float64
	feeds map[string]*tensor.Dense
	out   *nn.Node
}

// build makes the graph of a case from elements, or from new ones if in is nil.
func (c Case) build(t *testing.T, in [][]float64) *built {
	t.Helper()
	g := nn.NewGraph(1)
	b := &built{feeds: map[string]*tensor.Dense{}}
	for i, input := range c.Inputs {
		v := input.draw(40 + i)
		if in != nil {
			v = in[i]
		}
		b.in = append(b.in, v)
		b.nodes = append(b.nodes, input.Make(input, g, b.feeds, name(i), v))
	}
	b.out = c.Build(slices.Clone(b.nodes))
	if err := b.out.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

// trained reports whether an input is made from a param, not from a feed.
func (b *built) trained(input int) bool {
	n := b.out.Graph().Node(name(input))
	return n != nil && len(n.Params()) > 0
}

func name(input int) string { return fmt.Sprintf("in%d", input) }

// eval returns the layer's value in an evaluation by a new executor.
func (b *built) eval(t *testing.T, feeds map[string]*tensor.Dense) []float32 {
	t.Helper()
	out, err := b.tryEval(t, feeds)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (b *built) tryEval(t *testing.T, feeds map[string]*tensor.Dense) ([]float32, error) {
	e := nn.NewExecutor(b.out.Graph())
	defer e.Close(t.Context())
	out, err := e.Eval(t.Context(), feeds, b.out)
	if err != nil {
		return nil, err
	}
	return slices.Clone(out[0].Float32s()), nil
}

// weigh returns the sum of the elements of a node, each times its own number.
func (b *built) weigh(out *nn.Node, by []float64) *nn.Node {
	g, shape := out.Graph(), out.Shape()
	weights := g.Node("weights")
	switch {
	case weights != nil:
	case shape[0] < 0:
		shape[0] = len(by) / max(product(shape[1:]), 1)
		weights = numbers(Input{Shape: shape}, g, b.feeds, "weights", by)
	default:
		weights = Weights(shape...).Make(Weights(shape...), g, b.feeds, "weights", by)
	}
	return nn.Scale(nn.Mean(nn.Multiply(out, weights)), float32(len(by)), 0)
}

// formula compares value and gradients with those of the twin, with the layer used uses times; each step's batch
// repeats the examples as often as given.
func (c Case) formula(t *testing.T, uses int, steps ...int) {
	if c.Twin == nil {
		t.Skip("the case has no twin")
	}
	b := c.build(t, nil)
	defer func() {
		if t.Failed() {
			t.Log("inputs have shapes" + c.shapes())
		}
	}()
	want, n := c.Twin(b.in), 1
	for _, f := range b.feeds {
		n = f.Shape()[0]
	}
	by := Input{Shape: []int{len(want)}, Low: -1, High: 1}.draw(7)
	loss := b.weigh(b.out, by)
	for range uses - 1 {
		loss = nn.Add(loss, b.weigh(c.Build(slices.Clone(b.nodes)), by))
	}
	k := &keeper{gradients: map[string][]float32{}}
	loss.Bind(k)
	e := nn.NewExecutor(loss.Graph())
	defer e.Close(t.Context())
	for _, times := range steps { // no step must reuse values and gradients of the one before
		out, err := e.Train(t.Context(), repeated(b.feeds, times), b.out, loss)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "value", out[0].Float32s(), again(want, n, times), 1e-5, 2e-6)
		for i := range c.Inputs {
			if got, trained := k.gradients[name(i)]; trained {
				sums := math.Sqrt(float64(times)) // rounding errors of sums over many examples
				compare(t, "gradient of input "+name(i), got, c.differences(b.in, i, by, float64(uses)), 2e-4+1e-5*sums,
					2e-5+1e-6*sums)
			}
		}
	}
	if !c.TrainOnly {
		compare(t, "value in an evaluation", b.eval(t, b.feeds), want, 1e-5, 2e-6)
	}
}

// repeated returns feeds with the examples repeated times times.
func repeated(feeds map[string]*tensor.Dense, times int) map[string]*tensor.Dense {
	if times == 1 {
		return feeds
	}
	many := map[string]*tensor.Dense{}
	for name, f := range feeds {
		n := f.Shape()[0]
		var all any
		switch f.Dtype() {
		case tensor.Float32:
			all = again(f.Float32s(), n, times)
		case tensor.Uint64:
			all = again(f.Uint64s(), n, times)
		default:
			all = again(f.Int64s(), n, times)
		}
		shape := append([]int{n * times}, f.Shape()[1:]...)
		many[name] = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(all))
	}
	return many
}

// again repeats numbers of n examples, beginning with the last example.
func again[T any](all []T, n, times int) (many []T) {
	if times == 1 {
		return all
	}
	each := len(all) / n
	for i := n*times - 1; i >= 0; i-- {
		many = append(many, all[i%n*each:(i%n+1)*each]...)
	}
	return many
}

// manyExamples makes cores share a large batch, between small batches in the same memory.
func (c Case) manyExamples(t *testing.T) {
	b := c.build(t, nil)
	if c.Mixed || b.out.Shape()[0] >= 0 {
		t.Skip("the values are of all examples together")
	}
	c.formula(t, 1, 1, 1+1<<16/len(b.eval(t, b.feeds)), 1)
}

// trainedAlone checks the gradient of each input when only that input is trained.
func (c Case) trainedAlone(t *testing.T) {
	for i := range c.Inputs {
		if !c.build(t, nil).trained(i) {
			continue
		}
		alone := c
		alone.Inputs = slices.Clone(c.Inputs)
		for j, still := range c.Inputs {
			made := still.Make(still, nn.NewGraph(1), map[string]*tensor.Dense{}, name(j), still.draw(40+j))
			if i == j || nn.Detach(made).Err() != nil {
				continue // ids and tables have no gradient
			}
			alone.Inputs[j].Make = func(in Input, g *nn.Graph, feeds map[string]*tensor.Dense, name string,
				v []float64) *nn.Node {
				return nn.Detach(still.Make(in, g, feeds, "still "+name, v))
			}
		}
		alone.formula(t, 1, 1, 1)
	}
}

// nan checks that a NaN in the first example shows in its values.
func (c Case) nan(t *testing.T) {
	b := c.build(t, nil)
	shape := b.out.Shape()
	if c.Mixed || shape[0] >= 0 {
		t.Skip("the values are of all examples together")
	}
	well, size := b.eval(t, b.feeds), product(shape[1:])
	for i, input := range c.Inputs {
		if input.Fixed || !b.trained(i) {
			continue // labels, masks
		}
		in := slices.Clone(b.in)
		in[i] = slices.Clone(in[i])
		for j := range product(input.Shape[1:]) {
			in[i][j] = math.NaN()
		}
		ill := c.build(t, in)
		got, err := ill.tryEval(t, ill.feeds)
		if err != nil {
			continue // refused
		}
		same(t, "an example beside one of NaN", got[size:], well[size:])
		if !slices.ContainsFunc(got[:size], func(v float32) bool { return v != v }) {
			t.Errorf("where input %s is NaN the value is %v", name(i), got[:size])
		}
	}
}

// differences returns the central differences of the twin's weighted sum of elements, for an input.
func (c Case) differences(in [][]float64, i int, by []float64, times float64) []float64 {
	const h = 1e-6
	sum := func() (s float64) {
		for j, y := range c.Twin(in) {
			s += y * by[j]
		}
		return s
	}
	d := make([]float64, len(in[i]))
	for j, v := range in[i] {
		in[i][j] = v + h
		up := sum()
		in[i][j] = v - h
		d[j] = times * (up - sum()) / (2 * h)
		in[i][j] = v
	}
	return d
}

// compare fails the test if elements differ by more than a relative and an absolute tolerance.
func compare(t *testing.T, what string, got []float32, want []float64, rel, abs float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d elements, the formula has %d", what, len(got), len(want))
		return
	}
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= abs+rel*math.Abs(w)) {
			t.Errorf("%s: element %d is %v, by the formula %v", what, i, got[i], w)
			return
		}
	}
}

// ownValues computes each example in a batch of its own.
func (c Case) ownValues(t *testing.T) {
	b := c.build(t, nil)
	shape := b.out.Shape()
	if c.Mixed || shape[0] >= 0 {
		t.Skip("the values are of all examples together")
	}
	all, size := b.eval(t, b.feeds), product(shape[1:])
	for i := range len(all) / size {
		alone := Case{Build: c.Build, Inputs: slices.Clone(c.Inputs)}
		in := slices.Clone(b.in)
		for j, input := range alone.Inputs {
			if !input.Fixed {
				each := product(input.Shape[1:])
				alone.Inputs[j].Shape = append([]int{1}, input.Shape[1:]...)
				in[j] = in[j][i*each : (i+1)*each]
			}
		}
		one := alone.build(t, in)
		want := make([]float64, size)
		for j := range want {
			want[j] = float64(all[i*size+j])
		}
		compare(t, fmt.Sprintf("example %d alone", i), one.eval(t, one.feeds), want, 1e-5, 2e-6)
	}
}

// allocatesNothing checks that steps after the first allocate nothing.
func (c Case) allocatesNothing(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	b := c.build(t, nil)
	loss := nn.Mean(b.out)
	loss.Bind(&keeper{})
	e, ctx := nn.NewExecutor(loss.Graph()), t.Context()
	defer e.Close(ctx)
	step := func() {
		if _, err := e.Train(ctx, b.feeds, loss); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(3, step); n > 0 {
		t.Errorf("a step allocates %v times", n)
	}
}

// saved writes the layer as a model, loads it and compares the results.
func (c Case) saved(t *testing.T) {
	b := c.build(t, nil)
	model, dir := nn.Inference(b.out), t.TempDir()
	from := ws.Source{Arrays: map[string]ws.Array{}, Rows: map[string]iter.Seq2[ws.Row, error]{}}
	for _, p := range model.Params() {
		if p.Embedding {
			from.Rows[p.Name] = func(yield func(ws.Row, error) bool) {
				row := ws.Row{W: make([]float32, p.Dim())}
				for ; row.ID < uint64(p.Height()); row.ID++ {
					if p.InitRow(row.W, row.ID); !yield(row, nil) {
						return
					}
				}
			}
			continue
		}
		w := make([]float32, p.Size())
		p.InitDense(w)
		from.Arrays[p.Name] = ws.Array{Shape: p.Shape, Values: w}
	}
	if err := ws.SaveModel(t.Context(), dir, model, from); err != nil {
		t.Fatal(err)
	}
	m, err := serve.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a loaded model", (&built{out: m.Outputs[0]}).eval(t, b.feeds), b.eval(t, b.feeds))
}

// goroutines computes one graph with executors in several goroutines.
func (c Case) goroutines(t *testing.T) {
	b := c.build(t, nil)
	want := b.eval(t, b.feeds)
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			e := nn.NewExecutor(b.out.Graph())
			defer e.Close(t.Context())
			for range 3 {
				out, err := e.Eval(t.Context(), b.feeds, b.out)
				if err != nil {
					t.Error(err)
					return
				}
				same(t, "another goroutine", out[0].Float32s(), want)
			}
		})
	}
	running.Wait()
}

// same fails the test if a bit differs.
func same(t *testing.T, who string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("%s has %v as element %d, %v is right", who, got[i], i, want[i])
			return
		}
	}
}
