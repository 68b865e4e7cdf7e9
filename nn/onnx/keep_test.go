package onnx

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"gorgonia.org/tensor"
)

var (
	keep   = flag.String("keep", "", "a directory in which models of ONNX stay, with feeds and the scores of a Scorer, for a runtime to compare")
	models = flag.String("models", "", "directories of saved models to keep so, with commas, beside the cases of ops")
)

// kept is an array as JSON.
type kept struct {
	Type  string
	Shape []int
	Data  any
}

func keptOf(t *tensor.Dense) kept {
	k := kept{t.Dtype().String(), t.Shape(), t.Data()}
	if wide, is := k.Data.([]uint64); is { // ONNX is fed the int64 of the same bits
		bits := make([]int64, len(wide))
		for i, id := range wide {
			bits[i] = int64(id)
		}
		k.Type, k.Data = "int64", bits
	}
	return k
}

// TestKeep leaves what .ci/outside.d/onnx has a runtime compute.
func TestKeep(t *testing.T) {
	if *keep == "" {
		t.Skip("for .ci/outside onnx: -keep=DIR")
	}
	for _, c := range cases() {
		keepModel(t, c.name, c.model(t), c.o, 40)
	}
	for _, dir := range strings.Split(*models, ",") {
		if dir == "" {
			continue
		}
		m, err := serve.Load(dir)
		law.Check(t, err)
		keepModel(t, "model "+filepath.Base(filepath.Dir(dir)), m, Options{}, 1000)
	}
}

// keepModel exports a model, scores examples of it, and keeps both.
func keepModel(t *testing.T, name string, m *serve.Model, o Options, examples int) {
	t.Helper()
	dir := filepath.Join(*keep, name)
	if strings.Contains(name, "/") {
		t.Fatalf("%q is no name of a directory", name)
	}
	law.Check(t, os.MkdirAll(dir, 0o777))
	if err := Export(m, filepath.Join(dir, "model.onnx"), o); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	law.Check(t, os.WriteFile(filepath.Join(dir, "sum"), []byte(sum(written(t, m, o))), 0o666))
	in, out := scored(t, m, examples)
	for _, table := range o.Rows {
		bring(m, table, in)
	}
	write(t, filepath.Join(dir, "feeds.json"), in)
	write(t, filepath.Join(dir, "scores.json"), out)
}

// scored are feeds and what an evaluation makes of them.
func scored(t testing.TB, m *serve.Model, examples int) (in, out map[string]kept) {
	t.Helper()
	var values []nn.Value
	text := new(strings.Builder)
	law.Check(t, nn.Inference(m.Outputs...).WriteSignature(text))
	var signature struct{ Feeds []nn.Value }
	law.Check(t, json.Unmarshal([]byte(text.String()), &signature))
	values = signature.Feeds
	batch := feeds(values, examples, heights(m))
	exe := nn.NewExecutor(m.Graph)
	defer exe.Close(context.Background())
	got, err := exe.Eval(context.Background(), batch, m.Outputs...)
	law.Check(t, err)
	in, out = map[string]kept{}, map[string]kept{}
	for name, v := range batch {
		in[name] = keptOf(v)
	}
	for i, n := range m.Outputs {
		out[n.Name()] = keptOf(got[i].Clone().(*tensor.Dense))
	}
	return in, out
}

// heights are what ids of feeds are below: half of them have no row.
func heights(m *serve.Model) map[string]int64 {
	below := map[string]int64{"outside": small + 1}
	for name, n := range nodesOf(m) {
		for _, user := range n {
			if len(user.Inputs()) > 1 && user.Inputs()[1].Op() == "table" {
				if h := user.Inputs()[1].Shape()[0]; h > 0 && name != "outside" && (below[name] == 0 || int64(h) < below[name]) {
					below[name] = int64(h)
				}
			}
			if user.Op() == "gather" {
				below[name] = int64(user.Inputs()[0].Shape()[1])
			}
		}
	}
	return below
}

// nodesOf are the nodes that take a feed, by its name.
func nodesOf(m *serve.Model) map[string][]*nn.Node {
	all, seen := map[string][]*nn.Node{}, map[*nn.Node]bool{}
	var visit func(n *nn.Node)
	visit = func(n *nn.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, in := range n.Inputs() {
			if in.Op() == "input" {
				all[in.Name()] = append(all[in.Name()], n)
			}
			visit(in)
		}
	}
	for _, n := range m.Outputs {
		visit(n)
	}
	return all
}

// bring puts the rows of feeds' ids in an embedding beside them.
func bring(m *serve.Model, name string, in map[string]kept) {
	for feed, users := range nodesOf(m) {
		for _, user := range users {
			if len(user.Inputs()) < 2 || user.Inputs()[1].Name() != name {
				continue
			}
			ids, dim := in[feed], user.Inputs()[1].Shape()[1]
			var w []float32
			for _, id := range ids.Data.([]int64) {
				row := make([]float32, dim)
				if !(feed == "slot" && id == 3) { // padding
					for _, p := range m.Graph.Params() {
						if p.Name == name {
							(&table{param: p}).saved(row, uint64(id))
						}
					}
				}
				w = append(w, row...)
			}
			in[feed+"."+name] = kept{"float32", append(append([]int{}, ids.Shape...), dim), w}
		}
	}
}

func write(t testing.TB, name string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(name, text, 0o666)
	}
	law.Check(t, err)
}
