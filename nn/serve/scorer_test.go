package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"
)

// toyLines are raw rows of the toy, some with values missing.
const toyLines = "ann;bob;3;x y;0.5;NA;1e-3;-2;1\n;ann;;z;1;2;3;4;0\nann;;49;;NA;NA;NA;NA;1\n"

func bitsOf(x []float32) (bits []uint32) {
	for _, v := range x {
		bits = append(bits, math.Float32bits(v))
	}
	return bits
}

// TestNoSkew: raw lines become the same feeds, and the same scores, by the model that was saved as by the format that training read:
// hashes, heights, scaled numbers, fillers, separators, with a label or without.
//
// Promise: [G13] raw lines become the feeds, and the scores, that the format of training makes of them, scaled alike,
// with a label or without
func TestNoSkew(t *testing.T) {
	header := toyFormat()
	header.Fields = nil
	names := strings.Join(toyFormat().Fields, ";") + "\n"
	slots := dataset.SlotText{Pad: true, Slots: []dataset.SlotColumn{{Column: dataset.Ints("a", 2)}, {Column: dataset.Ints("b")},
		{Column: dataset.IDs("c")}, {Column: dataset.Floats("x", 4)}, {Column: dataset.Floats("label")}}}
	scaled := toyFormat()
	scaled.Schema[3].Scale = []dataset.Scaling{{Mean: .1, Std: .3}, {Log1p: true}, {Log1p: true, Mean: 1. / 3, Std: 7}, {Std: 1e-3}}
	json := dataset.JSONLines{Missing: "7", NAs: []string{"NA"}, Schema: scaled.Schema}
	rows := ""
	for line := range strings.Lines(toyLines) {
		rows += "{"
		for i, value := range strings.Split(strings.TrimSpace(line), ";") {
			rows += fmt.Sprintf("%q:%q,", toyFormat().Fields[i], value)
		}
		rows = rows[:len(rows)-1] + "}\n"
	}
	for _, c := range []struct {
		format           dataset.Format
		trained, toScore string
	}{
		{scaled, toyLines, toyLines},
		{json, rows, strings.ReplaceAll(rows, `"late"`, `"when"`)},
		{toyFormat(), toyLines, toyLines},
		{toyFormat(), toyLines, strings.NewReplacer(";1\n", ";\n", ";0\n", ";?\n").Replace(toyLines)},
		{header, names + toyLines, strings.ReplaceAll(names+toyLines, "late", "when")},
		{slots, "a:1 a:2 b:3 c:18446744073709551615 x:1 x:2 x:3 x:4 label:1\na:7 x:.5 label:0\n",
			"a:1 a:2 b:3 c:18446744073709551615 x:1 x:2 x:3 x:4\na:7 x:.5 label:0\n"},
	} {
		dir := t.TempDir()
		trainedToy(t, dir, c.format)
		s, err := OpenScorer(dir, ScorerOptions{})
		law.Check(t, err)
		got, err := s.ScoreLines(t.Context(), []byte(c.toScore))
		law.Check(t, err)
		m, w := s.now.Load().model, s.now.Load().memory() // that of the call
		served, err := w.lines.Decode([]byte(c.toScore))
		law.Check(t, err)
		for trained, err := range dataset.FromReader(strings.NewReader(c.trained), "file", c.format).Batches(100) {
			law.Check(t, err)
			for _, feed := range s.Feeds() {
				if diff := cmp.Diff(trained[feed.Name].Data(), served[feed.Name].Data()); diff != "" {
					t.Errorf("%T: feed %s: %s", c.format, feed.Name, diff)
				}
			}
			want, err := nn.NewExecutor(m.Graph).Eval(t.Context(), trained, m.Output("click"))
			if err != nil || !slices.Equal(bitsOf(got.Values[0]), bitsOf(want[0].Float32s())) {
				t.Errorf("%T: scores %v, want %v, %v", c.format, got, want, err)
			}
		}
	}
}

// TestScoresOfUnseenIDs: an id that was never trained reads as zeros where ids are open, and as its initial row where they are bounded.
func TestScoresOfUnseenIDs(t *testing.T) {
	g := nn.NewGraph(1)
	id := g.IDs("id", 1)
	open := nn.Embedding(id, nn.EmbeddingOptions{Name: "open", Dim: 1, Init: optimizer.Constant{Value: 3}})
	bounded := nn.Embedding(id, nn.EmbeddingOptions{Name: "bounded", Dim: 1, Height: 10, Init: optimizer.Constant{Value: 5}})
	loss := nn.Mean(nn.Add(open, bounded))
	k := minimise(t, loss, 1)
	ids := func(id uint64) map[string]*tensor.Dense {
		return map[string]*tensor.Dense{"id": tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]uint64{id}))}
	}
	if _, err := nn.NewExecutor(g).Train(t.Context(), ids(1), loss); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	saveSigned(t, dir, nn.Inference(open.Named("first"), bounded.Named("second")), k)
	s, err := OpenScorer(dir, ScorerOptions{})
	law.Check(t, err)
	for id, want := range map[uint64][]float32{1: {2, 4}, 7: {0, 5}} {
		got, err := s.Score(t.Context(), ids(id))
		if err != nil || got.Values[0][0] != want[0] || got.Values[1][0] != want[1] {
			t.Errorf("id %d: %v, error %v, want %v", id, got.Values, err, want)
		}
	}
}

// TestScorersAgree: what sixteen goroutines compute at once has the bits of a lone executor's, of batches of every size, by feeds, by lines
// and by JSON; and a steady loop allocates its answers and no more.
//
// Promise: [G13] many goroutines get the bits of a lone executor, and memory is used again, a bounded amount of it
// Also: TestScorersLetMemoryGo
func TestScorersAgree(t *testing.T) {
	dir := t.TempDir()
	n := trainedToy(t, dir, toyFormat())
	s, err := OpenScorer(dir, ScorerOptions{})
	law.Check(t, err)
	m, err := Load(dir)
	law.Check(t, err)
	var batches []batchOf
	var want [][]uint32
	e := nn.NewExecutor(m.Graph)
	for i := range 12 {
		batches = append(batches, n.batch(uint32(100+i), 1+i*i))
		out, err := e.Eval(t.Context(), batches[i], m.Output("click"))
		law.Check(t, err)
		want = append(want, bitsOf(out[0].Float32s()))
	}
	line := []byte(strings.Split(toyLines, "\n")[2])
	d, err := dataset.NewDecoder(toyFormat())
	law.Check(t, err)
	feeds, err := d.Decode(line)
	law.Check(t, err)
	out, err := e.Eval(t.Context(), feeds, m.Output("click"))
	law.Check(t, err)
	ofLine, json := bitsOf(out[0].Float32s()), jsonOf(t, feeds, s.Feeds())
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := range 40 {
				b := (g + i) % len(batches)
				out, err := s.Score(t.Context(), batches[b])
				if err != nil || !slices.Equal(bitsOf(out.Values[0]), want[b]) {
					t.Errorf("goroutine %d, batch %d: %v, error %v", g, b, out, err)
				}
				out, err = s.ScoreLines(t.Context(), line)
				if err != nil || !slices.Equal(bitsOf(out.Values[0]), ofLine) {
					t.Errorf("goroutine %d, a line: %v, error %v", g, out, err)
				}
				out, err = s.ScoreJSON(t.Context(), json)
				if err != nil || !slices.Equal(bitsOf(out.Values[0]), ofLine) {
					t.Errorf("goroutine %d, JSON: %v, error %v", g, out, err)
				}
			}
		})
	}
	all.Wait()
	if kept := len(s.now.Load().free); kept > 16 {
		t.Errorf("%d workspaces for 16 goroutines", kept)
	}
	if allocated := testing.AllocsPerRun(50, func() {
		if _, err := s.Score(t.Context(), batches[3]); err != nil {
			t.Fatal(err)
		}
	}); allocated > 3 {
		t.Errorf("%v allocations a call", allocated)
	}
}

// TestReloadDropsNothing: while models are saved over each other and taken up, every call is answered, by one model or the other as a whole.
//
// Promise: [G13] while models are saved over each other and taken up, every call is answered, by one of them as a
// whole; deltas are taken up in order, which a scorer finds
// Also: TestScorersTakeDeltas, TestScorersFindDeltas, TestScorersFollow
func TestReloadDropsNothing(t *testing.T) {
	law.Slow(t)
	dirs := []string{t.TempDir(), t.TempDir()}
	n := trainedToy(t, dirs[0], toyFormat())
	other := newToy(8)
	other.pred.Named("click")
	otherKeeper := minimise(t, other.loss, 0.3)
	must(t, nn.NewExecutor(other.g), other.batch(3, 8), other.loss)
	saveSigned(t, dirs[1], nn.Inference(other.pred).WithFormat(toyFormat()), otherKeeper)
	var want [2]string
	var versions sync.Map // which model each of them names
	feeds := n.batch(9, 5)
	for i, dir := range dirs {
		s, err := OpenScorer(dir, ScorerOptions{})
		law.Check(t, err)
		out, err := s.Score(t.Context(), feeds)
		law.Check(t, err)
		want[i] = fmt.Sprint(bitsOf(out.Values[0]))
	}
	s, err := OpenScorer(dirs[0], ScorerOptions{})
	law.Check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var answers [2]atomic.Int64
	for range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				out, err := s.Score(context.WithoutCancel(ctx), feeds)
				if err != nil {
					t.Errorf("a call was dropped: %v", err)
					return
				}
				which := slices.Index(want[:], fmt.Sprint(bitsOf(out.Values[0])))
				if by, _ := versions.LoadOrStore(out.Version, which); which < 0 || by != which {
					t.Errorf("an answer of neither model, or by another's name: %v", out)
					return
				}
				answers[which].Add(1)
			}
		})
	}
	for round := range law.Share(10) {
		which := (round + 1) % 2
		if which == 1 {
			saveSigned(t, dirs[0], nn.Inference(other.pred).WithFormat(toyFormat()), otherKeeper)
		} else {
			trainedToy(t, dirs[0], toyFormat())
		}
		if changed, err := s.Reload(); err != nil || !changed {
			t.Errorf("round %d: %v, %v", round, changed, err)
		}
		if changed, err := s.Reload(); err != nil || changed {
			t.Errorf("round %d, again: %v, %v", round, changed, err)
		}
		if out, err := s.Score(ctx, feeds); err != nil || fmt.Sprint(bitsOf(out.Values[0])) != want[which] {
			t.Errorf("round %d: %v, %v: not the new model's", round, out, err)
		}
		if v, err := Version(dirs[0]); err != nil || v != s.Version() {
			t.Errorf("version %s, %v, want %s", s.Version(), err, v)
		}
		for n := answers[which].Load(); answers[which].Load() == n && !t.Failed(); {
			runtime.Gosched() // until who asks has had an answer of the new model
		}
	}
	stop()
	all.Wait()
	if answers[0].Load() == 0 || answers[1].Load() == 0 {
		t.Errorf("answers of the models: %d, %d", answers[0].Load(), answers[1].Load())
	}
}

// TestScorersTakeDeltas: a scorer takes up deltas, each once and in order, keeps them while the base is the same, and begins anew with another.
func TestScorersTakeDeltas(t *testing.T) {
	dir, delta := t.TempDir(), t.TempDir()
	n := newToy(7)
	n.pred.Named("click")
	k := minimise(t, n.loss, 0.3)
	train := func() {
		t.Helper()
		must(t, nn.NewExecutor(n.g), n.batch(1, 8), n.loss)
	}
	model := nn.Inference(n.pred).WithFormat(toyFormat())
	train()
	saveSigned(t, dir, model, k)
	s, err := OpenScorer(dir, ScorerOptions{})
	law.Check(t, err)
	base := s.Version()
	train()
	saveDelta(t, delta, modelfiles.Delta{Base: base, Follows: base, Number: 1}, model, k)
	whole := t.TempDir()
	saveSigned(t, whole, model, k)
	other, err := OpenScorer(whole, ScorerOptions{})
	law.Check(t, err)
	if err := s.TakeDelta(delta); err != nil || s.Version() == base {
		t.Fatalf("version %s, %v", s.Version(), err)
	}
	if took, err := s.Reload(); took || err != nil {
		t.Errorf("the base is taken again: %v, %v", took, err)
	}
	want, unscored := other.ScoreLines(t.Context(), []byte(toyLines))
	got, err := s.ScoreLines(t.Context(), []byte(toyLines))
	if err != nil || unscored != nil || !slices.Equal(bitsOf(got.Values[0]), bitsOf(want.Values[0])) {
		t.Errorf("behind the delta: %v, %v, want %v, %v", got, err, want, unscored)
	}
	if err := s.TakeDelta(delta); err == nil {
		t.Error("a delta is taken twice")
	}
	saveSigned(t, dir, model, k)
	if took, err := s.Reload(); !took || err != nil {
		t.Errorf("another base is not taken: %v, %v", took, err)
	}
}

// saveDelta saves a delta as a fleet does, and returns its version.
func saveDelta(t *testing.T, dir string, d modelfiles.Delta, m nn.InferenceModel, k *keeper) string {
	t.Helper()
	save, err := modelfiles.Begin(dir)
	if err == nil {
		err = save.Follow(d)
	}
	if err == nil {
		err = save.Write(modelfiles.Weights, func(w io.Writer) error { savePart(t, w, m.Params(), k, 0, 1); return nil })
	}
	if err == nil {
		err = save.Commit()
	}
	law.Check(t, err)
	return save.Version()
}

// TestScorersFindDeltas: of the directories that deltas are saved into, those that follow are taken, in their order, when the scorer opens and
// when it reloads; deltas of another base are left alone, and what can't be read is told.
func TestScorersFindDeltas(t *testing.T) {
	dir, deltas := t.TempDir(), t.TempDir()
	n := newToy(7)
	n.pred.Named("click")
	k := minimise(t, n.loss, 0.3)
	model := nn.Inference(n.pred).WithFormat(toyFormat())
	save := func() string {
		t.Helper()
		must(t, nn.NewExecutor(n.g), n.batch(1, 8), n.loss)
		saveSigned(t, dir, model, k)
		v, err := Version(dir)
		law.Check(t, err)
		return v
	}
	base := save()
	last, number := base, 0
	delta := func(name string) {
		t.Helper()
		must(t, nn.NewExecutor(n.g), n.batch(1, 8), n.loss)
		number++
		last = saveDelta(t, filepath.Join(deltas, name), modelfiles.Delta{Base: base, Follows: last, Number: number}, model, k)
	}
	agrees := func(s *Scorer, what string) {
		t.Helper()
		whole := t.TempDir()
		saveSigned(t, whole, model, k)
		other, err := OpenScorer(whole, ScorerOptions{})
		law.Check(t, err)
		want, unscored := other.ScoreLines(t.Context(), []byte(toyLines))
		got, err := s.ScoreLines(t.Context(), []byte(toyLines))
		if err != nil || unscored != nil || !slices.Equal(bitsOf(got.Values[0]), bitsOf(want.Values[0])) {
			t.Errorf("%s: %v, %v, want %v, %v", what, got, err, want, unscored)
		}
	}
	law.Check(t, os.WriteFile(filepath.Join(deltas, "notes"), nil, 0o600))
	delta("c")
	delta("a")
	s, err := OpenScorer(dir, ScorerOptions{Deltas: deltas})
	law.Check(t, err)
	agrees(s, "opened")
	delta("b")
	if took, err := s.Reload(); !took || err != nil {
		t.Errorf("another delta: %v, %v", took, err)
	}
	agrees(s, "reloaded")
	if took, err := s.Reload(); took || err != nil {
		t.Errorf("nothing new: %v, %v", took, err)
	}
	base = save()
	last, number = base, 0
	delta("d")
	if took, err := s.Reload(); !took || err != nil {
		t.Errorf("another base: %v, %v", took, err)
	}
	agrees(s, "of another base")
	before := s.Version()
	damaged := filepath.Join(deltas, "e")
	err = errors.Join(os.Mkdir(damaged, 0o700), os.WriteFile(filepath.Join(damaged, modelfiles.Record), []byte("{"), 0o600))
	law.Check(t, err)
	if took, err := s.Reload(); took || err == nil || !strings.Contains(err.Error(), damaged) || s.Version() != before {
		t.Errorf("a damaged one: %v, %v", took, err)
	}
	if _, err := OpenScorer(dir, ScorerOptions{Deltas: filepath.Join(deltas, "none")}); err != nil {
		t.Errorf("a directory that isn't there yet: %v", err)
	}
	if _, err := OpenScorer(dir, ScorerOptions{Deltas: filepath.Join(deltas, "notes")}); err == nil {
		t.Error("a file in place of a directory")
	}
}

// jsonOf is a row of a batch as JSON.
func jsonOf(t *testing.T, feeds dataset.Batch, names []nn.Value) []byte {
	t.Helper()
	row := map[string]any{}
	for _, v := range names {
		row[v.Name] = feeds[v.Name].Data()
	}
	text, err := json.MarshalIndent([]any{row}, "", " ")
	law.Check(t, err)
	return text
}

// TestJSONRowsWithPadding: a row as JSON may have a padding id that is negative, of feeds and of slots, and has the scores of the same ids as int64.
func TestJSONRowsWithPadding(t *testing.T) {
	g := nn.NewGraph(1)
	id, words, padding := g.IDs("id", 2), g.Slot("words"), new(int64(-1))
	of := func(name string) nn.EmbeddingOptions {
		return nn.EmbeddingOptions{Dim: 1, Name: name, Height: 9, PaddingIdx: padding, Init: optimizer.Constant{Value: 1}}
	}
	s, err := NewScorer(&Model{Graph: g, Outputs: []*nn.Node{nn.Reshape(nn.Embedding(id, of("e")), 2), nn.EmbeddingPool(words, nn.PoolSum, of("p"))}}, ScorerOptions{})
	law.Check(t, err)
	got, err := s.ScoreJSON(t.Context(), []byte(`[{"id":[3,-1],"words":[-1,5,5]},{"id":[-1,-1],"words":[]}]`))
	if want := "[[1 0 0 0] [2 0]]"; err != nil || fmt.Sprint(got.Values) != want {
		t.Errorf("scores %v, want %s: %v", got.Values, want, err)
	}
	if _, err := s.ScoreJSON(t.Context(), []byte(`{"id":[3,-2],"words":[]}`)); err == nil || !strings.Contains(err.Error(), "-2") {
		t.Errorf("an id below the height that is no padding: %v", err)
	}
}

// TestJSONRows: rows as JSON are feeds by name, lists nested or not, ids of all bits; what is no row says which one and why.
func TestJSONRows(t *testing.T) {
	g := nn.NewGraph(1)
	x, id, words, class := g.Input("x", 2, 2), g.IDs("id", 1), g.Slot("words"), g.IDs("class", 1)
	h := nn.Concat(nn.Reshape(x, 4), nn.Embedding(id, nn.EmbeddingOptions{Dim: 1, Name: "e"}), nn.EmbeddingPool(words, nn.PoolSum, nn.EmbeddingOptions{Dim: 1, Name: "p"}), nn.Cast(class, nn.Float32))
	r := &scoring{feeds: []*nn.Node{x, id, words, class}, json: jsonFormatOf([]*nn.Node{x, id, words, class})}
	if h.Err() != nil {
		t.Fatal(h.Err())
	}
	decode := func(text string) (dataset.Batch, error) {
		lines, err := jsonLines([]byte(text))
		if err != nil {
			return nil, err
		}
		d, err := dataset.NewDecoder(r.json)
		law.Check(t, err)
		return d.Decode(lines)
	}
	b, err := decode(`[{"x":[[1,2.5],
		[-3e-1,0]],"id":18446744073709551615,"words":[],"class":[3]}, {"class":-4,"x":[1,2,3,4],"id":[7],"words":[5,6]}]`)
	law.Check(t, err)
	got := []any{b["x"].Data(), b["x"].Shape(), b["id"].Data(), b["words"].Data(), b["words.offsets"].Data(), b["class"].Data()}
	want := "[[1 2.5 -0.3 0 1 2 3 4] (2, 2, 2) [18446744073709551615 7] [5 6] [0 0 2] [3 -4]]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
	for text, want := range map[string]string{
		``:                        "unexpected end",
		`[]`:                      "only empty lines",
		`7`:                       "text:1: field of a row: want an object",
		`[{"x":1},`:               "rows as JSON",
		`{"x":[1,2,3]}`:           "field x: want 4 numbers, got 3",
		`{"x":[1,2,3,4,5]}`:       "field x: want 4 numbers, got more",
		`{"x":["1",2,3,4]}`:       `want a number of type float32, got`,
		`{"x":[null,2,3,4]}`:      `got "null"`,
		`{"x":[1e99,2,3,4]}`:      `field x: want a number in the range of float32, got "1e99"`,
		`{"x":[1,2,3,4]}`:         "field id: want a number, or a list of numbers, got nothing",
		`{"x":[1,2,3,4],"id":-1}`: `field id: want a number of type uint64, got "-1"`,
		`{"x":[1,2,3,4],"id":1,"words":[],"class":0,"late":1}`: "field late: want nothing: the model has no such feed",
	} {
		if _, err := decode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestScorersRefuse: what can't be scored is said before there is a call, or by the call, and what to do.
func TestScorersRefuse(t *testing.T) {
	dir := t.TempDir()
	n := trainedToy(t, dir, nil, "auc_0", "mean_0")
	m, err := Load(dir)
	law.Check(t, err)
	other := toyFormat()
	other.Schema = other.Schema[1:]
	for want, o := range map[string]ScorerOptions{
		`output "auc_0"`: {},
		`is of all examples together: name others in ScorerOptions.Outputs`: {Outputs: []string{"click", "mean_0"}},
		`no output "clack", only ["click" "auc_0" "mean_0"]`:                {Outputs: []string{"clack"}},
		`ScorerOptions.Format: feed "a" [N 2] is not a column`:              {Outputs: []string{"click"}, Format: other},
		`no output to compute`:                 {Outputs: []string{}, Join: 8},
		`ScorerOptions.Deltas is for OpenScor`: {Outputs: []string{"click"}, Deltas: dir},
	} {
		if _, err := NewScorer(m, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := NewScorer(nil, ScorerOptions{}); err == nil {
		t.Error("a scorer of nothing")
	}
	s, err := NewScorer(m, ScorerOptions{Outputs: []string{"click"}})
	law.Check(t, err)
	if _, err := s.ScoreLines(t.Context(), []byte(toyLines)); !errors.Is(err, errNoFormat) {
		t.Errorf("lines without a format: %v", err)
	}
	if _, err := s.Reload(); err == nil || !strings.Contains(err.Error(), "OpenScorer") {
		t.Errorf("no directory: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Score(ended, n.batch(1, 2)); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	s, err = OpenScorer(dir, ScorerOptions{Outputs: []string{"click"}, Format: toyFormat()})
	law.Check(t, err)
	if _, err := s.ScoreJSON(t.Context(), []byte(`[{"a":[1,2],"b":3,"c":4,"x":[1,2,3,4]},{"a":[1,50],"b":3,"c":4,"x":[1,2,3,4]}]`)); err == nil ||
		!strings.Contains(err.Error(), `text:2`) || !strings.Contains(err.Error(), "50") {
		t.Errorf("an id beyond the height: %v", err)
	}
	before := s.Version()
	_, err = s.ScoreLines(t.Context(), []byte("ann;bob;three;x;1;2;3;4;"))
	if bad, ok := errors.AsType[*dataset.LineError](err); !ok || bad.Field != "b" {
		t.Errorf("a bad line: %v", err)
	}
	changed := newToy(7)
	k := minimise(t, changed.loss, 0.3)
	must(t, nn.NewExecutor(changed.g), changed.batch(1, 8), changed.loss)
	saveSigned(t, dir, nn.Inference(changed.b.Named("click")), k)
	if took, err := s.Reload(); took || err == nil || !strings.Contains(err.Error(), "open another scorer") || s.Version() != before {
		t.Errorf("a model with another output: %v, %v", took, err)
	}
}

// FuzzJSONRows: whatever a request says, it is refused, or has a number for every feed of every row.
func FuzzJSONRows(f *testing.F) {
	format := jsonFormat{dataset.Floats("x", 2), dataset.Ints("n"), dataset.Varying(dataset.IDs("words"))}
	f.Add([]byte(`[{"x":[1,2],"n":3,"words":[1,2]},{"x":[[1],[2]],"n":[3],"words":[]}]`))
	f.Add([]byte(`{"x":[1,2],"n":3,"words":7}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, err := jsonLines(text)
		if err != nil {
			return
		}
		d, err := dataset.NewDecoder(format)
		law.Check(t, err)
		b, err := d.Decode(lines)
		if err == nil && len(b["x"].Float32s()) != 2*len(b["n"].Int64s()) {
			t.Errorf("%s: %v", text, b)
		}
	})
}

// TestEveryOptionActs: no field of ScorerOptions is without effect.
func TestEveryOptionActs(t *testing.T) {
	dir := t.TempDir()
	trainedToy(t, dir, nil)
	effect := func(o ScorerOptions) string {
		s, err := OpenScorer(dir, o)
		if err != nil {
			return err.Error()
		}
		out, err := s.ScoreLines(t.Context(), []byte(toyLines))
		return fmt.Sprint(s.Outputs(), out.Values, err)
	}
	set := reflect.ValueOf(ScorerOptions{Outputs: []string{}, Format: toyFormat(), Deltas: "doc.go",
		Join:    -1,  // what it joins: TestJoinedCallsAgree
		MaxRows: -1}) // who waits: TestScorersWaitForRoom
	for i := range set.NumField() {
		var o ScorerOptions
		reflect.ValueOf(&o).Elem().Field(i).Set(set.Field(i))
		if set.Field(i).IsZero() || effect(o) == effect(ScorerOptions{}) {
			t.Errorf("%s does nothing", set.Type().Field(i).Name)
		}
	}
}
