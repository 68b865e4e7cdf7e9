package train_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// beside is a job on points whose model sees so much of them.
func beside(o train.Options, sight float32) train.Job {
	j, g := job(o), nn.NewGraph(1)
	label, pred := g.Input("y", 1), nn.Linear(nn.Scale(g.Input("x", 1), sight, 0), 1, nn.LinearOptions{Act: nn.Sigmoid})
	j.Loss, j.Metrics, j.Outputs = nn.Mean(nn.LogLoss(pred, label)), []*nn.Node{nn.AUCOf(pred, label, 1023).Named("AUC")}, []*nn.Node{pred}
	return j
}

// TestLinearBesideTheModel: in every way of training the last lines have what a linear model has, a warning says so where it does as well,
// and the job leaves the model, bit for bit, that it leaves without one.
func TestLinearBesideTheModel(t *testing.T) {
	// Serial: it changes the log of the process.
	trial.Slow(t)
	const warning = "a linear model of the same rows does as well"
	for name, c := range map[string]struct {
		servers, workers int
		mode             string
		sight            float32
		same             bool // two jobs without it leave the same model
	}{
		"alone": {0, 1, "", 1, true}, "blind": {0, 1, "", 0, true}, "collective": {0, 2, "", 0, true}, "sync": {2, 2, "sync", 1, true},
		"async": {1, 2, "async", 0, false}, "geo": {1, 2, "geo", 0, false}, "ssp": {1, 2, "ssp", 0, false}, "half_async": {1, 2, "half_async", 0, false},
	} {
		var left [2]string
		for i := range left {
			dir, said := t.TempDir(), ""
			log := logged(t, func() {
				_, said = play(t, c.servers, c.workers, func() train.Job {
					j := beside(train.Options{Mode: c.mode, Epochs: 20, Batch: 16, Out: dir}, c.sight)
					if i == 1 {
						l := beside(train.Options{}, 1-c.sight)
						j.Linear = &train.Job{Loss: l.Loss, Metrics: l.Metrics, Rule: optimizer.Adam{LR: 0.05}}
					}
					return j
				})
			})
			text, err := os.ReadFile(filepath.Join(dir, "model", "weights.safetensors"))
			law.Check(t, err)
			if left[i] = string(text); strings.Count(said, "linear: ") != 2*i || strings.Contains(log, warning) != (c.sight == 0 && i == 1) {
				t.Errorf("%s, with one: %t: it said\n%s\n%s", name, i == 1, said, log)
			}
		}
		if c.same && left[0] != left[1] {
			t.Errorf("%s: the models differ", name)
		}
	}
}

// TestNoLinear: a linear model that could not be trained is refused, and a job without test rows says that it has none to compare with.
func TestNoLinear(t *testing.T) {
	// Serial: it changes the log of the process.
	linear := beside(train.Options{}, 1)
	for want, change := range map[string]func(j *train.Job){
		"has no Loss or no Rule":         func(j *train.Job) { j.Linear.Rule = nil },
		"has the graph of the job":       func(j *train.Job) { j.Linear.Loss = j.Loss },
		"Sharded":                        func(j *train.Job) { j.Sharded = true },
		"Job.Linear: nn: ":               func(j *train.Job) { j.Linear.Loss = nn.Mean(nn.Log(nil)) },
		"node of another graph, or none": func(j *train.Job) { j.Linear.Metrics = j.Metrics },
	} {
		err := fails(t, func() train.Job {
			j := job(train.Options{})
			j.Linear = &train.Job{Loss: linear.Loss, Rule: linear.Rule}
			change(&j)
			return j
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	log := logged(t, func() {
		play(t, 0, 1, func() train.Job {
			j := job(train.Options{Out: t.TempDir()})
			j.Linear = &linear
			j.Data = func(context.Context) (_, _ *dataset.Dataset, err error) { return points(100), nil, nil }
			return j
		})
	})
	if !strings.Contains(log, "no linear model was trained") || !strings.Contains(log, "it takes test rows") {
		t.Errorf("the log has\n%s", log)
	}
}
