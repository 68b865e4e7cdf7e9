package nn

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/overlay"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/optimizer"
)

// save writes a model as a fleet does: the graph, and the keeper's weights in parts, each with some rows of every table. The
// last part's rows are not in order.
func save(t testing.TB, dir string, m optimizer.Model, k *keeper, parts int) {
	t.Helper()
	var graph bytes.Buffer
	if err := m.WriteGraph(&graph); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "graph.json"), graph.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for part := range parts {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("part-%d.safetensors", part)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		savePart(t, f, m.Params(), k, part, parts)
	}
}

func savePart(t testing.TB, f io.Writer, params []*optimizer.Param, k *keeper, part, parts int) {
	t.Helper()
	var tensors []safetensors.Tensor
	var put []func(w *safetensors.Writer) error
	for i, p := range params {
		name := p.Name
		switch {
		case p.Embedding:
			ids, rows := k.part(name, part, parts)
			tensors = append(tensors, safetensors.Tensor{Name: name + ".ids", DType: safetensors.U64, Shape: []int{len(ids)}},
				safetensors.Tensor{Name: name, DType: safetensors.F32, Shape: []int{len(ids), p.Dim()}})
			put = append(put, func(w *safetensors.Writer) error { return safetensors.Put(w, name+".ids", ids) },
				func(w *safetensors.Writer) error { return safetensors.Put(w, name, rows) })
			if gone := k.gone[name]; len(gone) > 0 {
				tensors = append(tensors, safetensors.Tensor{Name: name + modelfiles.GoneSuffix, DType: safetensors.U64, Shape: []int{len(gone)}})
				put = append(put, func(w *safetensors.Writer) error { return safetensors.Put(w, name+modelfiles.GoneSuffix, gone) })
			}
		case i%parts == part:
			tensors = append(tensors, safetensors.Tensor{Name: name, DType: safetensors.F32, Shape: p.Shape})
			put = append(put, func(w *safetensors.Writer) error { return safetensors.Put(w, name, k.dense[name]) })
		}
	}
	w, err := safetensors.NewWriter(f, tensors, nil)
	for _, put := range put {
		if err == nil {
			err = put(w)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// part is the rows of a table that one file of several has.
func (k *keeper) part(name string, part, parts int) (ids []uint64, rows []float32) {
	for _, id := range slices.Sorted(maps.Keys(k.rows[name])) {
		if int(id)%parts == part {
			ids = append(ids, id)
		}
	}
	if part == parts-1 {
		slices.Reverse(ids)
	}
	for _, id := range ids {
		rows = append(rows, k.rows[name][id]...)
	}
	return ids, rows
}

// TestSaveAndLoad: a loaded model evaluates as the trained one did, rows included that nobody has trained.
func TestSaveAndLoad(t *testing.T) {
	for _, parts := range []int{1, 3} {
		n := newToy(7)
		k := minimise(t, n.loss, 0.3)
		e := NewExecutor(n.g)
		for i := range 20 {
			must(t, e, n.batch(uint32(i), 8), n.loss)
		}
		feed := n.batch(77, 40) // of the open table's ids the trainer has seen none
		want, err := e.Eval(t.Context(), feed, n.pred, n.auc)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		save(t, dir, Inference(n.pred.Named("click"), n.auc), k, parts)
		m, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewExecutor(m.Graph).Eval(t.Context(), feed, m.Output("click"), m.Outputs[1])
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if err := near(got[i].Float32s(), want[i].Float32s(), 0, 0); err != nil {
				t.Errorf("%d parts, output %d: %v", parts, i, err)
			}
		}
	}
}

// TestInferencePrunes: what the outputs don't need is not saved.
func TestInferencePrunes(t *testing.T) {
	n := newToy(1)
	k := minimise(t, n.loss, 0.1)
	must(t, NewExecutor(n.g), n.batch(1, 4))
	dir := t.TempDir()
	model := Inference(n.pred)
	save(t, dir, model, k, 1)
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for _, in := range m.Inputs {
		inputs = append(inputs, in.Name())
	}
	if got := strings.Join(inputs, " "); got != "a b c x" || m.Graph.Node("mean_0") != nil || m.Output("nobody") != nil {
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
		if err != nil {
			t.Fatal(err)
		}
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

// TestLoadRefuses changes a good model's graph, or its files: every change is an error that says where.
func TestLoadRefuses(t *testing.T) {
	n := newToy(1)
	k := minimise(t, n.loss, 0.1)
	must(t, NewExecutor(n.g), n.batch(1, 4))
	good := t.TempDir()
	save(t, good, Inference(n.pred), k, 1)
	graph, err := os.ReadFile(filepath.Join(good, "graph.json"))
	if err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile(filepath.Join(good, "part-0.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	var looks bytes.Buffer
	if err := Inference(n.a).WriteGraph(&looks); err != nil {
		t.Fatal(err)
	}
	edits := map[string][2]string{
		`format is "gofleet graph 1", this version reads "gofleet graph 2"`: {"gofleet graph 2", "gofleet graph 1"},
		`op "linearly" is not known`:                                        {`"op": "linear"`, `"op": "linearly"`},
		`"xx" is not a node before`: {`"in": [
    "a",`, `"in": [
    "xx",`},
		"unknown field": {`"seed"`, `"sead"`},
		`output "sigmoid_9"`: {`"outputs": [
  "sigmoid_0"`, `"outputs": [
  "sigmoid_9"`},
		"weights have shape [15 8]": {"15,\n     8", "8,\n     15"},
		"has 1 inputs":              {`"op": "sigmoid"`, `"op": "add"`},
		"too many elements": {`"dims": [
     4`, `"dims": [
     4294967296`},
		"initializer \"magic\"":  {`"type": "uniform"`, `"type": "magic"`},
		"none of 1 weight files": {`fc_1.w_0`, `fc_9.w_0`},
	}
	for want, edit := range edits {
		t.Run(want, func(t *testing.T) {
			changed := strings.ReplaceAll(string(graph), edit[0], edit[1])
			if changed == string(graph) {
				t.Fatalf("the graph does not have %q:\n%s", edit[0], graph)
			}
			loadFails(t, want, map[string][]byte{"graph.json": []byte(changed), "w.safetensors": weights})
		})
	}
	loadFails(t, "graph.json", map[string][]byte{"w.safetensors": weights})
	loadFails(t, "none of 0 weight files", map[string][]byte{"graph.json": graph})
	loadFails(t, "comes twice", map[string][]byte{"graph.json": graph, "w.safetensors": weights, "v.safetensors": weights})
	loadFails(t, "none of 0 weight files has rows", map[string][]byte{"graph.json": looks.Bytes()})
	loadFails(t, "w.safetensors", map[string][]byte{"graph.json": graph, "w.safetensors": weights[:len(weights)/2]})
}

func loadFails(t *testing.T, want string, files map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "nn: ") {
		t.Errorf("%v does not say %q", err, want)
	}
}

// TestLoadedIDs: ids may be signed and come in any order, and a part without them, with too few, or with one twice is refused.
func TestLoadedIDs(t *testing.T) {
	p := &optimizer.Param{Name: "t", Shape: []int{0, 2}, Embedding: true}
	rows := safetensors.Tensor{Name: "t", DType: safetensors.F32, Shape: []int{2, 2}}
	source, err := readTable(t, p, rows, []int64{9, -1})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 2)
	if !source.Row(got, 9) || got[0] != 1 || !source.Row(got, 1<<64-1) || got[0] != 3 || source.Row(got, 5) {
		t.Errorf("rows are not found: %v", got)
	}
	if source, err = readTable(t, p, rows, []int64{9, 4}); err != nil || !source.Row(got, 4) || got[0] != 3 || !source.Row(got, 9) || got[0] != 1 {
		t.Errorf("rows whose ids decrease are not found: %v, error %v", got, err)
	}
	wide := &optimizer.Param{Name: "t", Shape: []int{0, 3}, Embedding: true}
	for want, c := range map[string]struct {
		p   *optimizer.Param
		ids []int64
	}{
		"t.ids": {p, nil}, "1 ids for rows of shape [2 2]": {p, []int64{9}}, "id 9 comes twice": {p, []int64{9, 9}},
		"rows have 2 numbers, the graph's 3": {wide, []int64{1, 2}},
	} {
		if _, err := readTable(t, c.p, rows, c.ids); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// readTable writes the rows 1, 2 and 3, 4 with their ids to a file, and reads them.
func readTable(t *testing.T, p *optimizer.Param, rows safetensors.Tensor, ids []int64) (*overlay.Table, error) {
	t.Helper()
	tensors := []safetensors.Tensor{rows}
	if ids != nil {
		tensors = []safetensors.Tensor{{Name: "t.ids", DType: safetensors.I64, Shape: []int{len(ids)}}, rows}
	}
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "w.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := safetensors.NewWriter(file, tensors, nil)
	if err == nil && ids != nil {
		err = safetensors.Put(w, "t.ids", ids)
	}
	if err == nil {
		err = safetensors.Put(w, "t", []float32{1, 2, 3, 4})
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := modelfiles.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return loadTable(f, p)
}

// FuzzReadModel: no graph.json panics, and one that loads evaluates or says why not.
//
// Promise: [G7] no saved model, and no rows as JSON, panic their reader, or make it allocate more than its bound
// Also: FuzzJSONRows
func FuzzReadModel(f *testing.F) {
	n := newToy(1)
	x := Concat(n.g.Node("x"), n.g.Node("x"))
	places := Conv1D(Reshape(x, 8, 1), 1, ConvOptions{Kernel: 5})
	image := Conv2D(Reshape(x, 1, 8, 1), 1, ConvOptions{Kernel: 5, Width: 1})
	k := minimise(f, Add(n.loss, Add(Mean(places), Mean(image))), 0.1)
	if _, err := NewExecutor(n.g).Train(f.Context(), n.batch(1, 4)); err != nil {
		f.Fatal(err)
	}
	dir := f.TempDir()
	save(f, dir, Inference(n.pred, n.auc, places, image), k, 1)
	files, err := modelfiles.Open(context.Background(), dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(files.Close)
	graph, err := files.Graph()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(graph)
	var compact bytes.Buffer
	if err := json.Compact(&compact, graph); err != nil {
		f.Fatal(err)
	}
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
		m, err := readModel(data, wholeFiles{files})
		if err != nil {
			return
		}
		for _, n := range m.Graph.nodes {
			if n.perExample() > 1<<10 {
				return // right, and slow
			}
		}
		feed := batchOf{}
		for _, in := range m.Inputs {
			shape := append([]int{2}, in.shape[1:]...)
			if isInt(in) {
				feed[in.name] = int64sOf(shape, make([]int64, product(shape))...)
			} else {
				feed[in.name] = floats(shape, make([]float32, product(shape))...)
			}
		}
		NewExecutor(m.Graph).Eval(t.Context(), feed, m.Outputs...)
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
		dir := t.TempDir()
		save(t, dir, Inference(y), k, 1)
		m, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if m.Graph.finite["fc_1.w_0"] == bad || !m.Graph.finite["fc_0.w_0"] {
			t.Fatalf("finite are %v", m.Graph.finite)
		}
		quick := NewExecutor(m.Graph)
		slow := NewExecutor(m.Graph)
		for i := range 20 {
			x := batchOf{"x": floats([]int{1, 20}, uniform(uint32(i), 20, -1, 1)...)}
			got, err := quick.Eval(t.Context(), x, m.Output("y"))
			if err != nil {
				t.Fatal(err)
			}
			finite := m.Graph.finite
			m.Graph.finite = nil
			want, err := slow.Eval(t.Context(), x, m.Output("y"))
			if err != nil {
				t.Fatal(err)
			}
			m.Graph.finite = finite
			if !slices.Equal(bitsOf(got[0].Float32s()), bitsOf(want[0].Float32s())) {
				t.Errorf("infinite %v: %v, want %v", bad, got[0], want[0])
			}
		}
	}
}
