package nn

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// toy is a small net with everything in it: two lookups of one table, a table of its own, dense features.
type toy struct {
	g          *Graph
	a, b, pred *Node
	loss, auc  *Node
}

func newToy(seed uint64) *toy {
	g := NewGraph(seed)
	shared := EmbeddingOptions{Name: "shared", Height: 50, Dim: 3, Init: optimizer.Uniform{Low: -0.5, High: 0.5}}
	a, b := Embedding(g.IDs("a", 2), shared), Embedding(g.IDs("b", 1), shared)
	open := Embedding(g.IDs("c", 1), EmbeddingOptions{Name: "open", Dim: 2})
	h := Linear(Concat(a, b, open, g.Input("x", 4)), 8, LinearOptions{Act: ReLU})
	pred, label := Linear(h, 1, LinearOptions{Act: Sigmoid}), g.Input("label", 1)
	return &toy{g: g, a: a, b: b, pred: pred, loss: Mean(LogLoss(pred, label)), auc: AUC(pred, label)}
}

// batch makes n examples whose label can be learned from the first of the ids a.
func (*toy) batch(seed uint32, n int) batchOf {
	a, label := integers(seed, 2*n, 50), make([]float32, n)
	for i := range label {
		label[i] = float32(a[2*i] % 2)
	}
	return batchOf{
		"a": int64sOf([]int{n, 2}, a...), "b": int64sOf([]int{n, 1}, integers(seed+1, n, 50)...),
		"c": int64sOf([]int{n, 1}, integers(seed+2, n, 1<<40)...), "x": floats([]int{n, 4}, uniform(seed+3, 4*n, -1, 1)...),
		"label": floats([]int{n, 1}, label...),
	}
}

func TestTrainLearns(t *testing.T) {
	n := newToy(1)
	minimise(t, n.loss, 0.5)
	e := NewExecutor(n.g)
	var losses []float32
	for step := range 600 {
		if step == 300 {
			e.ResetMetrics()
		}
		out := must(t, e, n.batch(uint32(10*step), 64), n.loss, n.auc)
		losses = append(losses, out[0].Float32s()[0])
		if step == 599 && out[1].Float32s()[0] < 0.95 {
			t.Errorf("AUC is %v after training", out[1].Float32s()[0])
		}
	}
	if first, last := losses[0], losses[len(losses)-1]; last > first/3 {
		t.Errorf("the loss went from %v to %v", first, last)
	}
}

// TestUniqueRows: the trainer is asked for every id of a table once, in order, whatever lookups and repetitions a batch has, and
// gets the sum of the gradients.
func TestUniqueRows(t *testing.T) {
	g := NewGraph(1)
	table := EmbeddingOptions{Name: "t", Height: 10, Dim: 1, Init: optimizer.Constant{Value: 2}}
	a, b := Embedding(g.IDs("a", 3), table), Embedding(g.IDs("b", 1), table)
	loss := Mean(Concat(a, b)) // each of 8 elements has gradient 1/8
	k := minimise(t, loss, 0)
	out := must(t, NewExecutor(g), batchOf{"a": int64sOf([]int{2, 3}, 7, 3, 7, 3, 3, 9), "b": int64sOf([]int{2, 1}, 7, 0)}, loss, a, b)
	if got := k.asked["t"][0]; !slices.Equal(got, []uint64{0, 3, 7, 9}) {
		t.Errorf("asked for %v", got)
	}
	for id, times := range map[uint64]float32{0: 1, 3: 3, 7: 3, 9: 1} {
		if got := k.rowG["t"][id]; got[0] != times/8 {
			t.Errorf("gradient of row %d is %v, want %v", id, got, times/8)
		}
	}
	if !slices.Equal(out[1].Shape(), []int{2, 3}) || !slices.Equal(out[2].Shape(), []int{2, 1}) || out[1].Float32s()[0] != 2 {
		t.Errorf("lookups are %v and %v", out[1], out[2])
	}
}

// TestBatchSizes: any size after any other gives what a fresh executor gives.
func TestBatchSizes(t *testing.T) {
	n := newToy(1)
	minimise(t, n.loss, 0)
	e := NewExecutor(n.g)
	for i, size := range []int{8, 1, 33, 5, 33, 2} {
		got := must(t, e, n.batch(uint32(i), size), n.pred, n.loss)
		want, err := NewExecutor(n.g).Eval(t.Context(), n.batch(uint32(i), size), n.pred, n.loss)
		law.Check(t, err)
		for j := range got {
			if err := near(got[j].Float32s(), want[j].Float32s(), 0, 0); err != nil || !slices.Equal(got[j].Shape(), want[j].Shape()) {
				t.Errorf("batch of %d, fetch %d: %v", size, j, err)
			}
		}
	}
}

// TestEmptyBatch: a batch of no examples is refused, by every way to feed it, and changes nothing; a fetch that needs no feed needs no
// batch.
func TestEmptyBatch(t *testing.T) {
	n := newToy(1)
	k := minimise(t, n.loss, 0.1)
	e := NewExecutor(n.g)
	ids := func(dims ...int) *tensor.Dense { return int64sOf(append([]int{0}, dims...)) }
	empty := batchOf{"a": ids(2), "b": ids(1), "c": ids(1), "x": floats([]int{0, 4}), "label": floats([]int{0, 1})}
	_, trained := e.Train(t.Context(), empty, n.loss)
	_, evaluated := e.Eval(t.Context(), empty, n.pred)
	_, looped := e.TrainFrom(t.Context(), recycled(append(n.batches(4), empty)), TrainOptions{})
	for way, err := range map[string]error{"Train": trained, "Eval": evaluated, "TrainFrom": looped} {
		if !strings.Contains(unplaced(err), `nn: feed "a" has no examples`) {
			t.Errorf("%s: %v", way, err)
		}
	}
	if len(k.asked["shared"]) != 0 || k.epochs != 0 {
		t.Errorf("%d steps, %d epochs", len(k.asked["shared"]), k.epochs)
	}
	must(t, e, n.batch(1, 4), n.loss)
	if w, err := e.Eval(t.Context(), nil, n.g.Node("fc_0.w_0")); err != nil || w[0].Shape()[0] != 15 {
		t.Errorf("a weight: %v, %v", w, err)
	}
	g := NewGraph(1)
	pool := EmbeddingPool(g.Slot("s"), PoolSum, EmbeddingOptions{Dim: 2})
	if _, err := NewExecutor(g).Eval(t.Context(), batchOf{"s": int64sOf([]int{0}), "s.offsets": int64sOf([]int{1}, 0)}, pool); !strings.Contains(unplaced(err), `feed "s" has no examples`) {
		t.Errorf("a slot of no examples: %v", err)
	}
}

// TestEvalComputesWhatIsAsked: feeds that fetches don't need need not be there, and no row is born.
func TestEvalComputesWhatIsAsked(t *testing.T) {
	n := newToy(1)
	k := minimise(t, n.loss, 0.1)
	e := NewExecutor(n.g)
	out, err := e.Eval(t.Context(), batchOf{"a": int64sOf([]int{1, 2}, 4, 5)}, n.a)
	law.Check(t, err)
	want := make([]float32, 6)
	p := n.g.Node("shared").op.(variable).param
	p.InitRow(want[:3], 4)
	p.InitRow(want[3:], 5)
	if err := near(out[0].Float32s(), want, 0, 0); err != nil {
		t.Error(err)
	}
	full := n.batch(1, 4)
	delete(full, "label")
	if _, err := e.Eval(t.Context(), full, n.pred); err != nil {
		t.Error(err)
	}
	if len(k.rows) != 0 {
		t.Errorf("rows were born: %v", k.rows)
	}
}

// TestEvalAlone: without a trainer a graph evaluates with its initial values, and trains not.
func TestEvalAlone(t *testing.T) {
	n, bound := newToy(3), newToy(3)
	minimise(t, bound.loss, 0.1)
	feed := n.batch(1, 6)
	feed["c"] = int64sOf([]int{6, 1}, make([]int64, 6)...)
	got, err := NewExecutor(n.g).Eval(t.Context(), feed, n.pred)
	law.Check(t, err)
	want, err := NewExecutor(bound.g).Eval(t.Context(), feed, bound.pred)
	law.Check(t, err)
	if err := near(got[0].Float32s(), want[0].Float32s(), 0, 0); err != nil {
		t.Error(err)
	}
	if _, err := NewExecutor(n.g).Train(t.Context(), feed); err == nil || !strings.Contains(err.Error(), "minimised") {
		t.Errorf("Train says %v", err)
	}
}

// TestFeeds: what is wrong with a batch is said with the feed's name.
func TestFeeds(t *testing.T) {
	n := newToy(1)
	minimise(t, n.loss, 0.1)
	view, err := floats([]int{4, 8}, uniform(1, 32, -1, 1)...).Slice(nil, tensor.S(0, 4))
	law.Check(t, err)
	transposed := floats([]int{4, 4}, uniform(1, 16, -1, 1)...)
	law.Check(t, transposed.T())
	tests := map[string]struct {
		feed  string
		value *tensor.Dense
		want  []string
	}{
		"missing":   {"x", nil, []string{`"x"`, "missing", `"label"`}},
		"type":      {"x", int64sOf([]int{4, 4}, make([]int64, 16)...), []string{`"x"`, "int64", "float32"}},
		"id type":   {"a", floats([]int{4, 2}, make([]float32, 8)...), []string{`"a"`, "float32", "int64"}},
		"width":     {"x", floats([]int{4, 3}, make([]float32, 12)...), []string{`"x"`, "(4, 3)", "[N 4]"}},
		"rank":      {"x", floats([]int{16}, make([]float32, 16)...), []string{`"x"`, "(16)", "[N 4]"}},
		"scalar":    {"x", tensor.New(tensor.FromScalar(float32(1))), []string{`"x"`, "[N 4]"}},
		"examples":  {"x", floats([]int{3, 4}, make([]float32, 12)...), []string{"3", "4", "examples"}},
		"view":      {"x", view.(*tensor.Dense), []string{`"x"`, "view", "Materialize"}},
		"transpose": {"x", transposed, []string{`"x"`, "Materialize"}},
		"columns":   {"x", tensor.New(tensor.WithShape(4, 4), tensor.AsFortran(make([]float32, 16))), []string{`"x"`, "row-major"}},
		"negative":  {"a", int64sOf([]int{4, 2}, 1, 2, 3, 4, 5, -6, 7, 8), []string{`"a"`, "row 2, column 1", "-6"}},
		"too high":  {"b", int64sOf([]int{4, 1}, 1, 2, 3, 50), []string{`"b"`, "row 3, column 0", "50", `embedding "shared"`}},
		"open":      {"c", int64sOf([]int{4, 1}, 1, 2, -3, 50), []string{`"c"`, "row 2, column 0", "-3"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e, feed := NewExecutor(n.g), n.batch(1, 4)
			feed[test.feed] = test.value
			_, err := e.Train(t.Context(), feed, n.loss)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(test.want, "nn: feed ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			must(t, e, n.batch(1, 4), n.loss) // a bad batch ends nothing
		})
	}
}

func TestLabelsBelowClasses(t *testing.T) {
	g := NewGraph(1)
	loss := Mean(CrossEntropy(Linear(g.Input("x", 2), 3, LinearOptions{Act: Softmax}), g.IDs("y", 1)))
	minimise(t, loss, 0.1)
	_, err := NewExecutor(g).Train(t.Context(), batchOf{"x": floats([]int{1, 2}, 1, 2), "y": int64sOf([]int{1, 1}, 3)})
	if !strings.Contains(unplaced(err), `feed "y", row 0, column 0: 3 is not below 3, the classes of "softmax_0" [N 3]`) {
		t.Errorf("got %v", err)
	}
}

func TestFetches(t *testing.T) {
	n := newToy(1)
	minimise(t, n.loss, 0.1)
	e := NewExecutor(n.g)
	for want, fetch := range map[string]*Node{
		"fetch 0 is nil": nil, "another graph": NewGraph(1).Input("x"), "can't be fetched whole": n.g.Node("shared"),
	} {
		if _, err := e.Train(t.Context(), n.batch(1, 4), fetch); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	out := must(t, e, n.batch(1, 4), n.g.Node("a"), n.g.Node("x"), n.g.Node("fc_0.w_0"), n.g.Node("fc_0"), n.pred)
	if out[0].Dtype() != tensor.Int64 || !slices.Equal(out[0].Shape(), []int{4, 2}) || !slices.Equal(out[2].Shape(), []int{15, 8}) {
		t.Errorf("fetched %v", out)
	}
	if slices.Min(out[3].Float32s()) >= 0 {
		t.Error("a fetched value was overwritten by the ReLU behind it")
	}
	if none := must(t, e, n.batch(1, 4)); len(none) != 0 {
		t.Errorf("nothing asked, got %v", none)
	}
}

// TestSessionEnds: after an error of the trainer every step says so, until Close begins another session.
func TestSessionEnds(t *testing.T) {
	n := newToy(1)
	k := minimise(t, n.loss, 0.1)
	e := NewExecutor(n.g)
	k.fail = errors.New("server 2 is gone")
	for range 2 {
		if _, err := e.Train(t.Context(), n.batch(1, 4)); !errors.Is(err, k.fail) {
			t.Errorf("got %v", err)
		}
	}
	k.fail = nil
	if _, err := e.Eval(t.Context(), n.batch(1, 4), n.pred); err == nil || !strings.Contains(err.Error(), "Close the executor") {
		t.Errorf("got %v", err)
	}
	if err := e.Close(t.Context()); err != nil || k.closed != 1 {
		t.Errorf("Close: %v, %d sessions closed", err, k.closed)
	}
	must(t, e, n.batch(1, 4), n.loss)
	if err := errors.Join(e.Close(t.Context()), e.Close(t.Context())); err != nil || k.closed != 2 {
		t.Errorf("Close twice: %v, %d sessions closed", err, k.closed)
	}
}

func TestCancelled(t *testing.T) {
	n := newToy(1)
	minimise(t, n.loss, 0.1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := NewExecutor(n.g)
	if _, err := e.Train(ctx, n.batch(1, 4), n.loss); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	must(t, e, n.batch(1, 4), n.loss)
}

// TestTwoExecutors: a second executor has arrays of its own, and the first one's are the graph's.
func TestTwoExecutors(t *testing.T) {
	n := newToy(1)
	minimise(t, n.loss, 0.1)
	e1, e2 := NewExecutor(n.g), NewExecutor(n.g)
	must(t, e1, n.batch(1, 4), n.loss)
	must(t, e2, n.batch(2, 4), n.loss)
	p := n.g.Node("fc_0.w_0").op.(variable).param
	if e1.held.own(p) != p || e2.held.own(p) == p || &e2.held.own(p).W[0] == &p.W[0] || &e2.held.own(p).G[0] == &p.G[0] {
		t.Error("executors share arrays")
	}
	law.Check(t, e1.Close(t.Context()))
	e3 := NewExecutor(n.g)
	must(t, e3, n.batch(3, 4), n.loss)
	if e3.held.own(p) != p {
		t.Error("a closed executor keeps the graph's arrays")
	}
}

// TestMinimizeAfterAnEvaluation: an executor that evaluated before Minimize trains after it.
func TestMinimizeAfterAnEvaluation(t *testing.T) {
	n := newToy(1)
	e := NewExecutor(n.g)
	if _, err := e.Eval(t.Context(), n.batch(1, 4), n.pred); err != nil {
		t.Fatal(err)
	}
	k := minimise(t, n.loss, 0.1)
	before := slices.Clone(n.g.Node("fc_0.w_0").op.(variable).param.W)
	must(t, e, n.batch(1, 4), n.loss)
	if near(before, k.dense["fc_0.w_0"], 0, 0) == nil {
		t.Error("the step changed nothing")
	}
}

// TestEvalBeyondTheLoss: what the loss does not reach has its initial values, and metrics work on it.
func TestEvalBeyondTheLoss(t *testing.T) {
	n := newToy(1)
	side := Linear(Embedding(n.g.Node("b"), EmbeddingOptions{Name: "side", Height: 50, Dim: 2}), 1, LinearOptions{Name: "side_fc"})
	minimise(t, n.loss, 0.1)
	e := NewExecutor(n.g)
	out := must(t, e, n.batch(1, 4), side, n.loss)
	first := slices.Clone(out[0].Float32s())
	if err := near(must(t, e, n.batch(1, 4), side)[0].Float32s(), first, 0, 0); err != nil || slices.Max(first) == 0 {
		t.Errorf("%v: %v", err, first)
	}
}

// TestSteadyStepAllocatesNothing: once warm, a step's memory is the executor's.
func TestSteadyStepAllocatesNothing(t *testing.T) {
	countsAllocations(t)
	n := newToy(1)
	n.loss.Bind(still{})
	e := NewExecutor(n.g)
	feeds := []batchOf{n.batch(1, 64), n.batch(2, 64), n.batch(3, 64)}
	ctx, i := t.Context(), 0
	step := func() {
		if _, err := e.Train(ctx, feeds[i%3], n.loss, n.auc, n.pred); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Eval(ctx, feeds[i%3], n.pred); err != nil {
			t.Fatal(err)
		}
		i++
	}
	for range 6 {
		step()
	}
	if got := testing.AllocsPerRun(30, step); got > 0 {
		t.Errorf("a training and an evaluation step allocate %v times", got)
	}
}

// still is a trainer that leaves the weights as they are and allocates nothing.
type still struct{}

func (still) Open([]*optimizer.Param) (optimizer.Session, error) { return still{}, nil }
func (still) EndEpoch(context.Context) error                     { return nil }
func (still) Begin(_ context.Context, s *optimizer.Step) error   { return nil }
func (still) End(_ context.Context, s *optimizer.Step) error     { return nil }
func (still) Close(context.Context) error                        { return nil }

// TestNaNShows: a NaN in a feed comes out of the loss and the AUC.
func TestNaNShows(t *testing.T) {
	n := newToy(1)
	minimise(t, n.loss, 0)
	feed := n.batch(1, 4)
	feed["x"].Float32s()[5] = float32(math.NaN())
	out := must(t, NewExecutor(n.g), feed, n.loss, n.auc)
	for i, o := range out {
		if v := o.Float32s()[0]; v == v {
			t.Errorf("fetch %d is %v", i, v)
		}
	}
}

// paused is x, once it may go on.
type paused struct{ at, on chan struct{} }

func (paused) Shape(in [][]int) ([]int, error) { return in[0], nil }

func (p paused) Forward(c *OpCall) {
	p.at <- struct{}{}
	<-p.on
	copy(c.Out.Value, c.In[0].Value)
}

func (paused) Backward(*OpCall) {}

// TestOneGoroutineAtATime: a call while another is under way is refused, whatever either is, and disturbs nothing.
func TestOneGoroutineAtATime(t *testing.T) {
	calls := map[string]func(e *Executor, feed batchOf, loss, out *Node) error{
		"Eval": func(e *Executor, feed batchOf, _, out *Node) error {
			_, err := e.Eval(t.Context(), feed, out)
			return err
		},
		"Train": func(e *Executor, feed batchOf, loss, _ *Node) error {
			_, err := e.Train(t.Context(), feed, loss)
			return err
		},
		"TrainFrom": func(e *Executor, feed batchOf, _, _ *Node) error {
			_, err := e.TrainFrom(t.Context(), recycled([]batchOf{feed}), TrainOptions{})
			return err
		},
	}
	for first, call := range calls {
		for second, beside := range calls {
			p := paused{make(chan struct{}), make(chan struct{})}
			g := NewGraph(1)
			out := Custom(p, Linear(g.Input("x", 2), 1, LinearOptions{}))
			loss := Mean(out)
			minimise(t, loss, 0.5)
			e := NewExecutor(g)
			feed := batchOf{"x": floats([]int{1, 2}, 1, 2)}
			done := make(chan error, 1)
			go func() { done <- call(e, feed, loss, out) }()
			<-p.at
			err := beside(e, feed, loss, out)
			close(p.on)
			if mine := <-done; mine != nil || err == nil || !strings.Contains(err.Error(), "make one for each goroutine") {
				t.Errorf("%s beside %s: %v, and the other %v", second, first, err, mine)
			}
		}
	}
}

// TestNothingGiven: a graph and batches that are nil are errors.
func TestNothingGiven(t *testing.T) {
	e := NewExecutor(nil)
	_, err := e.Eval(t.Context(), nil)
	if err = errors.Join(err, e.Close(t.Context())); err == nil || !strings.Contains(err.Error(), "the graph is nil") {
		t.Errorf("no graph: %v", err)
	}
	n := newToy(1)
	minimise(t, n.loss, 0.5)
	if _, err := NewExecutor(n.g).TrainFrom(t.Context(), nil, TrainOptions{}); err == nil || !strings.Contains(err.Error(), "nil") {
		t.Errorf("no batches: %v", err)
	}
}
