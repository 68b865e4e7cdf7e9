package train_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// TestEvaluationsOfUnknownShares: workers without servers, of whose rows nobody knows how many there are, evaluate together as those of rows
// that are counted.
func TestEvaluationsOfUnknownShares(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, rows := range trial.Some(t, []int{3, 89, 101, 120}) {
		for _, every := range []int{1, 3, 5} {
			histories := map[bool][]train.Evaluation{}
			for _, unknown := range []bool{false, true} {
				results, _ := play(t, 0, 2, func() train.Job {
					j := job(train.Options{Mode: "sync", Epochs: 2, Batch: 2, EvalEvery: every})
					j.Data = data(rows, 20)
					if unknown {
						j.Rows = func(epoch int, all *dataset.Dataset) *dataset.Dataset {
							return all.Shuffle(0).Epoch(epoch).Filter(func(dataset.Row) bool { return true })
						}
					}
					return j
				})
				histories[unknown] = results[0].History
			}
			if a, b := histories[false], histories[true]; len(a) != len(b) || a[len(a)-1].Examples != b[len(b)-1].Examples {
				t.Errorf("%d rows, evaluated every %d: %d evaluations where they are counted, %d where not", rows, every, len(a), len(b))
			}
		}
	}
}

// TestAnotherBatch: a job that goes on in the middle of an epoch with another size of batches counts each row once.
func TestAnotherBatch(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	enough := errors.New("enough")
	for _, size := range [][2]int{{0, 1}, {1, 1}, {1, 2}, {0, 2}} {
		for _, unknown := range []bool{false, true} {
			for _, batches := range [][2]int{{10, 7}, {7, 10}, {3, 50}} {
				dir := filepath.Join(t.TempDir(), "checkpoints")
				var mu sync.Mutex
				var seen []float32
				run := func(batch, stop int) {
					fleettest.Cluster{Servers: size[0], Workers: size[1]}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
						j := job(train.Options{Mode: "sync", Batch: batch, Checkpoint: dir})
						ids := make([]float32, 101)
						for i := range ids {
							ids[i] = float32(i)
						}
						j.Data = func(context.Context) (_, _ *dataset.Dataset, err error) {
							return dataset.FromColumns(dataset.FloatValues("x", ids, 1), dataset.FloatValues("y", make([]float32, 101), 1)), nil, nil
						}
						if unknown {
							j.Rows = func(epoch int, all *dataset.Dataset) *dataset.Dataset {
								return all.Shuffle(0).Epoch(epoch).Filter(func(dataset.Row) bool { return true })
							}
						}
						j.Show = []*nn.Node{j.Loss.Graph().Node("x")}
						j.Metrics, j.Stdout = nil, io.Discard
						j.Rule = optimizer.SGD{LR: 1e-9}
						j.Hooks = []train.Hooks{{Step: func(ctx context.Context, r *train.Run, so nn.TrainResult) error {
							mu.Lock()
							seen = append(seen, so.Last()[0].Float32s()...)
							mu.Unlock()
							if so.Steps != stop {
								return nil
							}
							if err := r.Fleet.BarrierWorker(ctx); err != nil {
								return err
							}
							if r.Fleet.IsFirstWorker() {
								if err := r.Fleet.Checkpoint(ctx); err != nil {
									return err
								}
							}
							return errors.Join(r.Fleet.BarrierWorker(ctx), enough)
						}}}
						_, err := j.Run(ctx, f)
						return err
					})
				}
				run(batches[0], 4)
				first := len(seen)
				run(batches[1], 0)
				slices.Sort(seen)
				if first == 0 || first >= 101 || len(seen) != 101 || len(slices.Compact(seen)) != 101 {
					t.Errorf("%v, unknown %t, batches %v: %d rows, then %d", size, unknown, batches, first, len(seen)-first)
				}
			}
		}
	}
}

// TestABatchOfAllRows: that an epoch is one step, since a batch is larger than the data, is said once.
func TestABatchOfAllRows(t *testing.T) {
	// Serial: it takes over the process's log.
	for batch, want := range map[int]int{512: 1, 200: 0, 50: 0} {
		said := logged(t, func() {
			play(t, 1, 2, func() train.Job { return job(train.Options{Mode: "sync", Epochs: 3, Batch: batch}) })
		})
		if n := strings.Count(said, "an epoch is one step"); n != want {
			t.Errorf("batch %d: %d lines: %s", batch, n, said)
		}
	}
}

// TestThreadsEvaluateInVirtualTime: threads that evaluate in the middle of an epoch, with the others' steps and messages that take time, end
// in virtual time, and count each example.
func TestThreadsEvaluateInVirtualTime(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"async", "half_async", "geo"} {
		t.Run(mode, func(t *testing.T) {
			trial.Cluster(1, 2).Simulate(t, trial.Latent(10*time.Millisecond), func(ctx context.Context, f *fleet.Fleet) error {
				j := job(train.Options{Mode: mode, Epochs: 2, Batch: 5, Threads: 3, EvalEvery: 2})
				j.Stdout, j.Data, j.Rule = io.Discard, data(120, 20), optimizer.SGD{LR: 0.05}
				j.Hooks = []train.Hooks{{Step: func(context.Context, *train.Run, nn.TrainResult) error {
					time.Sleep(time.Second)
					return nil
				}}}
				res, err := j.Run(ctx, f)
				if n := len(res.History); err == nil && f.IsWorker() && (n < 4 || res.Last.Examples != 240) {
					t.Errorf("worker %d: %d evaluations, the last after %d examples", f.WorkerIndex(), n, res.Last.Examples)
				}
				return err
			})
		})
	}
}
