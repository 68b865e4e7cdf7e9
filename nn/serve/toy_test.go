package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// toy is a small net with everything in it: two lookups of one table, a table of its own, dense features.
type toy struct {
	g          *nn.Graph
	a, b, pred *nn.Node
	loss, auc  *nn.Node
}

func newToy(seed uint64) *toy {
	g := nn.NewGraph(seed)
	shared := nn.EmbeddingOptions{Name: "shared", Height: 50, Dim: 3, Init: optimizer.Uniform{Low: -0.5, High: 0.5}}
	a, b := nn.Embedding(g.IDs("a", 2), shared), nn.Embedding(g.IDs("b", 1), shared)
	open := nn.Embedding(g.IDs("c", 1), nn.EmbeddingOptions{Name: "open", Dim: 2})
	h := nn.Linear(nn.Concat(a, b, open, g.Input("x", 4)), 8, nn.LinearOptions{Act: nn.ReLU})
	pred, label := nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid}), g.Input("label", 1)
	return &toy{g: g, a: a, b: b, pred: pred, loss: nn.Mean(nn.LogLoss(pred, label)), auc: nn.AUC(pred, label)}
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

func uniform(seed uint32, n int, lo, hi float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		h := uint32(i)*2654435761 + seed*2246822519 + 374761393
		h = (h ^ h>>15) * 2246822519
		h = (h ^ h>>13) * 3266489917
		v[i] = float32(lo + (hi-lo)*(float64(h^h>>16)/(1<<32)))
	}
	return v
}

func integers(seed uint32, n, below int) []int64 {
	v := make([]int64, n)
	for i, x := range uniform(seed, n, 0, 1) {
		v[i] = int64(math.Floor(float64(x) * float64(below)))
	}
	return v
}

// toyFormat are lines that the toy's feeds come from.
func toyFormat() dataset.CSV {
	return dataset.CSV{Comma: ';', NA: "NA", Fields: []string{"a0", "a1", "b", "c", "x0", "x1", "x2", "x3", "late"}, Schema: []dataset.CSVColumn{
		{Column: dataset.Ints("a", 2), Fields: []string{"a0", "a1"}, Hash: 50},
		{Column: dataset.Ints("b"), Missing: "7"},
		{Column: dataset.IDs("c"), Hash: 1 << 32},
		{Column: dataset.Floats("x", 4), Fields: []string{"x0", "x1", "x2", "x3"}, Missing: "-1"},
		{Column: dataset.Floats("label"), Fields: []string{"late"}},
	}}
}

// trainedToy is a toy that has learned a little, saved with a format unless that is nil.
func trainedToy(t testing.TB, dir string, format dataset.Format, outputs ...string) *toy {
	t.Helper()
	n := newToy(7)
	n.pred.Named("click")
	k := minimise(t, n.loss, 0.3)
	e := nn.NewExecutor(n.g)
	for i := range 20 {
		if _, err := e.Train(t.Context(), n.batch(uint32(i), 8), n.loss); err != nil {
			t.Fatal(err)
		}
	}
	saved := []*nn.Node{n.pred}
	for _, name := range outputs {
		saved = append(saved, n.g.Node(name))
	}
	saveSigned(t, dir, nn.Inference(saved...).WithFormat(format), k)
	return n
}

// saveSigned saves a model as a fleet does.
func saveSigned(t testing.TB, dir string, m nn.InferenceModel, k *keeper) {
	t.Helper()
	s, err := modelfiles.Begin(dir)
	if err == nil {
		err = errors.Join(s.Write(modelfiles.Graph, m.WriteGraph), s.Write(modelfiles.Signature, m.WriteSignature))
	}
	if err == nil {
		err = s.Write(modelfiles.Weights, func(w io.Writer) error { savePart(t, w, m.Params(), k, 0, 1); return nil })
	}
	if err == nil {
		err = s.Commit()
	}
	law.Check(t, err)
}

// keeper is the smallest trainer: plain SGD over a map.
type keeper struct {
	lr    float32
	dense map[string][]float32
	rows  map[string]map[uint64][]float32
	gone  map[string][]uint64 // ids that savePart says are gone, ascending
}

// minimise binds a loss to a keeper.
func minimise(t testing.TB, loss *nn.Node, lr float32) *keeper {
	t.Helper()
	k := &keeper{lr: lr, dense: map[string][]float32{}, rows: map[string]map[uint64][]float32{}}
	loss.Bind(k)
	law.Check(t, loss.Err())
	return k
}

// keeping is a session with a keeper.
type keeping struct {
	*keeper
	params []*optimizer.Param
}

func (k *keeper) Open(params []*optimizer.Param) (optimizer.Session, error) {
	for _, p := range params {
		switch {
		case p.Embedding && k.rows[p.Name] == nil:
			k.rows[p.Name] = map[uint64][]float32{}
		case !p.Embedding && k.dense[p.Name] == nil:
			k.dense[p.Name] = make([]float32, p.Size())
			p.First(k.dense[p.Name])
		}
	}
	return keeping{k, params}, nil
}

func (*keeper) EndEpoch(context.Context) error { return nil }

func (k keeping) Begin(_ context.Context, step *optimizer.Step) error {
	for _, p := range k.params {
		copy(p.W, k.dense[p.Name])
	}
	for _, r := range step.Rows {
		dim, rows := r.Param.Dim(), k.rows[r.Param.Name]
		for i, id := range r.IDs {
			w := r.W[i*dim : (i+1)*dim]
			if copy(w, rows[id]) == 0 {
				clear(w)
				if !step.Eval || r.Param.Height() > 0 {
					r.Param.InitRow(w, id)
				}
			}
			if !step.Eval {
				rows[id] = slices.Clone(w)
			}
		}
	}
	return nil
}

func (k keeping) End(_ context.Context, step *optimizer.Step) error {
	if step.Eval {
		return nil
	}
	for _, p := range k.params {
		k.descend(k.dense[p.Name], p.G)
	}
	for _, r := range step.Rows {
		dim := r.Param.Dim()
		for i, id := range r.IDs {
			k.descend(k.rows[r.Param.Name][id], r.G[i*dim:(i+1)*dim])
		}
	}
	return nil
}

func (k *keeper) descend(w, g []float32) {
	for i := range g {
		w[i] -= k.lr * g[i]
	}
}

func (keeping) Close(context.Context) error { return nil }

func floats(shape []int, data ...float32) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))
}

func int64sOf(shape []int, data ...int64) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))
}

type batchOf = map[string]*tensor.Dense

// must runs a training step that has to succeed.
func must(t *testing.T, e *nn.Executor, feed batchOf, fetch ...*nn.Node) {
	t.Helper()
	if _, err := e.Train(t.Context(), feed, fetch...); err != nil {
		t.Fatal(err)
	}
}

// save writes a model as a fleet does: the graph, and the keeper's weights in parts, each with some rows of every table. The
// last part's rows are not in order.
func save(t testing.TB, dir string, m optimizer.Model, k *keeper, parts int) {
	t.Helper()
	var graph bytes.Buffer
	law.Check(t, m.WriteGraph(&graph))
	law.Check(t, os.WriteFile(filepath.Join(dir, "graph.json"), graph.Bytes(), 0o644))
	for part := range parts {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("part-%d.safetensors", part)))
		law.Check(t, err)
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
	law.Check(t, err)
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
