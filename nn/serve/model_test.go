package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/overlay"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/google/go-cmp/cmp"
)

// TestSaveAndLoad: a loaded model evaluates as the trained one did, rows included that nobody has trained.
func TestSaveAndLoad(t *testing.T) {
	for _, parts := range []int{1, 3} {
		n := newToy(7)
		k := minimise(t, n.loss, 0.3)
		e := nn.NewExecutor(n.g)
		for i := range 20 {
			must(t, e, n.batch(uint32(i), 8), n.loss)
		}
		feed := n.batch(77, 40) // of the open table's ids the trainer has seen none
		want, err := e.Eval(t.Context(), feed, n.pred, n.auc)
		law.Check(t, err)
		dir := t.TempDir()
		save(t, dir, nn.Inference(n.pred.Named("click"), n.auc), k, parts)
		m, err := Load(dir)
		law.Check(t, err)
		got, err := nn.NewExecutor(m.Graph).Eval(t.Context(), feed, m.Output("click"), m.Outputs[1])
		law.Check(t, err)
		for i := range got {
			if !slices.Equal(got[i].Float32s(), want[i].Float32s()) {
				t.Errorf("%d parts, output %d: %v, want %v", parts, i, got[i], want[i])
			}
		}
	}
}

// TestLoadRefuses changes a good model's graph, or its files: every change is an error that says where.
func TestLoadRefuses(t *testing.T) {
	n := newToy(1)
	k := minimise(t, n.loss, 0.1)
	must(t, nn.NewExecutor(n.g), n.batch(1, 4))
	good := t.TempDir()
	save(t, good, nn.Inference(n.pred), k, 1)
	graph, err := os.ReadFile(filepath.Join(good, "graph.json"))
	law.Check(t, err)
	weights, err := os.ReadFile(filepath.Join(good, "part-0.safetensors"))
	law.Check(t, err)
	var looks bytes.Buffer
	law.Check(t, nn.Inference(n.a).WriteGraph(&looks))
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
		law.Check(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "serve: ") {
		t.Errorf("%v does not say %q", err, want)
	}
}

// TestLoadedIDs: ids may be signed and come in any order, and a part without them, with too few, or with one twice is refused.
func TestLoadedIDs(t *testing.T) {
	p := &optimizer.Param{Name: "t", Shape: []int{0, 2}, Embedding: true}
	rows := safetensors.Tensor{Name: "t", DType: safetensors.F32, Shape: []int{2, 2}}
	source, err := readTable(t, p, rows, []int64{9, -1})
	law.Check(t, err)
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
	law.Check(t, err)
	defer file.Close()
	w, err := safetensors.NewWriter(file, tensors, nil)
	if err == nil && ids != nil {
		err = safetensors.Put(w, "t.ids", ids)
	}
	if err == nil {
		err = safetensors.Put(w, "t", []float32{1, 2, 3, 4})
	}
	law.Check(t, err)
	f, err := modelfiles.Open(context.Background(), dir)
	law.Check(t, err)
	defer f.Close()
	n, err := f.RowCount(p.Name)
	if err != nil {
		return nil, err
	}
	return overlay.Read(p.Dim(), n, "", rowsFrom(f, p))
}

// TestModelsSayWhatTheyAreFed: a saved model has its feeds and outputs, the format that training read, and a version of its own.
func TestModelsSayWhatTheyAreFed(t *testing.T) {
	dir := t.TempDir()
	trainedToy(t, dir, toyFormat())
	data, err := os.ReadFile(filepath.Join(dir, modelfiles.Signature))
	law.Check(t, err)
	type signature struct {
		Format         string
		Version        int
		Feeds, Outputs []nn.Value
	}
	var s signature
	law.Check(t, json.Unmarshal(data, &s))
	want := signature{Format: "gofleet signature", Version: 1, Outputs: []nn.Value{{Name: "click", Type: "float32", Shape: []int{-1, 1}}}, Feeds: []nn.Value{
		{Name: "a", Type: "int64", Shape: []int{-1, 2}}, {Name: "b", Type: "int64", Shape: []int{-1, 1}}, {Name: "c", Type: "int64", Shape: []int{-1, 1}}, {Name: "x", Type: "float32", Shape: []int{-1, 4}}}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	m, err := Load(dir)
	law.Check(t, err)
	if f, err := m.Format(); err != nil || !reflect.DeepEqual(f, dataset.Format(toyFormat())) {
		t.Errorf("the format is %v, %v", f, err)
	}
	first, err := Version(dir)
	if err != nil || first == "" || first != m.Version() {
		t.Errorf("version %q, %v; the model has %q", first, err, m.Version())
	}
	trainedToy(t, dir, nil)
	if second, err := Version(dir); err != nil || second == "" || second == first {
		t.Errorf("another model has version %q, %v; the first had %q", second, err, first)
	}
	if m, err = Load(dir); err != nil {
		t.Fatal(err)
	}
	if f, err := m.Format(); !errors.Is(err, errNoFormat) {
		t.Errorf("saved without a format: %v, %v", f, err)
	}
}

// TestModelsWithoutSignature: a directory without a signature, with a record or without, is read as ever.
func TestModelsWithoutSignature(t *testing.T) {
	n := newToy(7)
	k := minimise(t, n.loss, 0.3)
	must(t, nn.NewExecutor(n.g), n.batch(1, 8), n.loss)
	dir := t.TempDir()
	save(t, dir, nn.Inference(n.pred), k, 2)
	m, err := Load(dir)
	if err != nil || m.Version() != "" {
		t.Fatalf("version %q, %v", m.Version(), err)
	}
	if _, err := m.Format(); !errors.Is(err, errNoFormat) || !strings.Contains(err.Error(), "WithFormat") {
		t.Errorf("got %v", err)
	}
	if v, err := Version(dir); err != nil || v != "" {
		t.Errorf("version %q, %v", v, err)
	}
}

// TestAModelWithoutItsRecordSaysSo: a directory whose model.json was lost is read as it is, and the log warns, once for
// a directory; a model that has its record is no news.
func TestAModelWithoutItsRecordSaysSo(t *testing.T) {
	old := slog.Default()
	defer slog.SetDefault(old)
	var out bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	dir := t.TempDir()
	trainedToy(t, dir, nil)
	for _, want := range []int{0, 1} {
		for range 2 {
			if _, err := OpenScorer(dir, ScorerOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Count(out.String(), "has no model.json"); got != want || strings.Count(out.String(), dir) != want {
			t.Errorf("the log says it %d times, want %d: %s", got, want, out.String())
		}
		law.Check(t, os.RemoveAll(filepath.Join(dir, modelfiles.Record)))
	}
}

// TestSignaturesRefused: a signature that is damaged, of a version that is not known, or not this graph's, is refused with what to do;
// a format that this program does not know is told when it is asked for.
//
// Promise: [G13] a signature that is damaged, of a version that is not known, or another graph's is refused; models
// without load; one without its model.json is told
// Also: TestFormatsThatDontFit (nn), TestModelsWithoutSignature, TestAModelWithoutItsRecordSaysSo
func TestSignaturesRefused(t *testing.T) {
	dir := t.TempDir()
	trainedToy(t, dir, toyFormat())
	name := filepath.Join(dir, modelfiles.Signature)
	good, err := os.ReadFile(name)
	law.Check(t, err)
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 1
	write := func(data []byte) {
		t.Helper()
		law.Check(t, os.WriteFile(name, data, 0o600))
	}
	write(flipped)
	if _, err := Load(dir); !errors.Is(err, modelfiles.ErrDamaged) || !strings.Contains(err.Error(), "save the model again") {
		t.Errorf("a flipped bit: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, modelfiles.Record)); err != nil { // as who changes a file on purpose does
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"version": 1`, `"version": 2`, `version 2, this build reads "gofleet signature" version 1: load it with the version of gofleet that saved it`},
		{`"gofleet signature"`, `"other"`, `format "other"`},
		{`"name": "x"`, `"name": "y"`, "its feeds"},
		{`"name": "click"`, `"name": "clack"`, "its outputs"},
		{`"feeds"`, `"feds"`, `unknown field "feds"`},
		{`"feeds"`, `"more": 1, "feeds"`, "unknown field"},
		{`"Name": "x"`, `"Name": "y"`, `feed "x" [N 4] is not a column`},
		{`{`, `[`, "save the model again, or remove signature.json"},
	} {
		write(bytes.Replace(good, []byte(c.old), []byte(c.new), 1))
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "signature.json: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.new, err, c.want)
		}
	}
	write(bytes.Replace(good, []byte(`"csv"`), []byte(`"mine"`), 1))
	m, err := Load(dir)
	law.Check(t, err)
	if _, err := m.Format(); !errors.Is(err, dataset.ErrFormat) || !strings.Contains(err.Error(), "RegisterFormat") {
		t.Errorf("a format of another program: %v", err)
	}
}

// valued is a model of LibSVM's lines.
func valued() (g *nn.Graph, pred, loss *nn.Node) {
	g = nn.NewGraph(1)
	x := nn.EmbeddingPoolWeighted(g.Slot("ids"), g.SlotValues("values"), nn.PoolSum, nn.EmbeddingOptions{Name: "w", Dim: 1})
	pred = nn.Sigmoid(x)
	return g, pred, nn.Mean(nn.BinaryCrossEntropyWithLogits(x, g.Input("label", 1)))
}

// TestValuesFromLines: values beside ids are trained from LibSVM's lines, saved, and scored from lines, from JSON and
// from feeds alike.
func TestValuesFromLines(t *testing.T) {
	g, pred, loss := valued()
	k := minimise(t, loss, 0.5)
	e, format := nn.NewExecutor(g), dataset.LibSVM{}
	text := "1 3:0.5 17:2\n0\n1 17:-1 3:0 99:4\n"
	feed := batchOf{"label": floats([]int{3, 1}, 1, 0, 1)}
	feed["ids"], feed["ids.offsets"] = nn.Slots([][]int64{{3, 17}, {}, {17, 3, 99}})
	feed["values"], feed["values.offsets"] = nn.Slots([][]float32{{0.5, 2}, {}, {-1, 0, 4}})
	for range 3 {
		must(t, e, feed)
	}
	dir := t.TempDir()
	saveSigned(t, dir, nn.Inference(pred).WithFormat(format), k)
	s, err := OpenScorer(dir, ScorerOptions{Join: 8})
	law.Check(t, err)
	want, err := s.Score(t.Context(), feed)
	law.Check(t, err)
	lines, err := s.ScoreLines(t.Context(), []byte(text))
	if err != nil || !slices.Equal(lines.Values[0], want.Values[0]) {
		t.Errorf("from lines %v, %v; want %v", lines.Values, err, want.Values)
	}
	rows, err := s.ScoreJSON(t.Context(), []byte(`[{"ids": [3, 17], "values": [0.5, 2]}, {"ids": [], "values": []},
		{"ids": [17, 3, 99], "values": [-1, 0, 4]}]`))
	if err != nil || !slices.Equal(rows.Values[0], want.Values[0]) || want.Values[0][1] != 0.5 || want.Values[0][0] == 0.5 {
		t.Errorf("from JSON %v, %v; want %v", rows.Values, err, want.Values)
	}
	var batches []batchOf
	for _, r := range []struct {
		ids    [][]int64
		values [][]float32
	}{{[][]int64{{3, 17}, {}}, [][]float32{{0.5, 2}, {}}}, {[][]int64{{}}, [][]float32{{}}}, {[][]int64{{17, 3, 99}}, [][]float32{{-1, 0, 4}}}} {
		b := batchOf{}
		b["ids"], b["ids.offsets"] = nn.Slots(r.ids)
		b["values"], b["values.offsets"] = nn.Slots(r.values)
		batches = append(batches, b)
	}
	scores, errs := joined(t, s, batches)
	for i, w := range []float32{want.Values[0][0], want.Values[0][1], want.Values[0][2]} {
		if errs[i] != nil || scores[i].Values[0][0] != w {
			t.Errorf("joined: call %d has %v, %v; want %v", i, scores[i].Values, errs[i], w)
		}
	}
}
