package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/metrics"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// uniform is the generator of the golden inputs: n values in [0, 1) by integer arithmetic alone.
func uniform(seed uint32, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		h := uint32(i)*2654435761 + seed*2246822519 + 374761393
		h = (h ^ h>>15) * 2246822519
		h = (h ^ h>>13) * 3266489917
		v[i] = float32(float64(h^h>>16) / (1 << 32))
	}
	return v
}

// examples are the golden scores and labels: the file names the generator's calls that gave them, "u(1700, n, 0, 1)".
func (g golden) examples(t *testing.T) (score []float32, label []bool) {
	score = uniform(seedOf(t, g.Score), g.N)
	for i, chance := range uniform(seedOf(t, g.Label), g.N) {
		label = append(label, chance < float32(math.Pow(float64(score[i]), 1.5)))
	}
	return score, label
}

type golden struct {
	N            int
	Score, Label string
	AUC          float64 `json:"auc_4095"`
}

// seedOf is the first number in a call of the generator.
func seedOf(t *testing.T, call string) (seed uint32) {
	t.Helper()
	if _, err := fmt.Sscanf(call, "u(%d,", &seed); err != nil {
		t.Fatalf("%q is no call of the generator: %v", call, err)
	}
	return seed
}

func readGolden(t *testing.T) (g golden) {
	t.Helper()
	dir := os.Getenv("GOLDEN_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "nn", "testdata")
	}
	data, err := os.ReadFile(filepath.Join(dir, "metrics.json"))
	if err == nil {
		err = json.Unmarshal(data, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// counted is what a process has measured on some of the examples.
type counted struct {
	h              *nn.Histogram
	abs, sqr       float64
	correct, total int64
}

func count(score []float32, label []bool) counted {
	c := counted{h: nn.NewHistogram(), total: int64(len(score))}
	for i, s := range score {
		y := 0.0
		if label[i] {
			y = 1
		}
		c.h.Add(s, label[i])
		c.abs += math.Abs(float64(s) - y)
		c.sqr += (float64(s) - y) * (float64(s) - y)
		if (s > 0.5) == label[i] {
			c.correct++
		}
	}
	return c
}

// all is every metric of what the workers have counted.
func all(ctx context.Context, f *fleet.Fleet, c counted) (m [7]float64, err error) {
	var errs [7]error
	m[0], errs[0] = metrics.AUC(ctx, f, c.h.Pos, c.h.Neg)
	m[1], errs[1] = metrics.BucketError(ctx, f, c.h.Pos, c.h.Neg)
	m[2], errs[2] = metrics.MAE(ctx, f, c.abs, c.total)
	m[3], errs[3] = metrics.MSE(ctx, f, c.sqr, c.total)
	m[4], errs[4] = metrics.RMSE(ctx, f, c.sqr, c.total)
	m[5], errs[5] = metrics.Acc(ctx, f, c.correct, c.total)
	sums, err := metrics.Sum(ctx, f, float64(c.total), 1)
	if err == nil {
		m[6] = sums[0]
	}
	return m, errors.Join(append(errs[:], err)...)
}

// worker makes a fleet of which only the workers' meetings are used ready, and ends it after f.
func worker(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, do func() error) error {
	g := nn.NewGraph(1)
	loss := nn.Mean(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{}))
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, s)
	if err == nil {
		err = opt.Minimize(loss)
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
	return errors.Join(do(), f.StopWorker(ctx))
}

// TestGoldenGlobalMetrics: metrics of three workers with uneven shares are those of one process with all examples, the original's
// AUC among them, with servers and without.
func TestGoldenGlobalMetrics(t *testing.T) {
	want := readGolden(t)
	score, label := want.examples(t)
	var alone [7]float64
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) (err error) {
		alone, err = all(ctx, f, count(score, label))
		return err
	})
	if math.Abs(alone[0]-want.AUC) > 1e-6 {
		t.Errorf("AUC %v, want %v", alone[0], want.AUC)
	}
	for name, c := range map[string]struct {
		servers int
		s       strategy.Strategy
	}{"sync": {2, strategy.Sync()}, "async": {1, strategy.Async()}, "collective": {0, strategy.Strategy{}}} {
		var got [3][7]float64
		fleettest.Run(t, c.servers, 3, func(ctx context.Context, f *fleet.Fleet) error {
			return worker(ctx, f, c.s, func() (err error) {
				from, to := []int{0, 100, 2500}[f.WorkerIndex()], []int{100, 2500, want.N}[f.WorkerIndex()]
				got[f.WorkerIndex()], err = all(ctx, f, count(score[from:to], label[from:to]))
				return err
			})
		})
		for w := range got {
			if got[w] != got[0] {
				t.Errorf("%s: worker %d has %v, worker 0 %v", name, w, got[w], got[0])
			}
		}
		for i, exact := range []bool{true, true, false, false, false, true, true} {
			off := math.Abs(got[0][i] - alone[i])
			if exact && off != 0 || off > 1e-12 {
				t.Errorf("%s: metric %d is %v, alone %v", name, i, got[0][i], alone[i])
			}
		}
	}
}

// TestGroupAUCOfWorkers: groups whose rows are divided over workers, one of which has none, have the same AUCs as in one process, bit for
// bit. By hand: group 1 has ½ of three rows, group 2 has 1 of two, group 3 one class.
func TestGroupAUCOfWorkers(t *testing.T) {
	g := nn.NewGraph(1)
	node := nn.GroupAUC(g.Input("p", 1), g.IDs("y", 1), g.IDs("user", 1))
	p, y, user := []float32{.1, .9, .7, .8, .2, .3}, []int64{0, 1, 1, 0, 1, 0}, []int64{1, 2, 3, 2, 1, 1}
	want := metrics.Grouped{Weighted: (3*0.5 + 2) / 5, Mean: 0.75, Groups: 2, LeftOut: 1, Sample: 1}
	for _, size := range [][2]int{{0, 1}, {2, 3}, {0, 2}} {
		fleettest.Run(t, size[0], size[1], func(ctx context.Context, f *fleet.Fleet) error {
			return worker(ctx, f, strategy.Strategy{}, func() error {
				exe := nn.NewExecutor(g)
				for i := range p {
					if i%min(2, size[1]) != f.WorkerIndex() {
						continue
					}
					one := []int{1, 1}
					if _, err := exe.Eval(ctx, map[string]*tensor.Dense{"p": tensor.New(tensor.WithShape(one...), tensor.WithBacking(p[i:i+1])),
						"y":    tensor.New(tensor.WithShape(one...), tensor.WithBacking(y[i:i+1])),
						"user": tensor.New(tensor.WithShape(one...), tensor.WithBacking(user[i:i+1]))}, node); err != nil {
						return err
					}
				}
				scores, err := exe.Scores(node)
				if err != nil {
					return err
				}
				if got, err := metrics.GroupAUC(ctx, f, scores); got != want || err != nil {
					t.Errorf("%v: %+v, error %v, want %+v", size, got, err, want)
				}
				if _, err := metrics.GroupAUC(ctx, f, scores[:1]); err == nil {
					t.Errorf("%v: scores that are cut off were taken", size)
				}
				return nil
			})
		})
	}
}

// TestVectors are small histograms whose metrics are known.
func TestVectors(t *testing.T) {
	h := nn.NewHistogram()
	for p, positive := range map[float32]bool{.1: false, .4: false, .35: true, .8: true} {
		h.Add(p, positive)
	}
	flat, none := make([]int64, 4096), make([]int64, 4096)
	flat[2048] = 1000
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		check := func(what string, want float64, got float64, err error) {
			if err != nil || math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %v, error %v, want %v", what, got, err, want)
			}
		}
		auc, err := metrics.AUC(ctx, f, h.Pos, h.Neg)
		check("AUC of four", 0.75, auc, err)
		auc, err = metrics.AUC(ctx, f, flat, flat)
		check("AUC of equal scores", 0.5, auc, err)
		auc, err = metrics.AUC(ctx, f, flat, none)
		check("AUC of one label", 0.5, auc, err)
		// 1000 examples at 2048/4096, all of them clicked: the observed rate is twice the predicted.
		be, err := metrics.BucketError(ctx, f, flat, none)
		check("bucket error of a prediction half as large", 1, be, err)
		be, err = metrics.BucketError(ctx, f, flat, flat)
		check("bucket error of a true prediction", 0, be, err)
		be, err = metrics.BucketError(ctx, f, h.Pos, h.Neg)
		check("bucket error of too few", 0, be, err)
		largest, err := metrics.Max(ctx, f, 3, -1)
		check("max", 3, largest[0], err)
		smallest, err := metrics.Min(ctx, f, 3, -1)
		check("min", -1, smallest[1], err)
		if _, err := metrics.MAE(ctx, f, 0, 0); !errors.Is(err, metrics.ErrNothing) {
			t.Errorf("MAE of nothing: %v", err)
		}
		if _, err := metrics.Acc(ctx, f, 0, 0); !errors.Is(err, metrics.ErrNothing) {
			t.Errorf("accuracy of nothing: %v", err)
		}
		if _, err := metrics.AUC(ctx, f, flat, nil); err == nil {
			t.Error("histograms of different lengths were taken")
		}
		return nil
	})
}
