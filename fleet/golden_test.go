package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// curve is the loss of twenty steps that PaddlePaddle computed in one process, with some of the weights after them.
type curve struct {
	Net, Optimizer string
	Lazy           bool    `json:"lazy_mode"`
	LR             float64 `json:"learning_rate"`
	Batch          int
	Loss           []float64
	After          struct {
		EmbRow0  []float32 `json:"emb_row_0"`
		OutWHead []float32 `json:"out_w_head"`
	}
}

func (c curve) rule() optimizer.Rule {
	switch c.Optimizer {
	case "adam":
		return optimizer.Adam{LR: c.LR, Dense: !c.Lazy}
	case "adagrad":
		return optimizer.Adagrad{LR: c.LR}
	}
	return optimizer.SGD{LR: c.LR}
}

// TestGoldenCurvesInSync has two servers and two workers, each with its half of every batch of 20, go down the curves that
// one process went down with the whole.
func TestGoldenCurvesInSync(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	dir := os.Getenv("GOLDEN_DIR")
	if dir == "" {
		dir = "../optimizer/local/testdata"
	}
	var file struct {
		Base   uint32
		Curves []curve
	}
	if err := json.Unmarshal(trial.Read(t, filepath.Join(dir, "curves.json")), &file); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, c := range file.Curves {
		if c.Net != "wide_deep" || c.Batch != 20 {
			continue
		}
		seen++
		t.Run(fmt.Sprintf("%s/lazy=%t", c.Optimizer, c.Lazy), func(t *testing.T) { c.check(t, goldenNet{file.Base}) })
	}
	if seen < 4 {
		t.Errorf("only %d curves of wide_deep with batches of 20 were found", seen)
	}
}

func (c curve) check(t *testing.T, net goldenNet) {
	losses, model := c.train(t, net, 2, 2)
	for i, want := range c.Loss {
		if got := losses[i]; !close4(got, want) {
			c.checkAlone(t, net, losses, fmt.Sprintf("the loss of step %d is %v, want %v", i, got, want))
			return
		}
	}
	c.checkWeights(t, model)
}

// checkAlone is for a curve that one process doesn't go down either, since a rounding error decides where it goes: then workers
// have to go where one process does.
func (c curve) checkAlone(t *testing.T, net goldenNet, losses []float64, miss string) {
	if os.Getenv("GOLDEN_DIR") == "" {
		t.Fatal(miss) // no curve in testdata is so
	}
	alone, _ := c.train(t, net, 0, 1)
	for i, want := range alone {
		if got := losses[i]; !close4(got, want) {
			t.Fatalf("%s; one process has %v at step %d, where it is %v", miss, want, i, got)
		}
	}
	t.Logf("%s; so it is in one process, on which package optimizer/local has the last word", miss)
}

// train returns the mean of the workers' losses by step, and the model.
func (c curve) train(t *testing.T, net goldenNet, servers, workers int) (mean []float64, model []byte) {
	t.Helper()
	losses, out := make([][]float64, workers), t.TempDir()
	fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
		loss := net.build()
		return trial.Play(ctx, f, loss, c.rule(), strategy.Sync(), func() error {
			exe := nn.NewExecutor(loss.Graph())
			for step := range c.Loss {
				got, err := exe.Train(ctx, net.batch(step, c.Batch, f.WorkerIndex(), workers), loss)
				if err != nil {
					return err
				}
				losses[f.WorkerIndex()] = append(losses[f.WorkerIndex()], float64(got[0].Float32s()[0]))
			}
			if err := exe.Close(ctx); err != nil {
				return err
			}
			if err := f.BarrierWorker(ctx); err != nil {
				return err
			}
			if f.IsFirstWorker() {
				if err := f.SaveInferenceModel(ctx, out, bare{loss}); err != nil {
					return err
				}
			}
			return nil
		})
	})
	for i := range c.Loss {
		sum := 0.0
		for _, l := range losses {
			sum += l[i]
		}
		mean = append(mean, sum/float64(workers))
	}
	return mean, trial.Weights(t, out)
}

func (c curve) checkWeights(t *testing.T, model []byte) {
	t.Helper()
	at := slices.Index(trial.Tensor[uint64](t, model, "emb.ids"), 0)
	if at < 0 {
		t.Fatal("row 0 of the embedding was never trained")
	}
	row := trial.Tensor[float32](t, model, "emb")[10*at:][:10]
	head := trial.Tensor[float32](t, model, "fc_3.w_0")[:len(c.After.OutWHead)]
	for what, pair := range map[string][2][]float32{"row 0": {row, c.After.EmbRow0}, "output weight": {head, c.After.OutWHead}} {
		for i, want := range pair[1] {
			if got := pair[0][i]; !close4(float64(got), float64(want)) {
				t.Errorf("%s: number %d is %v, want %v", what, i, got, want)
			}
		}
	}
}

// bare is a model saved without its graph.
type bare struct{ *nn.Node }

func (bare) WriteGraph(io.Writer) error { return nil }

// close4 is agreement to 1e-4 of the value, as far as the curves themselves go.
func close4(got, want float64) bool { return math.Abs(got-want) <= 1e-4*math.Abs(want)+1e-6 }

// goldenNet is the wide & deep net of the curves, with its inputs; base begins its seeds.
type goldenNet struct{ base uint32 }

func (g goldenNet) build() *nn.Node {
	graph := nn.NewGraph(0)
	dense := graph.Input("dense", 13)
	table := optimizer.Assign(goldenValues(g.base+50, 1000*10, -0.1, 0.1))
	h := nn.Concat(nn.Embedding(graph.IDs("C", 26), nn.EmbeddingOptions{Name: "emb", Height: 1000, Dim: 10, Init: table}), dense)
	for i, n := range [][2]int{{273, 400}, {400, 400}, {400, 400}, {400, 1}} {
		o := nn.LinearOptions{Init: g.weights(i, n[0], n[1])}
		if i < 3 {
			o.Act = nn.ReLU
		}
		h = nn.Linear(h, n[1], o)
	}
	wide := nn.Linear(dense, 1, nn.LinearOptions{Init: g.weights(4, 13, 1)})
	return nn.Mean(nn.LogLoss(nn.Sigmoid(nn.Add(h, wide)), graph.Input("label", 1)))
}

func (g goldenNet) weights(layer, in, out int) optimizer.Initializer {
	a := 1 / math.Sqrt(float64(in))
	return optimizer.Assign(goldenValues(g.base+uint32(layer), in*out, -a, a))
}

// batch is one worker's part of a step's batch of n.
func (g goldenNet) batch(step, n, worker, workers int) map[string]*gorgonia.Dense {
	part, at := n/workers, n/workers*worker
	of := func(seed uint32, width int) []float32 {
		return goldenValues(g.base+seed+uint32(step), n*width, 0, 1)[at*width:][:part*width]
	}
	ids, label := make([]int64, part*26), make([]float32, part)
	for i, x := range of(400, 26) {
		ids[i] = int64(float64(x) * 1000)
	}
	for i, x := range of(500, 1) {
		label[i] = float32(math.Floor(float64(x) * 2))
	}
	return map[string]*gorgonia.Dense{
		"dense": gorgonia.New(gorgonia.WithShape(part, 13), gorgonia.WithBacking(of(300, 13))),
		"C":     gorgonia.New(gorgonia.WithShape(part, 26), gorgonia.WithBacking(ids)),
		"label": gorgonia.New(gorgonia.WithShape(part, 1), gorgonia.WithBacking(label)),
	}
}

// goldenValues is the generator of the golden inputs: n values in [lo, hi) by integer arithmetic alone.
func goldenValues(seed uint32, n int, lo, hi float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		h := uint32(i)*2654435761 + seed*2246822519 + 374761393
		h = (h ^ h>>15) * 2246822519
		h = (h ^ h>>13) * 3266489917
		v[i] = float32(lo + (hi-lo)*(float64(h^h>>16)/(1<<32)))
	}
	return v
}
