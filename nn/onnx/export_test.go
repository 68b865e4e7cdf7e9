package onnx

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"
)

// exportTo exports a model into a directory of the test, and returns both files.
func exportTo(t testing.TB, m *serve.Model, o Options) (first, second []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "model.onnx")
	law.Check(t, Export(m, file, o))
	first, err := os.ReadFile(file)
	law.Check(t, err)
	second, err = os.ReadFile(file + dataSuffix)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return first, second
}

// written is what a case's model is written as, but for what it says of itself, where its version is that of other
// files.
func written(t testing.TB, m *serve.Model, o Options) (first, second []byte) {
	t.Helper()
	b, err := build(m, o)
	law.Check(t, err)
	var beside bytes.Buffer
	var to io.Writer
	if o.Inline > 0 {
		to = &beside
	}
	tensors, err := b.tensors(to, "model.onnx.data")
	law.Check(t, err)
	return b.model(tensors, nil), beside.Bytes()
}

// sum is the checksum of both files.
func sum(first, second []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(slices.Concat(first, second)))
}

const golden = "testdata/golden.json"

// TestFiles: what is written is a graph in order, of weights of their sizes, as an independent decoder sees it, and
// the very bytes from which ONNX Runtime has computed a Scorer's answers: .ci/outside onnx writes the sums.
func TestFiles(t *testing.T) {
	text, err := os.ReadFile(golden)
	law.Check(t, err)
	var want map[string]string
	law.Check(t, json.Unmarshal(text, &want))
	all := cases()
	seen := make([][][]string, len(all))
	t.Run("cases", func(t *testing.T) {
		for i, c := range all {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				m := c.model(t)
				first, second := written(t, m, c.o)
				if sum(first, second) != want[c.name] {
					t.Errorf("the file has changed, or is new: run .ci/outside onnx, which has ONNX Runtime compute it and writes %s", golden)
				}
				d := decode(t, first)
				d.check(t, second)
				for i, n := range m.Outputs {
					if !strings.HasPrefix(d.outputs[i], n.Name()+" ") {
						t.Errorf("output %d is %q, want %q", i, d.outputs[i], n.Name())
					}
				}
				var text strings.Builder
				law.Check(t, nn.Inference(m.Outputs...).WriteGraph(&text))
				seen[i] = regexp.MustCompile(`"op": "(\w+)"`).FindAllStringSubmatch(text.String(), -1)
			})
		}
	})
	kinds := map[string]bool{}
	for i, c := range all {
		delete(want, c.name)
		for _, op := range seen[i] {
			kinds[op[1]] = true
		}
	}
	for kind := range exported {
		if !kinds[kind] {
			t.Errorf("no case has %q, so that no runtime has computed it", kind)
		}
	}
	if len(want) > 0 {
		t.Errorf("%s has %v, which is no case", golden, want)
	}
}

// TestSignature has inputs and outputs as a caller sees them.
func TestSignature(t *testing.T) {
	c := graph("", func(g *nn.Graph) []*nn.Node {
		s := nn.EmbeddingSequence(g.Slot("words"), 3, embeddingOf("emb", 0, nil))
		pool := nn.EmbeddingPoolWeighted(g.Slot("tags"), g.SlotValues("weights"), nn.PoolSum, embeddingOf("emb", 0, nil))
		ids := g.IDs("ids", 2)
		return []*nn.Node{nn.Linear(nn.ConcatAxis(1, g.Input("x", 2, 3), s.Rows), 2, nn.LinearOptions{}).Named("y"), pool.Named("z"),
			nn.Embedding(ids, embeddingOf("other", small, nil)).Named("e")}
	})
	m := c.model(t)
	whole := []string{"words 7 [words]", "words.offsets 7 [words.offsets]", "tags 7 [tags]", "tags.offsets 7 [tags.offsets]",
		"weights 1 [weights]", "ids 7 [N 2]", "x 1 [N 2 3]"}
	for _, c := range []struct {
		name            string
		o               Options
		inputs, outputs []string
	}{
		{"all", Options{}, whole, []string{"y 1 [N 2]", "z 1 [N 3]", "e 1 [N 6]"}},
		{"one output", Options{Outputs: []string{"e"}}, []string{"ids 7 [N 2]"}, []string{"e 1 [N 6]"}},
		{"an inner node", Options{Outputs: []string{"e", "concat_0"}}, nil, []string{"e 1 [N 6]", "concat_0 1 [N 5 3]"}},
		{"rows", Options{Outputs: []string{"z", "e"}, Rows: []string{"emb"}},
			[]string{"ids 7 [N 2]", "tags.offsets 7 [tags.offsets]", "tags.emb 1 [tags 3]", "weights 1 [weights]"}, []string{"z 1 [N 3]", "e 1 [N 6]"}},
		{"rows of ids", Options{Outputs: []string{"e"}, Rows: []string{"other"}}, []string{"ids.other 1 [N 2 3]"}, []string{"e 1 [N 6]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, _ := exportTo(t, m, c.o)
			d := decode(t, first)
			slices.Sort(c.inputs)
			slices.Sort(d.inputs)
			if c.inputs != nil && !slices.Equal(d.inputs, c.inputs) || !slices.Equal(d.outputs, c.outputs) {
				t.Errorf("inputs %q, outputs %q; want %q and %q", d.inputs, d.outputs, c.inputs, c.outputs)
			}
		})
	}
}

// TestEveryOpIsKnown: each op of nn is exported or refused, and none is both.
func TestEveryOpIsKnown(t *testing.T) {
	text, err := os.ReadFile("../registry.go")
	law.Check(t, err)
	_, table, _ := strings.Cut(string(text), "var recipes = ")
	kinds := regexp.MustCompile(`(?m)^\t"(\w+)": `).FindAllStringSubmatch(table, -1)
	if len(kinds) < 80 {
		t.Fatalf("%d ops found: the test does not see them", len(kinds))
	}
	all, not := map[string]bool{}, map[string]bool{}
	for _, ops := range refused {
		for _, op := range ops {
			not[op] = true
		}
	}
	for _, kind := range kinds {
		all[kind[1]] = true
		_, can := exported[kind[1]]
		if can == not[kind[1]] && kind[1] != "input" {
			t.Errorf("%s: exported and refused, or neither: give it a line in ops.go, with a case that a runtime computes, or in refused.go",
				kind[1])
		}
	}
	for _, table := range []iter.Seq[string]{maps.Keys(exported), maps.Keys(not)} {
		for kind := range table {
			if !all[kind] {
				t.Errorf("%s is no op of nn", kind)
			}
		}
	}
}

// doubled is an op of a program's own.
type doubled struct{}

func (doubled) Shape(in [][]int) ([]int, error) { return in[0], nil }
func (doubled) Forward(c *nn.OpCall) {
	for i, v := range c.In[0].Value {
		c.Out.Value[i] = 2 * v
	}
}
func (doubled) Backward(*nn.OpCall) {}

// TestRefusals: what can't be written says what to do, and leaves no file.
func TestRefusals(t *testing.T) {
	law.Check(t, nn.RegisterOp[doubled]("doubled"))
	m := graph("", func(g *nn.Graph) []*nn.Node {
		x, y := g.Input("x", 2), g.Input("y", 1)
		p := nn.Linear(x, 1, nn.LinearOptions{Act: nn.Sigmoid}).Named("p")
		return []*nn.Node{p, nn.Custom(doubled{}, p).Named("twice"), nn.LogLoss(p, y).Named("loss"), nn.AUC(p, y).Named("auc"), nn.InBatchSoftmax(x, x, nn.InBatchOptions{}).Named("pairs"),
			nn.Embedding(g.IDs("ids", 2), nn.EmbeddingOptions{Name: "wide", Height: 1 << 40, Dim: 4})}
	}).model(t)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Outputs: []string{"loss"}}, `log_loss "loss": it can't be exported: it is part of a loss`},
		{Options{Outputs: []string{"p", "auc"}}, `auc "auc": it can't be exported: it is a metric`},
		{Options{Outputs: []string{"twice"}}, `custom "twice": it can't be exported: what it computes is the program's, not the model's: name what it takes in Options.Outputs`},
		{Options{Outputs: []string{"pairs"}}, `a row of it depends on the rows beside it`},
		{Options{Outputs: []string{"embedding_0"}}, `embedding "wide" has a height of 1099511627776, whose rows of 4 numbers are more than 64 GiB`},
		{Options{Outputs: []string{"p", "p"}}, `Options.Outputs has "p" twice`},
		{Options{Outputs: []string{"q"}}, `Options.Outputs has "q", which the model has not`},
		{Options{Outputs: []string{"x"}}, `output "x" is computed from nothing: it is of kind input`},
		{Options{Outputs: []string{}}, `no output to compute`},
		{Options{Outputs: []string{"p"}, Rows: []string{"wide"}}, `Options.Rows has "wide"; want embeddings that the outputs need`},
		{Options{Outputs: []string{"p"}, Rows: []string{"fc_0.w_0"}}, `Options.Rows has "fc_0.w_0"; want embeddings`},
		{Options{Outputs: []string{"p"}, Inline: -1}, `Options.Inline is -1`},
		{Options{Outputs: []string{"p"}, Inline: 1 << 31}, `Options.Inline is 2147483648: want up to 1073741824 bytes`},
	} {
		dir := t.TempDir()
		err := Export(m, filepath.Join(dir, "m.onnx"), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%+v leaves %v", c.o, left)
		}
	}
	if err := Export(nil, "m.onnx", Options{}); err == nil || !strings.Contains(err.Error(), "the model is nil") {
		t.Errorf("no model: %v", err)
	}
	for _, inline := range []int64{0, 1} {
		dir := t.TempDir()
		if err := Export(m, dir, Options{Outputs: []string{"p"}, Inline: inline}); err == nil || !strings.Contains(err.Error(), "it is a directory") {
			t.Errorf("a directory: %v", err)
		}
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			t.Errorf("a directory is gone: %v", err)
		}
	}
	if err := Export(m, "hdfs://a/m.onnx", Options{Outputs: []string{"p"}}); err == nil || !strings.Contains(err.Error(), "hdfs") {
		t.Errorf("a URL: %v", err)
	}
	if err := Export(m, filepath.Join(t.TempDir(), "rows.onnx"), Options{Outputs: []string{"embedding_0"}, Rows: []string{"wide"}}); err != nil {
		t.Errorf("rows of the caller: %v", err)
	}
}

// TestNames: constants and rows that the caller brings have names of their own beside a model's, whatever these are.
func TestNames(t *testing.T) {
	m := graph("", func(g *nn.Graph) []*nn.Node { return []*nn.Node{nn.GELU(g.Input("float 0.5", 2)).Named("float 1")} }).model(t)
	d := decode(t, first(exportTo(t, m, Options{})))
	constants := slices.Sorted(maps.Keys(d.tensors))
	if want := []string{"float 0.5_2", "float 0.70710677", "float 1_2"}; !cmp.Equal(constants, want) {
		t.Errorf("constants %q beside an input \"float 0.5\" and an output \"float 1\", want %q", constants, want)
	}
	m = graph("", func(g *nn.Graph) []*nn.Node {
		rows := nn.Embedding(g.IDs("ids", 1), nn.EmbeddingOptions{Name: "emb", Dim: 2})
		more := nn.Embedding(g.IDs("a", 1), nn.EmbeddingOptions{Name: "b.c", Dim: 2})
		most := nn.Embedding(g.IDs("a.b", 1), nn.EmbeddingOptions{Name: "c", Dim: 2})
		return []*nn.Node{nn.Add(nn.Add(rows, g.Input("ids.emb", 2)), nn.Add(more, most))}
	}).model(t)
	for _, c := range []struct {
		rows []string
		want string
	}{
		{[]string{"emb"}, `embedding "emb" of Options.Rows needs an input "ids.emb", and something else has this name`},
		{[]string{"b.c", "c"}, `embedding "c" of Options.Rows needs an input "a.b.c", and something else has this name`},
	} {
		if err := Export(m, filepath.Join(t.TempDir(), "m.onnx"), Options{Rows: c.rows}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("rows %q: %v, want %q", c.rows, err, c.want)
		}
	}
	exportTo(t, m, Options{Rows: []string{"c"}})
}

func first(file, _ []byte) []byte { return file }

// manyRows are ids of an embedding, whose rows nobody looks at.
type manyRows int

func (n manyRows) EachRow(do func(ids []uint64, w []float32) error) error {
	page := make([]uint64, 4096)
	for at := 0; at < int(n); at += len(page) {
		for i := range page {
			page[i] = uint64(at + i)
		}
		if err := do(page[:min(len(page), int(n)-at)], nil); err != nil {
			return err
		}
	}
	return nil
}

func (n manyRows) String() string { return fmt.Sprint(int(n)) }

// TestTooManyRows: a list of ids has a bound, and what has more says what to do.
func TestTooManyRows(t *testing.T) {
	for rows, wrong := range map[manyRows]bool{mostListed: false, mostListed + 1: true} {
		b := &builder{tables: map[string]*table{}}
		b.table(&optimizer.Param{Name: "emb", Shape: []int{0, 4}, Embedding: true, Rows: rows})
		if (b.err != nil) != wrong || wrong && !strings.Contains(b.err.Error(), "name it in Options.Rows") {
			t.Errorf("%d rows: %v", rows, b.err)
		}
	}
}

// TestUnknownAttributes: what an op says beyond what is written is no detail.
func TestUnknownAttributes(t *testing.T) {
	b := &builder{names: map[string]bool{}, used: map[value]bool{}}
	exported["sum"](b, node{}, json.RawMessage(`{"axis":1,"keep":true}`))
	if b.err == nil || !strings.Contains(b.err.Error(), `unknown field "keep"`) {
		t.Errorf("an attribute that is not known: %v", b.err)
	}
}

// TestRowsBelowAHeight: all rows are written, those that were never trained as an evaluation sees them, whatever
// their initial values.
func TestRowsBelowAHeight(t *testing.T) {
	const height, dim = 1000, 5
	for _, init := range []optimizer.Initializer{nil, optimizer.Normal{Std: 0.1}, optimizer.TruncatedNormal{Std: 2}, optimizer.Constant{Value: 3}} {
		m := opCase{outputs: func(g *nn.Graph) []*nn.Node {
			return []*nn.Node{nn.Embedding(g.IDs("ids", 1), nn.EmbeddingOptions{Name: "emb", Height: height, Dim: dim, Init: init})}
		}}.model(t)
		all := make([]int64, height)
		for i := range all {
			all[i] = int64(i)
		}
		s, err := serve.NewScorer(m, serve.ScorerOptions{})
		law.Check(t, err)
		want, err := s.Score(context.Background(), map[string]*tensor.Dense{"ids": nn.Ints(all, 1)})
		law.Check(t, err)
		first, second := exportTo(t, m, Options{Inline: 1})
		x := decode(t, first).tensors["emb"]
		if !slices.Equal(x.dims, []int64{height, dim}) || x.external["location"] != "model.onnx.data" {
			t.Fatalf("rows of shape %d in %v", x.dims, x.external)
		}
		got := make([]float32, height*dim)
		law.Check(t, binary.Read(strings.NewReader(string(second[:4*height*dim])), binary.LittleEndian, got))
		if diff := cmp.Diff(want.Values[0], got); diff != "" {
			t.Errorf("%T: %s", init, diff)
		}
	}
}

// TestInline: weights are in the file as far as Inline says, and small ones always.
func TestInline(t *testing.T) {
	m := of("", func(x *nn.Node) *nn.Node { return nn.Linear(x, 64, nn.LinearOptions{}) }, 16).model(t)
	const all = 4 * (64*16 + 64)
	for inline, want := range map[int64]int{0: 0, all: 0, all - 1: 4 * 64 * 16} {
		first, second := exportTo(t, m, Options{Inline: inline})
		if decode(t, first).check(t, second); len(second) != want {
			t.Errorf("Inline %d: %d bytes in the second file, want %d", inline, len(second), want)
		}
	}
}

// TestAFailureLeavesTheOldFile: an export that fails changes nothing; one that replaces a second file has no first
// beside it meanwhile.
func TestAFailureLeavesTheOldFile(t *testing.T) {
	m := of("", func(x *nn.Node) *nn.Node { return nn.Linear(x, 64, nn.LinearOptions{}) }, 16).model(t)
	file := filepath.Join(t.TempDir(), "m.onnx")
	for _, inline := range []int64{1 << 20, 1} {
		for _, name := range []string{file, file + dataSuffix} {
			law.Check(t, os.WriteFile(name, []byte("old"), 0o666))
		}
		b, err := build(m, Options{})
		law.Check(t, err)
		full := errors.New("the disk is full")
		b.arrays = append(b.arrays, array{"last", float32Type, []int64{1 << 10}, 1 << 12, func(io.Writer) error { return full }})
		if err := b.write(file, nil, inline); !errors.Is(err, full) {
			t.Errorf("the error is %v", err)
		}
		for _, name := range []string{file, file + dataSuffix} {
			if data, err := os.ReadFile(name); err != nil || string(data) != "old" {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
		b.arrays = b.arrays[:len(b.arrays)-1]
		largest = 100
		err = b.write(file, nil, inline)
		if largest = math.MaxInt32; err == nil || !strings.Contains(err.Error(), "readers take 100 at most") {
			t.Errorf("a file that is too large: %v", err)
		}
		for _, name := range []string{file, file + dataSuffix} {
			if data, err := os.ReadFile(name); err != nil || string(data) != "old" {
				t.Errorf("too large: %s has %d bytes, %v", name, len(data), err)
			}
		}
		for i, data := range b.arrays {
			b.arrays[i].data = func(w io.Writer) error {
				if _, err := os.Stat(file); err != nil {
					t.Errorf("the old file is gone before the second is written: %v", err)
				}
				return data.data(w)
			}
		}
		law.Check(t, b.write(file, nil, inline))
	}
}

// TestHashes: the examples of hashed fields are the ids that the model's format makes of lines, and name the places
// where these are.
func TestHashes(t *testing.T) {
	schema := []dataset.CSVColumn{
		{Column: dataset.Floats("x", 2), Fields: []string{"a", "b"}, Missing: "0"},
		{Column: dataset.Ints("ids", 2), Fields: []string{"from", "to"}, Hash: 1001},
		{Column: dataset.Ints("number"), Hash: 77, HashNumbers: true},
		{Column: dataset.Ints("plain"), Missing: "0"},
		{Column: dataset.Floats("label")},
	}
	c := graph("", func(g *nn.Graph) []*nn.Node {
		look := func(ids *nn.Node) *nn.Node { return nn.Embedding(ids, embeddingOf("emb", 0, nil)) }
		return []*nn.Node{nn.Concat(g.Input("x", 2), look(g.IDs("ids", 2)), look(g.IDs("number", 1)), look(g.IDs("plain", 1)))}
	})
	line := func(text string) string { return fmt.Sprintf("1,2,%s,%[1]s,%[1]s,4,0", text) }
	for name, f := range map[string]struct {
		dataset.Format
		line func(text string) string
	}{
		"csv": {dataset.CSV{Fields: []string{"a", "b", "from", "to", "number", "plain", "label"}, Schema: schema}, line},
		"json_lines": {dataset.JSONLines{Schema: schema}, func(text string) string {
			return fmt.Sprintf(`{"a":1,"b":2,"from":%q,"to":%[1]q,"number":%[1]q,"plain":4,"label":0}`, text)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.modelOf(t, f.Format)
			first, _ := exportTo(t, m, Options{})
			d := decode(t, first)
			var got []hashed
			law.Check(t, json.Unmarshal([]byte(d.metadata["gofleet.hashes"]), &got))
			var places []string
			decoder, err := dataset.NewDecoder(f.Format, "ids", "number")
			law.Check(t, err)
			for _, h := range got {
				places = append(places, fmt.Sprint(h.Feed, h.At, h.Places, h.Field, h.Height, h.Numbers))
				if _, own := h.Examples[h.Field]; !own {
					t.Errorf("no example of %q is its own: %v", h.Field, h.Examples)
				}
				for text, id := range h.Examples {
					batch, err := decoder.Decode([]byte(f.line(text)))
					law.Check(t, err)
					if made := batch[h.Feed].Data().([]int64)[h.At]; made != id {
						t.Errorf("%s of %q is %d, the format makes %d", h.Field, text, id, made)
					}
				}
			}
			if want := []string{"ids0 1from1001 false", "ids1 1to1001 false", "number0 1number77 true"}; !slices.Equal(places, want) {
				t.Errorf("places %q, want those of %q", places, want)
			}
			if rows, err := dataset.DescribeFormat(f.Format); err != nil || d.metadata["gofleet.rows"] != string(rows) {
				t.Errorf("rows are %s, want %s (%v)", d.metadata["gofleet.rows"], rows, err)
			}
			if d.metadata["gofleet.version"] != m.Version() || m.Version() == "" || !strings.Contains(d.doc, "crc32") {
				t.Errorf("version %q, doc %q", d.metadata["gofleet.version"], d.doc)
			}
		})
	}
}

// TestHashesOfLists: of a field whose texts are parted the caller is told by what.
func TestHashesOfLists(t *testing.T) {
	f := dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Varying(dataset.Ints("tags")), Hash: 9, Separator: "|"}}}
	all := hashes(f, []input{{"tags", int64Type, nil}})
	if len(all) != 1 || all[0].Places != 0 || all[0].Separator != "|" {
		t.Errorf("%+v", all)
	}
}

// TestHashesOfCriteo: a format with hashed columns of its own tells of them too, of those that the model is fed.
func TestHashesOfCriteo(t *testing.T) {
	f := dataset.Criteo{}
	decoder, err := dataset.NewDecoder(f, "C")
	law.Check(t, err)
	all := hashes(f, []input{{"C", int64Type, nil}})
	if len(all) != 26 || len(hashes(f, []input{{"dense_input", float32Type, nil}})) != 0 {
		t.Fatalf("%d hashed places", len(all))
	}
	for k := range samples("") {
		line := "1" + strings.Repeat("\t2", 13)
		for i := range all {
			line += "\t" + samples(all[i].Field)[k]
		}
		batch, err := decoder.Decode([]byte(line))
		law.Check(t, err)
		for i, id := range batch["C"].Data().([]int64) {
			h := all[i]
			if of, is := h.Examples[samples(h.Field)[k]]; h.At != i || of != id || !is {
				t.Errorf("place %d of %q: %+v, the format makes %d", i, line, h, id)
			}
		}
	}
}

// TestAndBack: what is written comes in again by name, from either file, and is the same model.
func TestAndBack(t *testing.T) {
	all := cases()
	c := all[slices.IndexFunc(all, func(c opCase) bool { return c.name == "weights in a second file" })]
	m := c.model(t)
	_, want := scored(t, m, 20)
	for _, inline := range []int64{1, 1 << 20} {
		file := filepath.Join(t.TempDir(), "m.onnx")
		law.Check(t, Export(m, file, Options{Inline: inline}))
		in, err := weights.Open(t.Context(), file)
		law.Check(t, err)
		defer in.Close()
		dir := filepath.Join(t.TempDir(), "again")
		law.Check(t, weights.SaveModel(t.Context(), dir, nn.Inference(c.outputs(nn.NewGraph(2))...), weights.Source{File: in}))
		again, err := serve.Load(dir)
		law.Check(t, err)
		if _, got := scored(t, again, 20); !cmp.Equal(got, want) {
			t.Errorf("Inline %d: %s", inline, cmp.Diff(want, got))
		}
	}
}
