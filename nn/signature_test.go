package nn

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/google/go-cmp/cmp"
)

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
	e := NewExecutor(n.g)
	for i := range 20 {
		if _, err := e.Train(t.Context(), n.batch(uint32(i), 8), n.loss); err != nil {
			t.Fatal(err)
		}
	}
	saved := []*Node{n.pred}
	for _, name := range outputs {
		saved = append(saved, n.g.Node(name))
	}
	saveSigned(t, dir, Inference(saved...).WithFormat(format), k)
	return n
}

// saveSigned saves a model as a fleet does.
func saveSigned(t testing.TB, dir string, m InferenceModel, k *keeper) {
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
	if err != nil {
		t.Fatal(err)
	}
}

// TestModelsSayWhatTheyAreFed: a saved model has its feeds and outputs, the format that training read, and a version of its own.
func TestModelsSayWhatTheyAreFed(t *testing.T) {
	dir := t.TempDir()
	trainedToy(t, dir, toyFormat())
	data, err := os.ReadFile(filepath.Join(dir, modelfiles.Signature))
	if err != nil {
		t.Fatal(err)
	}
	var s signature
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	s.Rows = nil
	want := signature{Format: "gofleet signature", Version: 1, Outputs: []Value{{"click", "float32", []int{-1, 1}}}, Feeds: []Value{
		{"a", "int64", []int{-1, 2}}, {"b", "int64", []int{-1, 1}}, {"c", "int64", []int{-1, 1}}, {"x", "float32", []int{-1, 4}}}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
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
	must(t, NewExecutor(n.g), n.batch(1, 8), n.loss)
	dir := t.TempDir()
	save(t, dir, Inference(n.pred), k, 2)
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
		if err := os.RemoveAll(filepath.Join(dir, modelfiles.Record)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSignaturesRefused: a signature that is damaged, of a version that is not known, or not this graph's, is refused with what to do;
// a format that this program does not know is told when it is asked for.
//
// Promise: [G13] a signature that is damaged, of a version that is not known, or another graph's is refused; models
// without load; one without its model.json is told
// Also: TestFormatsThatDontFit, TestModelsWithoutSignature, TestAModelWithoutItsRecordSaysSo
func TestSignaturesRefused(t *testing.T) {
	dir := t.TempDir()
	trainedToy(t, dir, toyFormat())
	name := filepath.Join(dir, modelfiles.Signature)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 1
	write := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Format(); !errors.Is(err, dataset.ErrFormat) || !strings.Contains(err.Error(), "RegisterFormat") {
		t.Errorf("a format of another program: %v", err)
	}
}

// TestFormatsThatDontFit: a model is not saved with a format that its feeds do not come from.
func TestFormatsThatDontFit(t *testing.T) {
	n := newToy(1)
	for want, change := range map[string]func(f *dataset.CSV){
		`feed "x" [N 4] is not a column of the format`: func(f *dataset.CSV) { f.Schema[3].Name = "y" },
		`does not take the column "b" float32`:         func(f *dataset.CSV) { f.Schema[1].Column = dataset.Floats("b") },
		`does not take the column "x" float32 [2 2]`:   func(f *dataset.CSV) { f.Schema[3].Shape = []int{2, 2} },
		"Comma": func(f *dataset.CSV) { f.Comma = '"' },
	} {
		f := toyFormat()
		change(&f)
		if err := Inference(n.pred).WithFormat(f).Err(); !strings.Contains(unplaced(err), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	near := Linear(NewGraph(1).Input("lable", 1), 1, LinearOptions{})
	if err := Inference(near).WithFormat(toyFormat()).Err(); !strings.Contains(unplaced(err), `did you mean "label"?`) {
		t.Errorf("a mistyped feed: %v", err)
	}
	names := dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Floats("numbers", 2), Fields: []string{"a", "b"}}, {Column: dataset.Ints("names"), Hash: 9}}}
	only := Linear(NewGraph(1).Input("nums", 2), 1, LinearOptions{})
	if err := Inference(only).WithFormat(names).Err(); !strings.Contains(unplaced(err), `did you mean "numbers"? (what a Map makes`) {
		t.Errorf("a feed of another name than the only column that it takes: %v", err)
	}
	wide := Linear(NewGraph(1).Input("numbrs", 3), 1, LinearOptions{})
	if err := Inference(wide).WithFormat(names).Err(); !strings.Contains(unplaced(err), `did you mean "numbers"?`) {
		t.Errorf("a mistyped feed of another shape than its column: %v", err)
	}
	if err := Inference(n.pred).WithFormat(namelessFormat{toyFormat()}).Err(); !errors.Is(err, dataset.ErrFormat) {
		t.Errorf("a format without a name: %v", err)
	}
	if err := Inference().Err(); err == nil {
		t.Error("a model without outputs has a signature")
	}
	if err := Inference(n.pred).WithFormat(toyFormat()).Err(); err != nil {
		t.Errorf("a format that fits: %v", err)
	}
}

type namelessFormat struct{ dataset.CSV }
