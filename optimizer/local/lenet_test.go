package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"github.com/gofleet/gofleet/optimizer/lr"
)

// lenetCurve is the loss of ten steps of a convolutional net, as PaddlePaddle computed it, with some of what is there after them.
type lenetCurve struct {
	Rule  string
	Batch int
	Loss  []float32
	After struct{ Conv, Out, Mean, Variance []float32 }
}

// rule is a rule with all that goes around it.
func (c lenetCurve) rule() optimizer.Rule {
	switch c.Rule {
	case "sgd":
		return optimizer.SGD{LR: 0.1}
	case "momentum+l2+clip_by_global_norm+exponential":
		momentum := optimizer.Momentum{Schedule: lr.ExponentialDecay{LR: 0.1, Gamma: 0.8}}
		return optimizer.ClipByGlobalNorm{Norm: 0.5, Rule: optimizer.Decay{L2: 0.01, Rule: momentum}}
	case "momentum+clip_by_norm+batch_norm+warmup":
		warm := lr.LinearWarmup{Steps: 4, Start: 0.02, End: 0.2, After: lr.ExponentialDecay{LR: 0.2, Gamma: 0.9}}
		return optimizer.ClipByNorm{Norm: 0.05, Rule: optimizer.Momentum{Nesterov: true, Schedule: warm}}
	}
	return nil
}

// lenet has weights from the golden generator; the k-th reaches as far as its fan-in says.
func (c lenetCurve) lenet(base uint32) (loss *nn.Node) {
	made := uint32(0)
	init := func(size, fan int) optimizer.Initializer {
		a := 1 / math.Sqrt(float64(fan))
		made++
		return optimizer.Assign(values(base+made-1, size, -a, a))
	}
	g := nn.NewGraph(0)
	normal := c.After.Mean != nil // a bias before batch norm would have a gradient of nothing but rounding
	h := nn.Conv2D(g.Input("img", 1, 28, 28), 6, nn.ConvOptions{Kernel: 5, Padding: 2, Init: init(150, 25), NoBias: normal})
	if normal {
		h = nn.BatchNorm(h, nn.NormOptions{})
	}
	h = nn.MaxPool2D(nn.ReLU(h), nn.PoolOptions{Kernel: 2})
	h = nn.Conv2D(h, 16, nn.ConvOptions{Kernel: 5, Act: nn.ReLU, Init: init(2400, 150)})
	h = nn.AvgPool2D(h, nn.PoolOptions{Kernel: 2})
	h = nn.Linear(h, 120, nn.LinearOptions{Act: nn.Tanh, Init: init(400*120, 400)})
	h = nn.Linear(h, 84, nn.LinearOptions{Act: nn.Tanh, Init: init(120*84, 120)})
	h = nn.Linear(h, 10, nn.LinearOptions{Init: init(840, 84)})
	return nn.Mean(nn.SoftmaxWithCrossEntropy(h, g.IDs("label", 1)))
}

// TestGoldenLeNet goes down PaddlePaddle's curves of a convolutional net: layers, rules, decay, clips and schedules together.
func TestGoldenLeNet(t *testing.T) {
	law.Slow(t)
	const name = "more_curves.json"
	data, err := os.ReadFile(filepath.Join(os.Getenv("GOLDEN_DIR"), name))
	if errors.Is(err, fs.ErrNotExist) {
		data, err = os.ReadFile(filepath.Join("testdata", name))
	}
	check(t, err)
	var file struct {
		Base   uint32
		Curves []lenetCurve
	}
	check(t, json.Unmarshal(data, &file))
	if len(file.Curves) < 3 {
		t.Errorf("only %d curves were found", len(file.Curves))
	}
	for _, c := range file.Curves {
		t.Run(c.Rule, func(t *testing.T) { c.check(t, file.Base) })
	}
}

func (c lenetCurve) check(t *testing.T, base uint32) {
	loss := c.lenet(base)
	trainer, err := local.Minimize(loss, c.rule())
	check(t, err)
	exe := nn.NewExecutor(loss.Graph())
	var got []float32
	for i := range c.Loss {
		out, err := exe.Train(t.Context(), batch{
			"img":   floats(values(base+100+uint32(i), c.Batch*784, 0, 1), c.Batch, 1, 28, 28),
			"label": ints(integers(base+200+uint32(i), c.Batch, 10), c.Batch, 1),
		}, loss)
		check(t, err)
		got = append(got, out[0].Float32s()[0])
	}
	check(t, exe.Close(context.Background())) // which hands moving averages over
	near(t, "loss", c.Loss, got, 1e-4, 0)
	for name, want := range map[string][]float32{"conv2d_0.w_0": c.After.Conv, "fc_2.w_0": c.After.Out, "batch_norm_0.w_1": c.After.Mean,
		"batch_norm_0.w_2": c.After.Variance} {
		if want == nil {
			continue
		}
		w, err := trainer.Dense(name)
		check(t, err)
		near(t, name, want, w[:len(want)], 1e-4, 1e-6)
	}
}
