package nn

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
)

// TestInferencePrunes: what the outputs don't need is not saved.
func TestInferencePrunes(t *testing.T) {
	n := newToy(1)
	k := minimise(t, n.loss, 0.1)
	must(t, NewExecutor(n.g), n.batch(1, 4))
	model := Inference(n.pred)
	m := reload(t, n.pred, k)
	var inputs []string
	for _, in := range m.Graph.Inputs() {
		inputs = append(inputs, in.Name())
	}
	if got := strings.Join(inputs, " "); got != "a b c x" || m.Graph.Node("mean_0") != nil {
		t.Errorf("inputs are %s", got)
	}
	if got, want := len(model.Params()), 6; got != want {
		t.Errorf("%d params, want %d", got, want)
	}
	if only := Inference(n.a).Params(); len(only) != 1 || only[0].Name != "shared" {
		t.Errorf("params of one lookup are %v", only)
	}
}

type custom struct{}

func (custom) Fill(w []float32, _ uint64) { clear(w) }

func TestInferenceMistakes(t *testing.T) {
	own := func(o EmbeddingOptions) *Node { return Embedding(NewGraph(1).IDs("ids"), o) }
	tests := map[string]struct {
		outputs []*Node
		want    string
	}{
		"none":          {nil, "no outputs"},
		"nil":           {[]*Node{nil}, "no outputs"},
		"bad":           {[]*Node{Add(nil, nil)}, "input 0 is nil"},
		"two graphs":    {[]*Node{newToy(1).pred, newToy(1).pred}, "not a node of the graph"},
		"a second, nil": {[]*Node{newToy(1).pred, nil}, "not a node of the graph"},
		"initializer":   {[]*Node{own(EmbeddingOptions{Height: 1 << 40, Dim: 2, Init: custom{}})}, "nn.custom can't be saved"},
	}
	for name, test := range tests {
		m := Inference(test.outputs...)
		if err := m.WriteGraph(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v does not say %q", name, err, test.want)
		}
	}
	if err := tests["initializer"].outputs[0].Savable(); err == nil || !strings.Contains(err.Error(), "nn.custom can't be saved") {
		t.Errorf("got %v", err)
	}
	if err := Inference(own(EmbeddingOptions{Dim: 2, Init: custom{}})).WriteGraph(&bytes.Buffer{}); err != nil {
		t.Errorf("an open table needs no initializer: %v", err)
	}
}

// TestSavedInitializers: what can be saved comes back the same.
func TestSavedInitializers(t *testing.T) {
	for _, init := range []optimizer.Initializer{
		optimizer.Constant{Value: 0.5}, optimizer.Uniform{Low: -1, High: 2}, optimizer.Normal{Mean: 1, Std: 2}, optimizer.TruncatedNormal{Mean: 3, Std: 4},
	} {
		s, err := saveInit(init)
		law.Check(t, err)
		if got, err := s.initializer(); got != init || err != nil {
			t.Errorf("%v comes back as %v, %v", init, got, err)
		}
	}
	for init, want := range map[optimizer.Initializer]savedInit{ // the numbers that are meant, whatever a later version takes for its defaults
		optimizer.Uniform{}: {"uniform", -1, 1}, optimizer.Normal{}: {"normal", 0, 1}, optimizer.TruncatedNormal{Mean: 3}: {"truncated_normal", 3, 1},
	} {
		if got, err := saveInit(init); err != nil || *got != want {
			t.Errorf("%T%v is saved as %v, %v", init, init, got, err)
		}
	}
	if _, err := (&savedInit{Type: "magic"}).initializer(); err == nil {
		t.Error("an unknown initializer is accepted")
	}
}

// FuzzReadModel: no graph.json panics, and one that loads evaluates or says why not.
//
// Promise: [G7] no saved model, and no rows as JSON, panic their reader, or make it allocate more than its bound
// Also: FuzzJSONRows (nn/serve)
func FuzzReadModel(f *testing.F) {
	n := newToy(1)
	x := Concat(n.g.Node("x"), n.g.Node("x"))
	places := Conv1D(Reshape(x, 8, 1), 1, ConvOptions{Kernel: 5})
	image := Conv2D(Reshape(x, 1, 8, 1), 1, ConvOptions{Kernel: 5, Width: 1})
	k := minimise(f, Add(n.loss, Add(Mean(places), Mean(image))), 0.1)
	if _, err := NewExecutor(n.g).Train(f.Context(), n.batch(1, 4)); err != nil {
		f.Fatal(err)
	}
	var graph, compact bytes.Buffer
	law.Check(f, Inference(n.pred, n.auc, places, image).WriteGraph(&graph))
	f.Add(graph.Bytes())
	law.Check(f, json.Compact(&compact, graph.Bytes()))
	for _, attrs := range []string{`{"kernel":5}`, `{"kernel":5,"stride":1,`} {
		far := bytes.Replace(compact.Bytes(), []byte(attrs), []byte(`{"dilation":4611686018427387904,`+attrs[1:]), 1)
		if bytes.Equal(far, compact.Bytes()) {
			f.Fatalf("no %s in %s", attrs, &compact)
		}
		f.Add(far)
	}
	f.Add([]byte(`{"format":"gofleet graph 2","nodes":[{"name":"x","op":"input","attrs":{"type":"float32","dims":[3]}},` +
		`{"name":"y","op":"softmax","in":["x"]},{"name":"z","op":"linear","in":["y","y"]}],"outputs":["z"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, outputs, err := ReadGraph(data, k.load)
		if err != nil {
			return
		}
		for _, n := range read.nodes {
			if n.perExample() > 1<<10 {
				return // right, and slow
			}
		}
		feed := batchOf{}
		for _, in := range read.Inputs() {
			shape := append([]int{2}, in.shape[1:]...)
			if isInt(in) {
				feed[in.name] = int64sOf(shape, make([]int64, product(shape))...)
			} else {
				feed[in.name] = floats(shape, make([]float32, product(shape))...)
			}
		}
		NewExecutor(read).Eval(t.Context(), feed, outputs...)
	})
}

// TestOneRow: a request of one row to a loaded model has the bits that it has in a batch where no zero is left out, and what is not
// finite in the weights shows in it as there.
func TestOneRow(t *testing.T) {
	g := NewGraph(3)
	y := Linear(Linear(g.Input("x", 20), 30, LinearOptions{Act: ReLU}), 5, LinearOptions{}).Named("y")
	k := minimise(t, Mean(y), 0.1)
	must(t, NewExecutor(g), batchOf{"x": floats([]int{1, 20}, uniform(1, 20, -1, 1)...)}, y)
	for _, bad := range []bool{false, true} {
		if bad {
			k.dense["fc_1.w_0"][7] = float32(math.Inf(1))
		}
		m := reload(t, y, k)
		if m.Graph.finite["fc_1.w_0"] == bad || !m.Graph.finite["fc_0.w_0"] {
			t.Fatalf("finite are %v", m.Graph.finite)
		}
		quick := NewExecutor(m.Graph)
		slow := NewExecutor(m.Graph)
		for i := range 20 {
			x := batchOf{"x": floats([]int{1, 20}, uniform(uint32(i), 20, -1, 1)...)}
			got, err := quick.Eval(t.Context(), x, m.Outputs[0])
			law.Check(t, err)
			finite := m.Graph.finite
			m.Graph.finite = nil
			want, err := slow.Eval(t.Context(), x, m.Outputs[0])
			law.Check(t, err)
			m.Graph.finite = finite
			if !slices.Equal(bitsOf(got[0].Float32s()), bitsOf(want[0].Float32s())) {
				t.Errorf("infinite %v: %v, want %v", bad, got[0], want[0])
			}
		}
	}
}
