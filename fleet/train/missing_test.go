package train_test

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
)

// TestCallsWithoutWhatTheyNeed: what is nil, or has no value to give, is told with what to give in its place.
func TestCallsWithoutWhatTheyNeed(t *testing.T) {
	t.Parallel()
	net, rows := newSigns(), points(40)
	g := nn.NewGraph(1)
	whole := nn.Cast(g.Input("x", 1), nn.Int64)
	calls := []struct {
		want string
		call func(ctx context.Context, f *fleet.Fleet) error
	}{
		{"train: Evaluate: the rows are nil: give it a dataset", func(ctx context.Context, f *fleet.Fleet) error {
			_, err := train.Evaluate(ctx, f, nil, net.loss)
			return err
		}},
		{"train: Evaluate: the fleet is nil: give it what fleet.Init returns", func(ctx context.Context, _ *fleet.Fleet) error {
			_, err := train.Evaluate(ctx, nil, rows, net.loss)
			return err
		}},
		{`train: Evaluate: node 1, "sigmoid_0" [N 1], is neither a metric that counts over batches nor one number`,
			func(ctx context.Context, f *fleet.Fleet) error {
				_, err := train.Evaluate(ctx, f, rows, net.auc, net.pred)
				return err
			}},
		{"train: Predict: the rows are nil: give it a dataset", func(ctx context.Context, f *fleet.Fleet) error {
			_, err := train.Predict(ctx, f, nil, io.Discard, net.pred)
			return err
		}},
		{"train: Predict: the writer is nil, and this is worker 0", func(ctx context.Context, f *fleet.Fleet) error {
			_, err := train.Predict(ctx, f, rows, nil, net.pred)
			return err
		}},
		{"train: Predict: the fleet is nil", func(ctx context.Context, _ *fleet.Fleet) error {
			_, err := train.Predict(ctx, nil, rows, io.Discard, net.pred)
			return err
		}},
		{"train: Predict: no outputs: give it the nodes", func(ctx context.Context, f *fleet.Fleet) error {
			_, err := train.Predict(ctx, f, rows, io.Discard)
			return err
		}},
		{`train: Predict: output "cast_0" [N 1] holds int64`, func(ctx context.Context, f *fleet.Fleet) error {
			_, err := train.Predict(ctx, f, rows, io.Discard, whole)
			return err
		}},
		{"train: Save: the directory has no name", func(ctx context.Context, f *fleet.Fleet) error { return train.Save(ctx, f, "", nil) }},
		{"train: Save: the fleet is nil", func(ctx context.Context, _ *fleet.Fleet) error { return train.Save(ctx, nil, "output", nil) }},
		{"train: Job.Run: the fleet is nil", func(ctx context.Context, _ *fleet.Fleet) error {
			_, err := job(train.Options{}).Run(ctx, nil)
			return err
		}},
	}
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		j := job(train.Options{})
		j.Stdout = io.Discard
		if _, err := j.Run(ctx, f); err != nil {
			return err
		}
		for _, c := range calls {
			if err := c.call(ctx, f); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
		}
		return nil
	})
}

// TestJobsWithoutWhatTheyNeed: so is what a job lacks, before it has trained an epoch.
func TestJobsWithoutWhatTheyNeed(t *testing.T) {
	t.Parallel()
	with := func(h train.Hooks) func(*train.Job) { return func(j *train.Job) { j.Hooks = []train.Hooks{h} } }
	for want, lack := range map[string]func(j *train.Job){
		"train: Job.Rows(0, …) gave no rows": func(j *train.Job) { j.Rows = func(int, *dataset.Dataset) *dataset.Dataset { return nil } },
		"train: Job.Outputs[0] is nil":       func(j *train.Job) { j.Outputs = []*nn.Node{nil} },
		`train: Job.Metrics[0], "sigmoid_0" [N 1], is neither a metric that counts over batches nor one number: take its nn.Mean`: func(
			j *train.Job) {
			j.Metrics = j.Outputs
		},
		"train: rows in files: stat /no/such/rows: ": func(j *train.Job) {
			j.Data, j.Files = nil, train.Files{Format: dataset.Criteo{}, Paths: []string{"/no/such/rows"}}
			j.Outputs = nil
		},
		`nn: input "x" (`: func(j *train.Job) { // and no name of its metric
			g := nn.NewGraph(1)
			g.Input("x", 1)
			j.Loss = nn.Mean(nn.SquareError(g.Input("x", 1), g.Input("y", 1)))
			j.Metrics, j.Outputs = []*nn.Node{nn.AUC(j.Loss, g.Input("z", 1))}, nil
		},
		"train: -out=/dev/null/out, where the job leaves what it has trained: mkdir": func(j *train.Job) { j.Out = "/dev/null/out" },
		`train: -strategy={k_steps:1}: invalid character 'k' looking for beginning of object key string: want JSON, such as`: func(j *train.Job) {
			set := flag.NewFlagSet("", flag.ContinueOnError)
			j.Options.Register(set)
			if err := set.Set("strategy", "{k_steps:1}"); err != nil {
				t.Error(err)
			}
		},
		`train: HistoryCSV(""): it needs the name of a file`:      with(train.HistoryCSV("")),
		`train: Curves: "s3://a/b.svg" is not a path`:             with(train.Curves("s3://a/b.svg")),
		`train: Curves(""): it needs the name of a file`:          with(train.Curves("")),
		"train: Plateau with LR 0.1: the rate of rule sgd is 0.5": with(train.Plateau{ReduceOnPlateau: lr.ReduceOnPlateau{LR: 0.1}}.Hooks()),
		"train: Plateau with LR 0 and Factor 0":                   with(train.Plateau{}.Hooks()),
		"train: Plateau with LR 1 and Factor 1.5":                 with(train.Plateau{ReduceOnPlateau: lr.ReduceOnPlateau{LR: 1, Factor: 1.5}}.Hooks()),
	} {
		err := fails(t, func() train.Job {
			j := job(train.Options{})
			lack(&j)
			return j
		})
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v does not say %q alone", err, want)
		}
	}
}

// TestNodesThatNothingTrains: a job whose outputs or metrics depend on params that the loss does not is refused before
// it trains.
func TestNodesThatNothingTrains(t *testing.T) {
	t.Parallel()
	head := func(field func(j *train.Job, n *nn.Node)) func() train.Job {
		return func() train.Job {
			j := job(train.Options{})
			x := j.Loss.Graph().Input("more", 1)
			field(&j, nn.Mean(nn.Linear(x, 1, nn.LinearOptions{Name: "like"})).Named("liked"))
			return j
		}
	}
	for want, of := range map[string]func(j *train.Job, n *nn.Node){
		`train: Job.Outputs[1], "liked" [1]`: func(j *train.Job, n *nn.Node) { j.Outputs = append(j.Outputs, n) },
		`train: Job.Metrics[1], "liked" [1]`: func(j *train.Job, n *nn.Node) { j.Metrics = append(j.Metrics, n) },
	} {
		if err := fails(t, head(of)); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), `param "like.w_0", which nothing trains`) {
			t.Errorf("%v does not begin with %s", err, want)
		}
	}
}

// TestMissingLabels: a label that is missing is an error, whatever the format takes for numbers that are; its own Missing is taken.
func TestMissingLabels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		of   func([]dataset.CSVColumn) dataset.Format
	}{
		"CSV":       {"x,y\n,0\n2,\n3,1\n", func(s []dataset.CSVColumn) dataset.Format { return dataset.CSV{Missing: "0", Schema: s} }},
		"JSONLines": {"{\"y\":0}\n{\"x\":2}\n{\"x\":3,\"y\":1}\n", func(s []dataset.CSVColumn) dataset.Format { return dataset.JSONLines{Missing: "0", Schema: s} }},
	} {
		for _, own := range []string{"", "1"} {
			file := filepath.Join(t.TempDir(), "rows")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			g := nn.NewGraph(1)
			chance := nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{Act: nn.Sigmoid})
			loss, format := nn.Mean(nn.BinaryCrossEntropy(chance, g.Input("y", 1))), c.of([]dataset.CSVColumn{{Column: dataset.Floats("x")}, {Column: dataset.Floats("y"), Missing: own}})
			check := func() error {
				_, err := train.Check(t.Context(), train.Job{Loss: loss, Rule: optimizer.SGD{LR: 0.1}, Files: train.Files{HeldOut: -1, Paths: []string{file}, Format: format}})
				return err
			}
			eval := func() error {
				_, err := train.Examination{Loss: loss, Format: format, Paths: []string{file}}.Run(t.Context())
				return err
			}
			for _, call := range []func() error{check, eval} {
				err := call()
				if want := "field y: want a number, or a Missing of its column to take for one"; own == "" && (err == nil || !strings.Contains(err.Error(), want)) || own != "" && err != nil {
					t.Errorf("%s, Missing %q: %v", name, own, err)
				}
			}
		}
	}
}
