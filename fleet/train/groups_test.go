package train_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
)

// inGroups are points of which each seventh is of one group, some with another label than their sign says.
func inGroups(n int) func(context.Context) (rows, test *dataset.Dataset, err error) {
	return func(context.Context) (_, _ *dataset.Dataset, err error) {
		all := dataset.Generate(n+100, func(i int, r dataset.Row) error {
			x := float32(i%20)/10 - 0.95
			if r.Floats(0)[0] = x; (x > 0) != (i*7919%13 < 3) {
				r.Floats(1)[0] = 1
			}
			r.Ints(2)[0] = int64(i % 7)
			return nil
		}, dataset.Floats("x"), dataset.Floats("y"), dataset.Ints("who"))
		return all.Take(n), all.Skip(n), nil
	}
}

// grouped are metrics by group.
func grouped(g *nn.Graph, pred *nn.Node) []*nn.Node {
	y, who := g.Node("y"), g.IDs("who", 1)
	return []*nn.Node{nn.GroupAUC(pred, y, who), nn.GroupNDCG(pred, y, who, 5), nn.GroupMRR(pred, y, who)}
}

// TestMetricsOfGroups: in every way of training, and in a job that goes on on other workers, evaluations have the metrics by group of all
// test rows, as one process has them with the model that is left.
func TestMetricsOfGroups(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, c := range []struct {
		servers, workers int
		mode             string
	}{{0, 1, ""}, {0, 3, ""}, {2, 2, "sync"}, {1, 2, "async"}, {1, 2, "geo"}, {1, 3, "half_async"}, {1, 2, "ssp"}} {
		dir := t.TempDir()
		for life, workers := range []int{c.workers, c.workers + 1} {
			results, _ := play(t, c.servers, workers, func() train.Job {
				j := job(train.Options{Mode: c.mode, Epochs: 1 + life, Batch: 16, EvalEvery: 5, Out: dir + "/out", Checkpoint: dir + "/checkpoints"})
				j.Data, j.Metrics = inGroups(400), grouped(j.Loss.Graph(), j.Outputs[0])
				return j
			})
			m, err := serve.Load(dir + "/out/model")
			law.Check(t, err)
			_, tests, _ := inGroups(400)(t.Context())
			rows, err := tests.Batch(t.Context())
			law.Check(t, err)
			m.Graph.Input("y", 1)
			want, err := nn.NewExecutor(m.Graph).Eval(t.Context(), rows, grouped(m.Graph, m.Outputs[0])...)
			law.Check(t, err)
			for i, name := range []string{"test group_auc", "test group_ndcg", "test group_mrr"} {
				for w, r := range results {
					got, first := r.Last.Values[name], results[0].Last.Values[name]
					if got != first || math.Abs(got-float64(want[i].Float32s()[0])) > 1e-6 || !(got > 0 && got <= 1) {
						t.Errorf("%+v, %s: worker %d has %v, the first %v, the model %v", c, name, w, got, first, want[i])
					}
				}
			}
		}
	}
}

// TestGroupsStayTogether: whatever divides the rows of a job whose loss compares those of a group, a batch of training or of test rows has whole
// groups, but for those at its ends; the model that it leaves ranks as the rows do, and -check has nothing against groups that only test rows have.
func TestGroupsStayTogether(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const groups, each = 24, 10
	for _, c := range []struct {
		servers, workers, threads int
		mode                      string
		sharded                   bool
	}{{0, 1, 1, "", false}, {0, 1, 3, "", false}, {0, 3, 1, "", false}, {2, 2, 1, "sync", false}, {1, 2, 2, "async", false}, {1, 2, 1, "geo", true}} {
		var mu sync.Mutex
		batches, parts := map[string]int{}, map[string]int{}
		rows := func(what string, first int64) *dataset.Dataset {
			all := dataset.Generate(groups*each, func(i int, r dataset.Row) error {
				r.Floats(0)[0] = float32(i * 37 % 101)
				r.Floats(1)[0] = float32(i * 37 % 101 / 21)
				r.Ints(2)[0] = first + int64(i%groups)
				return nil
			}, dataset.Floats("x"), dataset.Floats("y"), dataset.Ints("query"))
			return all.Map(func(b dataset.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				of := map[int64]bool{}
				for _, id := range b["query"].Data().([]int64) {
					of[id] = true
				}
				batches[what], parts[what] = batches[what]+1, parts[what]+len(of)
				return nil
			})
		}
		make := func() train.Job {
			g := nn.NewGraph(1)
			score := nn.Linear(nn.Scale(g.Input("x", 1), 0.01, 0), 1, nn.LinearOptions{Init: optimizer.Constant{Value: -1}})
			y, query := g.Input("y", 1), g.IDs("query", 1)
			return train.Job{Options: train.Options{Mode: c.mode, Epochs: 5, Batch: 16, Threads: c.threads}, Rule: optimizer.SGD{LR: 3}, Sharded: c.sharded,
				Loss: nn.Mean(nn.LambdaRank(score, y, query, 5)), Metrics: []*nn.Node{nn.GroupNDCG(score, y, query, 5)}, Outputs: []*nn.Node{score},
				Data: func(context.Context) (_, _ *dataset.Dataset, err error) {
					return rows("train", 0), rows("test", 100), nil
				}}
		}
		results, _ := play(t, c.servers, c.workers, make)
		if ndcg := results[0].Last.Values["test group_ndcg"]; ndcg < 0.999 {
			t.Errorf("%+v: it ends with %v", c, results[0].Last.Values)
		}
		passes := 5
		if c.sharded {
			passes *= c.workers
		}
		for what, n := range batches {
			if most := passes*groups + n; parts[what] > most || n < 5*4 && what == "train" {
				t.Errorf("%+v: %d batches of %s rows have %d parts of groups, want at most %d", c, n, what, parts[what], most)
			}
		}
		report, err := train.Check(t.Context(), make())
		law.Check(t, err)
		for _, f := range report.Findings {
			if strings.Contains(f.What, "query") {
				t.Errorf("-check finds %v", f)
			}
		}
	}
}

// TestGroupsThatRowsDivide: a job whose Job.Rows deals the rows of a group to different batches warns once, and one whose batches have whole
// groups does not.
func TestGroupsThatRowsDivide(t *testing.T) { // Serial: it replaces the default log.
	trial.Slow(t)
	const groups, each = 60, 8
	rows := func(turns bool) *dataset.Dataset {
		return dataset.Generate(groups*each, func(i int, r dataset.Row) error {
			r.Floats(0)[0], r.Floats(1)[0], r.Ints(2)[0] = float32(i*37%101), float32(i*37%101/21), int64(i/each)
			if turns {
				r.Ints(2)[0] = int64(i % groups)
			}
			return nil
		}, dataset.Floats("x"), dataset.Floats("y"), dataset.Ints("query"))
	}
	streams := func(rows *dataset.Dataset) *dataset.Dataset {
		return rows.Filter(func(dataset.Row) bool { return true })
	}
	as := func(_ int, rows *dataset.Dataset) *dataset.Dataset { return rows }
	shuffled := func(epoch int, rows *dataset.Dataset) *dataset.Dataset { return rows.Shuffle(1).Epoch(epoch) }
	together := func(lanes int) func(int, *dataset.Dataset) *dataset.Dataset {
		return func(epoch int, rows *dataset.Dataset) *dataset.Dataset {
			return rows.ShuffleGroups("query", 1, lanes).Epoch(epoch)
		}
	}
	for _, c := range []struct {
		workers, threads     int
		turns, stream, share bool // the rows of a group lie apart; they stream by; each worker has its own
		rows                 func(int, *dataset.Dataset) *dataset.Dataset
		warns                int
	}{
		{workers: 1, turns: true}, {workers: 1, turns: true, rows: as, warns: 1}, {workers: 1, rows: as},
		{workers: 1, rows: shuffled, warns: 1}, {workers: 1, turns: true, rows: together(1)},
		{workers: 2, rows: as, warns: 1}, {workers: 2, rows: together(2)}, {workers: 2, rows: as, share: true},
		{workers: 1, threads: 2, rows: as, warns: 1}, {workers: 1, threads: 2, rows: together(2)},
		{workers: 1, stream: true, rows: as}, {workers: 1, stream: true, turns: true, rows: as, warns: 1},
		{workers: 2, stream: true, rows: as, warns: 1}, {workers: 2, stream: true, rows: as, share: true},
	} {
		t.Run(fmt.Sprintf("%d workers, %d threads, turns %t, streams %t, shards %t", c.workers, c.threads, c.turns, c.stream, c.share), func(t *testing.T) {
			said := logged(t, func() {
				play(t, 0, c.workers, func() train.Job {
					g := nn.NewGraph(1)
					score := nn.Linear(nn.Scale(g.Input("x", 1), 0.01, 0), 1, nn.LinearOptions{})
					y, query := g.Input("y", 1), g.IDs("query", 1)
					return train.Job{Options: train.Options{Epochs: 3, Batch: 16, Threads: c.threads}, Rule: optimizer.SGD{LR: 0.1}, Sharded: c.share,
						Loss: nn.Mean(nn.RankNet(score, y, query)), Rows: c.rows,
						Data: func(ctx context.Context) (_, _ *dataset.Dataset, err error) {
							if c.stream {
								return streams(rows(c.turns)), nil, nil
							}
							return rows(c.turns), nil, nil
						}}
				})
			})
			if n := strings.Count(said, "batches of parts of groups"); n != c.warns {
				t.Errorf("it warned %d times, want %d:\n%s", n, c.warns, said)
			}
		})
	}
}
