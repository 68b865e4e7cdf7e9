package weights_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
	"github.com/gofleet/gofleet/strategy"
)

// paddleNet is the net of testdata/make_paddle.py: its prediction, and a loss to train it further.
func paddleNet() (pred, loss *nn.Node) {
	g := nn.NewGraph(1)
	numbers, ids, image := g.Input("numbers", 5), g.IDs("ids", 3), g.Input("image", 1, 6, 6)
	emb := nn.Embedding(ids, nn.EmbeddingOptions{Name: "cards", Height: 12, Dim: 4, PaddingIdx: new(int64(0))})
	h := nn.BatchNorm(nn.Linear(nn.Concat(emb, numbers), 8, nn.LinearOptions{Act: nn.ReLU}), nn.NormOptions{})
	h = nn.LayerNorm(nn.Linear(h, 6, nn.LinearOptions{Act: nn.Tanh}), nn.NormOptions{})
	c := nn.MaxPool2D(nn.Conv2D(image, 3, nn.ConvOptions{Kernel: 3, Act: nn.ReLU}), nn.PoolOptions{Kernel: 2})
	pred = nn.Sigmoid(nn.Linear(nn.Concat(h, nn.Reshape(c, 12)), 1, nn.LinearOptions{}))
	return pred, nn.Mean(nn.LogLoss(pred, g.Input("label", 1)))
}

// paddleNames has what Paddle calls the one param that is called otherwise here.
var paddleNames = map[string]string{"cards": "embedding_0.w_0"}

// savePaddle makes a model of Paddle's weights.
func savePaddle(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	pred, _ := paddleNet()
	from := weights.Source{File: open(t, "testdata/paddle.npz"), Names: paddleNames}
	law.Check(t, weights.SaveModel(t.Context(), dir, nn.Inference(pred), from))
	return dir
}

// paddleFeed is what Paddle was fed, and what it predicted.
func paddleFeed(t *testing.T) (feed map[string]*tensor.Dense, want []float32) {
	t.Helper()
	f := open(t, "testdata/paddle_predicts.npz")
	read := func(name string) []float32 {
		a, err := f.Array(name)
		law.Check(t, err)
		return a.Values
	}
	var ids []int64
	for _, id := range read("ids") {
		ids = append(ids, int64(id))
	}
	return map[string]*tensor.Dense{"numbers": nn.Floats(read("numbers"), 5), "ids": nn.Ints(ids, 3), "image": nn.Floats(read("image"), 1, 6, 6)}, read("pred")
}

// near says how far the farthest prediction is.
func near(t *testing.T, got, want []float32) {
	t.Helper()
	if len(got) != len(want) || len(got) < 16 {
		t.Errorf("%d predictions, want %d", len(got), len(want))
		return
	}
	for i := range got {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-6) {
			t.Errorf("prediction %d is %v, Paddle's %v", i, got[i], want[i])
		}
	}
}

// TestPaddle: weights that PaddlePaddle has trained predict here what they predict there, to 1e-6.
//
// Promise: [G6] weights from PaddlePaddle and from files of other programs predict as there, and every kind of job
// begins from them; those that don't fit are refused
// Also: TestAJobBeginsFromPaddle, TestGivenWords, TestSavedModelsAreSources, TestSaveModelRefuses
func TestPaddle(t *testing.T) {
	m, err := serve.Load(savePaddle(t))
	law.Check(t, err)
	feed, want := paddleFeed(t)
	exe := nn.NewExecutor(m.Graph)
	out, err := exe.Eval(t.Context(), feed, m.Outputs[0])
	law.Check(t, err)
	near(t, out[0].Float32s(), want)
}

// TestAJobBeginsFromPaddle: with servers, in a collective job and alone, training begins with those weights.
func TestAJobBeginsFromPaddle(t *testing.T) {
	dir := savePaddle(t)
	feed, want := paddleFeed(t)
	for name, c := range map[string]fleettest.Cluster{"servers": {Servers: 2, Workers: 2}, "collective": {Workers: 2}, "alone": {}} {
		t.Run(name, func(t *testing.T) {
			c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				pred, loss := paddleNet()
				return restored(ctx, f, loss, dir, fleet.RestoreOptions{}, func(exe *nn.Executor) error {
					out, err := exe.Eval(ctx, feed, pred)
					if err == nil {
						near(t, out[0].Float32s(), want)
					}
					return err
				})
			})
		})
	}
}

// restored plays a role of a job that begins from a model.
func restored(ctx context.Context, f *fleet.Fleet, loss *nn.Node, dir string, o fleet.RestoreOptions, do func(*nn.Executor) error) error {
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.1}, strategy.Sync())
	if err == nil {
		err = opt.Minimize(loss)
	}
	if err == nil {
		err = f.Restore(ctx, dir, o)
	}
	if err != nil {
		return err
	}
	if f.IsServer() {
		return errors.Join(f.InitServer(ctx, ""), f.RunServer(ctx))
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	exe := nn.NewExecutor(loss.Graph())
	return errors.Join(do(exe), exe.Close(ctx), f.StopWorker(ctx))
}

// TestGivenWords: vectors of words from another program are rows of one embedding in a job that begins anew in all else, whichever server owns
// them; they come out of it again as they were.
func TestGivenWords(t *testing.T) {
	dir := t.TempDir()
	net := func() (emb, loss *nn.Node) {
		g := nn.NewGraph(1)
		emb = nn.Embedding(g.IDs("word", 1), nn.EmbeddingOptions{Name: "words", Dim: 3})
		return emb, nn.Mean(nn.LogLoss(nn.Linear(emb, 1, nn.LinearOptions{Act: nn.Sigmoid}), g.Input("label", 1)))
	}
	gensim := weights.Word2Vec{Words: []string{"häuser", "?", "cat"}}
	emb, _ := net()
	file, err := os.Open("testdata/gensim.bin")
	law.Check(t, err)
	defer file.Close()
	from := weights.Source{Rows: map[string]iter.Seq2[weights.Row, error]{"words": gensim.Read(file)}}
	law.Check(t, weights.SaveModel(t.Context(), dir, nn.Inference(emb), from))
	want := []weights.Row{{ID: 0, W: []float32{4, 5.25, 1e20}}, {ID: 2, W: []float32{0.1, -2.5, 3e-7}}}
	var once sync.Once
	fleettest.Cluster{Servers: 2, Workers: 2}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		_, loss := net()
		return restored(ctx, f, loss, dir, fleet.RestoreOptions{Params: []string{"words"}}, func(*nn.Executor) (err error) {
			once.Do(func() {
				var text strings.Builder
				if err = (weights.Word2Vec{Text: true, Words: gensim.Words}).Write(&text, f.Rows(ctx, "words")); err != nil {
					return
				}
				if want := "2 3\nhäuser 4 5.25 1e+20\ncat 0.1 -2.5 3e-07\n"; text.String() != want {
					err = fmt.Errorf("the job has the words %q, want %q", text.String(), want)
				}
			})
			return err
		})
	})
	if got, err := all(open(t, dir).Rows("words")); err != nil || !cmp.Equal(got, want) {
		t.Errorf("the model has the rows %v: %v", got, err)
	}
}

// TestSavedModelsAreSources: what a model has comes out of its directory, and through every other file into another, to the bit.
func TestSavedModelsAreSources(t *testing.T) {
	saved := open(t, savePaddle(t))
	names := slices.DeleteFunc(saved.Names(), func(name string) bool { return strings.HasPrefix(name, "cards") })
	arrays := map[string]weights.Array{}
	for _, name := range names {
		a, err := saved.Array(name)
		law.Check(t, err)
		arrays[name] = a
	}
	want, err := os.ReadFile(filepath.Join(savePaddle(t), "weights.safetensors"))
	law.Check(t, err)
	sources := map[string]weights.Source{
		"a model": {File: saved}, "in hand": {Arrays: arrays, Rows: map[string]iter.Seq2[weights.Row, error]{"cards": saved.Rows("cards")}},
	}
	for _, format := range []string{"rows.npz", "rows.npy", "rows.safetensors"} {
		f, err := openBytes(t, format, write(t, format, saved.Rows("cards")))
		law.Check(t, err)
		defer f.Close()
		sources[format] = weights.Source{Arrays: arrays, File: f, Names: map[string]string{"cards": "rows"}}
	}
	for name, from := range sources {
		dir := t.TempDir()
		pred, _ := paddleNet()
		if err := weights.SaveModel(t.Context(), dir, nn.Inference(pred), from); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "weights.safetensors"))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: other weights, %d bytes where %d were: %v", name, len(got), len(want), err)
		}
	}
}

// TestSaveModelRefuses: weights that are not the model's are refused, each with what is wrong, and the model before stays.
func TestSaveModelRefuses(t *testing.T) {
	rows := func(rows ...weights.Row) map[string]iter.Seq2[weights.Row, error] {
		return map[string]iter.Seq2[weights.Row, error]{"words": rowsOf(rows...)}
	}
	nan := float32(math.NaN())
	w, b := weights.Array{Shape: []int{3, 2}, Values: make([]float32, 6)}, weights.Array{Shape: []int{2}, Values: make([]float32, 2)}
	arrays := func(w, b weights.Array) map[string]weights.Array {
		return map[string]weights.Array{"fc_0.w_0": w, "fc_0.b_0": b}
	}
	npz := open(t, "testdata/stored.npz")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		from weights.Source
		want string
	}{
		{weights.Source{}, `"words": its weights are neither in hand nor in a File`},
		{weights.Source{Rows: rows()}, `"fc_0.w_0": its weights are neither in hand nor in a File`},
		{weights.Source{File: npz}, `unknown array "words"; want one of ["fc_0.b_0" "scalar" "user" "user.ids"]; Names may say`},
		{weights.Source{File: npz, Names: map[string]string{"words": "user", "fc_0.w_0": "user"}}, "id 7 is not below the height 5"},
		{weights.Source{File: npz, Rows: rows(), Names: map[string]string{"fc_0.w_0": "user"}}, "[2 3], which is its transpose: transpose it"},
		{weights.Source{File: npz, Rows: rows(), Names: map[string]string{"fc_0.w_0": "scalar"}}, "the model's shape is [3 2], and the weights have []"},
		{weights.Source{File: flipped(t, []byte{0xcd, 0xcc, 0xcc, 0x3d}), Rows: rows(), Names: map[string]string{"fc_0.w_0": "user"}},
			"the weights have [1 3]"}, // which needs no reading
		{weights.Source{File: open(t, "testdata/f4.npy"), Names: map[string]string{"words": "f4"}}, "shape is [5 3], and the weights have [2 3]"},
		{weights.Source{Names: map[string]string{"words": "user"}}, "Names are set without a File"},
		{weights.Source{File: npz, Names: map[string]string{"user": "words"}}, `the model has no "user": it has ["words" "fc_0.w_0" "fc_0.b_0"]`},
		{weights.Source{Arrays: map[string]weights.Array{"fc_1.w_0": w}}, `the model has no "fc_1.w_0"`},
		{weights.Source{Arrays: map[string]weights.Array{"words": w}}, "comes as Rows"},
		{weights.Source{Rows: map[string]iter.Seq2[weights.Row, error]{"fc_0.w_0": rowsOf()}}, "comes as one of Arrays"},
		{weights.Source{Rows: rows(), Arrays: arrays(weights.Array{Shape: []int{3, 2}}, b)}, "0 numbers for the shape [3 2]"},
		{weights.Source{Rows: rows(), Arrays: arrays(w, weights.Array{Shape: []int{2}, Values: []float32{0, nan}})}, "number 1 is NaN"},
		{weights.Source{Rows: rows(weights.Row{ID: 1, W: []float32{0, 0, nan}})}, "number 2 of the row of id 1 is NaN"},
		{weights.Source{Rows: rows(weights.Row{ID: 5, W: make([]float32, 3)})}, "id 5 is not below the height 5"},
		{weights.Source{Rows: rows(weights.Row{ID: 1, W: make([]float32, 2)})}, "the row of id 1 has 2 numbers, the model's have 3"},
		{weights.Source{Rows: rows(weights.Row{ID: 1, W: make([]float32, 3)}, weights.Row{ID: 1, W: make([]float32, 3)})}, "id 1 comes twice"},
		{weights.Source{Rows: rows(), Arrays: arrays(w, b)}, "context canceled"},
	} {
		g := nn.NewGraph(1)
		emb := nn.Embedding(g.IDs("word", 1), nn.EmbeddingOptions{Name: "words", Height: 5, Dim: 3})
		dir, ctx := t.TempDir(), t.Context()
		if c.want == "context canceled" {
			ctx = ended
		}
		err := weights.SaveModel(ctx, dir, nn.Inference(nn.Linear(emb, 2, nn.LinearOptions{})), c.from)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "weights: SaveModel: ") {
			t.Errorf("%v, want %q", err, c.want)
		}
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
			t.Errorf("%s: it left %v %v", c.want, left, err)
		}
	}
}

// TestRowsOf: the rows of a model that was loaded are those of its directory, as long as they are wanted, and an error comes last.
func TestRowsOf(t *testing.T) {
	dir := savePaddle(t)
	m, err := serve.Load(dir)
	law.Check(t, err)
	params := nn.Inference(m.Outputs...).Params()
	p := params[slices.IndexFunc(params, func(p *optimizer.Param) bool { return p.Name == "cards" })]
	want, err := all(open(t, dir).Rows("cards"))
	if err != nil || len(want) != 12 {
		t.Fatalf("%d rows: %v", len(want), err)
	}
	if got, err := all(weights.RowsOf(p.Rows)); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	for r, err := range weights.RowsOf(p.Rows) {
		if err != nil || !cmp.Equal(r, want[0]) {
			t.Errorf("%v %v", r, err)
		}
		break
	}
	if got, err := all(weights.RowsOf(torn{})); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 2 {
		t.Errorf("%v %v", got, err)
	}
}

// torn has two rows, and then an error.
type torn struct{}

func (torn) EachRow(do func(ids []uint64, w []float32) error) error {
	return errors.Join(do([]uint64{1, 2}, []float32{1, 2, 3, 4}), io.ErrUnexpectedEOF)
}

func (torn) String() string { return "torn" }
