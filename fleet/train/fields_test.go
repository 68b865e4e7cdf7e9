package train_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/strategy"
)

// effect is what can be seen of a job of one process.
func effect(t *testing.T, change func(j *train.Job)) string {
	t.Setenv("FLEET_PROGRESS", "plain")
	dir, seen := t.TempDir(), ""
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		var out bytes.Buffer
		j := job(train.Options{Epochs: 6, Batch: 50, Out: filepath.Join(dir, "out")})
		j.Metrics = append(j.Metrics, nn.MAE(j.Outputs[0], j.Loss.Graph().Node("y")))
		j.Stdout = &out
		change(&j)
		res, err := j.Run(ctx, f)
		seen = fmt.Sprint(out.Len() > 0, strings.Contains(out.String(), "linear: "), len(res.Epoch.Last()), res.History, res.Stopped, err)
		rate, err := f.RateFactor(ctx)
		seen += fmt.Sprint(rate, err)
		return nil
	})
	for _, file := range []string{"out/model/graph.json", "out/best.json", "best/graph.json", "best/weights.safetensors"} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		seen += fmt.Sprint(err == nil, len(data))
	}
	return seen
}

// TestEveryFieldActs: each field of a job and of the hooks that come with the package makes a difference to a job. A new one has no case
// here, and fails.
//
// Promise: [G10] every option of jobs and their hooks acts
// Also: TestHooksAreCalled
func TestEveryFieldActs(t *testing.T) {
	// Serial: it sets variables of the environment.
	trial.Slow(t)
	best := filepath.Join(t.TempDir(), "best")
	hook := func(h train.Hooks) func(*train.Job) { return func(j *train.Job) { j.Hooks = []train.Hooks{h} } }
	mae := func(j *train.Job) *nn.Node { return j.Metrics[1] }
	sync := strategy.Sync()
	sync.Codec = "zip"
	stop := train.EarlyStopping{Least: 10}
	fall := lr.ReduceOnPlateau{LR: 0.5, Patience: -1, Threshold: 10, Absolute: true}
	plain := effect(t, func(*train.Job) {})
	cases := map[string]struct{ without, with func(j *train.Job) }{ // nil is the plain job
		"Job.Loss":     {nil, func(j *train.Job) { j.Loss = nn.Mean(nn.AbsoluteError(j.Outputs[0], j.Loss.Graph().Node("y"))) }},
		"Job.Rule":     {nil, func(j *train.Job) { j.Rule = optimizer.Adam{LR: 0.1} }},
		"Job.Strategy": {nil, func(j *train.Job) { j.Strategy = &sync }},
		"Job.Files": {nil, func(j *train.Job) {
			j.Data, j.Files = nil, train.Files{Format: dataset.CSV{}, Paths: []string{"none.csv"}}
		}},
		"Job.Data": {nil, func(j *train.Job) { j.Data = data(300, 100) }},
		"Job.Rows": {nil, func(j *train.Job) {
			j.Rows = func(_ int, rows *dataset.Dataset) *dataset.Dataset { return rows.Take(100) }
		}},
		"Job.Metrics":            {nil, func(j *train.Job) { j.Metrics = j.Metrics[1:] }},
		"Job.Show":               {nil, func(j *train.Job) { j.Show = []*nn.Node{j.Loss} }},
		"Job.Outputs":            {nil, func(j *train.Job) { j.Outputs = nil }},
		"Job.Linear":             {nil, func(j *train.Job) { j.Linear = new(beside(train.Options{}, 1)) }},
		"Job.Hooks":              {nil, hook(stop.Hooks())},
		"Job.Stdout":             {nil, func(j *train.Job) { j.Stdout = new(bytes.Buffer) }},
		"EarlyStopping.Patience": {hook(stop.Hooks()), hook(train.EarlyStopping{Least: 10, Patience: 2}.Hooks())},
		"EarlyStopping.Least":    {hook(stop.Hooks()), hook(train.EarlyStopping{}.Hooks())},
		"EarlyStopping.Metric": {hook(train.EarlyStopping{Least: 0.02}.Hooks()), func(j *train.Job) {
			hook(train.EarlyStopping{Metric: mae(j), Least: 0.02}.Hooks())(j)
		}},
		"EarlyStopping.KeepLast": {hook(train.EarlyStopping{Least: 10}.Hooks()), hook(train.EarlyStopping{Least: 10, KeepLast: true}.Hooks())},
		"BestModel.Dir":          {nil, hook(train.BestModel{}.Hooks())},
		"BestModel.Metric": {hook(train.BestModel{Dir: best}.Hooks()), func(j *train.Job) {
			hook(train.BestModel{Dir: best, Metric: newSigns().auc}.Hooks())(j)
		}},
		"Plateau.ReduceOnPlateau": {nil, hook(train.Plateau{ReduceOnPlateau: fall}.Hooks())},
		"Plateau.Metric": {hook(train.Plateau{ReduceOnPlateau: lr.ReduceOnPlateau{LR: 0.5, Patience: -1, Threshold: 0.02, Absolute: true}}.Hooks()),
			func(j *train.Job) {
				hook(train.Plateau{Metric: mae(j), ReduceOnPlateau: lr.ReduceOnPlateau{LR: 0.5, Patience: -1, Threshold: 0.02, Absolute: true}}.Hooks())(j)
			}},
	}
	for name, c := range trial.SomeOf(t, cases) {
		without := plain
		if c.without != nil {
			without = effect(t, c.without)
		}
		if with := effect(t, c.with); without == with {
			t.Errorf("%s does nothing: %s", name, with)
		}
	}
	for _, of := range []any{train.Job{}, train.EarlyStopping{}, train.BestModel{}, train.Plateau{}} {
		kind := reflect.TypeOf(of)
		for i := range kind.NumField() {
			name := kind.Name() + "." + kind.Field(i).Name
			elsewhere := name == "Job.Options" || name == "Job.Sharded" || name == "Job.Days" // TestEveryFlagActs, TestEachWorkerHasItsOwnRows, TestDays
			if _, shown := cases[name]; !shown && !elsewhere && kind.Field(i).IsExported() {
				t.Errorf("nothing shows what %s does", name)
			}
		}
	}
}
