package train_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/runs"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// TestOptionsFitTheRows: in every way of training batch, epochs and patience that nobody names follow from the rows of all workers, once: the
// job prints them, run.json has them, and a job that goes on, with more rows and on other workers, has those of its checkpoint.
func TestOptionsFitTheRows(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const few, many = "-patience=3 -epochs=50 -batch=32 ", "-patience=3 -epochs=20 -batch=64 "
	for _, c := range []struct {
		servers, workers int
		mode             string
		rows             int
		flags            []string
		sharded, flows   bool
		says, again      string
	}{
		{0, 1, "", 60, nil, false, false, few + "for 60 rows\n", few},
		{2, 2, "sync", 60, nil, false, false, few + "for 60 rows\n", few},
		{1, 2, "async", 60, nil, false, false, few + "for 60 rows\n", few},
		{1, 2, "geo", 60, nil, false, false, few + "for 60 rows\n", few},
		{1, 2, "ssp", 60, nil, false, false, few + "for 60 rows\n", few},
		{1, 2, "half_async", 60, nil, false, false, few + "for 60 rows\n", few},
		{0, 2, "", 6_000, nil, true, false, many + "for 12,000 rows\n", many},
		{0, 2, "", 60, nil, false, true, "-epochs=1 -batch=512 for rows, whose number is not known\n", "-epochs=1 -batch=512 "},
		{0, 1, "", 60, []string{"-batch=7", "-patience=0"}, false, false, "\n-epochs=50 for 60 rows\n", "-epochs=50 "},
		{0, 1, "", 60, []string{"-epochs=2"}, false, false, "\n-batch=32 for 60 rows\n", "-batch=32 "},
		{0, 1, "", 60, []string{"-batch=7", "-epochs=2"}, false, false, "", ""},
	} {
		name, dir := fmt.Sprintf("%+v", c), t.TempDir()
		run := func(workers, rows int, stops bool) (said string) {
			fleettest.Run(t, c.servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
				var out bytes.Buffer
				o := train.Options{Mode: c.mode, Out: filepath.Join(dir, "out"), Checkpoint: filepath.Join(dir, "checkpoints")}
				fs := flag.NewFlagSet("", flag.ContinueOnError)
				o.Register(fs)
				if err := fs.Parse(c.flags); err != nil {
					return err
				}
				net := newSigns()
				data := func(n int) *dataset.Dataset {
					if c.flows {
						return points(n).Filter(func(dataset.Row) bool { return true })
					}
					return points(n)
				}
				j := train.Job{Options: o, Loss: net.loss, Rule: optimizer.SGD{LR: 0.5}, Outputs: []*nn.Node{net.pred}, Sharded: c.sharded, Stdout: &out,
					Data: func(context.Context) (_, _ *dataset.Dataset, err error) { return data(rows), points(20), nil }}
				if c.flows {
					j.Rows = func(_ int, rows *dataset.Dataset) *dataset.Dataset { return rows }
				}
				j.Hooks = []train.Hooks{{Evaluated: func(_ context.Context, r *train.Run, _ train.Evaluation) error {
					if stops {
						r.Stop("for now")
					}
					return nil
				}}}
				_, err := j.Run(ctx, f)
				if f.IsWorker() && f.IsFirstWorker() {
					said = "\n" + out.String()
				}
				return err
			})
			return said
		}
		first := run(c.workers, c.rows, true)
		if strings.Count(first, "rows\n")+strings.Count(first, "not known\n") > 1 || !strings.Contains(first, c.says) {
			t.Errorf("%s: it said\n%s", name, first)
		}
		a, err := os.ReadFile(filepath.Join(dir, "out", runs.File))
		var about runs.About
		if err == nil {
			err = json.Unmarshal(a, &about)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range strings.Fields(c.again) {
			key, value, _ := strings.Cut(flag[1:], "=")
			if about.Flags[key] != value {
				t.Errorf("%s: run.json has %s=%q, want %s", name, key, about.Flags[key], value)
			}
		}
		if again := run(c.workers+1, 3*c.rows, false); c.again != "" && !strings.Contains(again, "\n"+c.again+"as its checkpoint has them\n") {
			t.Errorf("%s: started again it said\n%s", name, again)
		}
	}
}
