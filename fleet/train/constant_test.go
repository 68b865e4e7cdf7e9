package train_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// rare are points of which one in seven has the label 1, or another share of those from a row on.
func rare(from, n, every int) *dataset.Dataset {
	return dataset.Generate(n, func(i int, r dataset.Row) error {
		r.Floats(0)[0] = float32(from+i)/100 - 2
		if (from+i)%every == 0 {
			r.Floats(1)[0] = 1
		}
		return nil
	}, dataset.Floats("x"), dataset.Floats("y"))
}

// constantLoss is LogLoss of a constant chance over test rows, one in five of which has the label 1.
func constantLoss(p float64, n int) (loss float64) {
	for i := range n {
		chance := 1 - p
		if i%5 == 0 {
			chance = p
		}
		loss -= math.Log(chance+1e-4) / float64(n)
	}
	return loss
}

// TestConstantOfAllWorkers: in every way of training an evaluation has the values of the constant prediction that follows from the labels of
// all workers, the same on each, and so has a job that goes on on other workers, whatever labels it trains on then.
func TestConstantOfAllWorkers(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, c := range []struct {
		servers, workers, threads, every int
		mode                             string
		sharded                          bool
	}{
		{0, 1, 1, 0, "", false}, {0, 3, 1, 4, "", false}, {2, 2, 1, 0, "sync", false}, {1, 2, 2, 3, "async", false}, {1, 2, 1, 0, "geo", false},
		{1, 3, 1, 5, "half_async", false}, {1, 2, 1, 0, "ssp", true}, {0, 2, 1, 0, "", true},
	} {
		dir := t.TempDir()
		run := func(workers, epochs, every int) []train.Result {
			results, _ := play(t, c.servers, workers, func() train.Job {
				j := job(train.Options{Mode: c.mode, Epochs: epochs, Batch: 16, Threads: c.threads, EvalEvery: c.every, Checkpoint: dir})
				j.Data, j.Sharded = func(context.Context) (_, _ *dataset.Dataset, err error) {
					return rare(0, 402, every), rare(0, 101, 5), nil
				}, c.sharded
				j.Rows = func(epoch int, rows *dataset.Dataset) *dataset.Dataset {
					return rows.Filter(func(dataset.Row) bool { return true }).Prefetch(1) // as they come
				}
				return j
			})
			return results
		}
		want, ones := constantLoss(float64((402+6)/7)/402, 101), 0.5
		for _, results := range [][]train.Result{run(c.workers, 1, 7), run(c.workers+1, 2, 2)} {
			for w, r := range results {
				loss, auc := r.Last.Values["constant test loss"], r.Last.Values["constant test AUC"]
				if math.Abs(loss-want) > 1e-6 || auc != ones || !(r.Last.Values["constant standard error"] > 0) {
					t.Errorf("%+v: worker %d has %v, want %v", c, w, r.Last.Values, want)
				}
			}
		}
	}
}

// TestConstantWithinGroups: the constant's AUC is one half, over all rows and within groups, and as unknown as the model's where all labels
// of each group, or of all rows, are alike.
func TestConstantWithinGroups(t *testing.T) {
	t.Parallel()
	for every, want := range map[int][2]float64{3: {0.5, 0.5}, 4: {0.5, 0}, 1: {0, 0}} { // 4 is the number of groups
		results, said := play(t, 0, 1, func() train.Job {
			g := nn.NewGraph(1)
			y := g.Input("y", 1)
			pred := nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{Act: nn.Sigmoid})
			rows := dataset.Generate(200, func(i int, r dataset.Row) error {
				r.Floats(0)[0], r.Ints(2)[0] = float32(i)/100-1, int64(i%4)
				if i%every == 0 {
					r.Floats(1)[0] = 1
				}
				return nil
			}, dataset.Floats("x"), dataset.Floats("y"), dataset.Ints("user"))
			return train.Job{Loss: nn.Mean(nn.LogLoss(pred, y)), Rule: optimizer.SGD{LR: 0.1}, Outputs: []*nn.Node{pred},
				Metrics: []*nn.Node{nn.AUC(pred, y).Named("AUC"), nn.GroupAUC(pred, y, g.IDs("user", 1)).Named("within")},
				Options: train.Options{Epochs: 1, Batch: 20},
				Data:    func(context.Context) (_, _ *dataset.Dataset, err error) { return rows, rows, nil }}
		})
		v := results[0].Last.Values
		if got := [2]float64{v["constant test AUC"], v["constant test within"]}; got != want || !(v["constant test loss"] > 0) {
			t.Errorf("a label each %d rows: %v, want %v\n%s", every, v, want, said)
		}
	}
}

// TestConstantCostsNoBit: in mode sync a job that learns and measures a constant leaves the model, bit for bit, of one that does not.
func TestConstantCostsNoBit(t *testing.T) {
	t.Parallel()
	var left [2]string
	for i, tests := range []int{0, 50} {
		dir := t.TempDir()
		results, _ := play(t, 2, 2, func() train.Job {
			j := job(train.Options{Mode: "sync", Epochs: 2, Batch: 16, Out: dir})
			j.Data = data(200, tests)
			return j
		})
		if _, known := results[0].Last.Values["constant test loss"]; known != (tests > 0) {
			t.Errorf("with %d test rows the values are %v", tests, results[0].Last.Values)
		}
		text, err := os.ReadFile(filepath.Join(dir, "model", "weights.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		left[i] = string(text)
	}
	if left[0] != left[1] {
		t.Error("the models differ")
	}
}

// TestModelNoBetterThanAConstant: the last lines have what a constant prediction has, and a model that is no better is not one to serve.
func TestModelNoBetterThanAConstant(t *testing.T) {
	// Serial: it changes the log of the process.
	for name, c := range map[string]struct {
		sign, noise float32
		epochs      int
		rows        int
		warns       string // "" for none
	}{
		"learns":         {1, 0, 5, 400, ""},
		"few steps":      {1, 1, 1, 400, "it has made about 25 steps, of batch 16 in 1 epochs"},
		"few rows":       {1, 1, 1, 20, "20 rows to train on are few"},
		"nothing to see": {1, 1, 60, 400, "it learns nothing from its inputs"},
		"wrong sign":     {-1, 0, 1, 400, "its loss is below 0"},
	} {
		var said string
		log := logged(t, func() {
			_, said = play(t, 0, 1, func() train.Job {
				j := job(train.Options{Epochs: c.epochs, Batch: 16, Out: t.TempDir()})
				j.Loss = nn.Scale(j.Loss, c.sign, 0)
				all := points(500).MapFloats("x", func(x float32) float32 { return x * (1 - c.noise) })
				j.Data = func(context.Context) (_, _ *dataset.Dataset, err error) { return all.Take(c.rows), all.Skip(400), nil }
				return j
			})
		})
		warned := strings.Count(log, "a prediction that is the same for every row does as well as the model")
		served := strings.Contains(said, "\nserve it: ")
		if want := c.warns != ""; warned > 1 || warned == 1 != want || served == want || !strings.Contains(log, c.warns) {
			t.Errorf("%s: it is told to serve: %t, and warned of\n%s", name, served, log)
		}
		if always := "(always 0.5000: "; !strings.Contains(said, always) || !strings.Contains(said, "test AUC 0.5000 (0.5000)") != slices.Contains([]string{"learns", "wrong sign"}, name) {
			t.Errorf("%s: it said\n%s", name, said)
		}
	}
}

// TestMetricsThatCannotBe: an AUC of 1 is warned of, and one below guessing of a model that has learned.
func TestMetricsThatCannotBe(t *testing.T) {
	// Serial: it changes the log of the process.
	for factor, want := range map[float32]string{1: "no test row is predicted wrong", -1: "a metric is below what guessing has"} {
		log := logged(t, func() {
			play(t, 0, 1, func() train.Job {
				j := job(train.Options{Epochs: 5, Batch: 16, Out: t.TempDir()})
				j.Metrics = []*nn.Node{nn.AUC(nn.Scale(j.Outputs[0], factor, (1-factor)/2), j.Loss.Graph().Node("y"))}
				return j
			})
		})
		if n := strings.Count(log, "train: a metric"); n != 1 || !strings.Contains(log, want) {
			t.Errorf("%v: it warns of\n%s", factor, log)
		}
	}
}
