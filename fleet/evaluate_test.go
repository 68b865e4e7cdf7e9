package fleet_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestASecondExecutorEvaluates trains with one executor and examines the model with another after each epoch, in every mode, with
// servers and without: the second neither trains nor keeps the first waiting, and what all workers have seen adds up to the rows.
func TestASecondExecutorEvaluates(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, m := range trial.Some(t, strategy.Modes()) {
		for servers := 2; servers >= 0; servers -= 2 {
			if servers == 0 && m != strategy.ModeSync {
				continue
			}
			t.Run(fmt.Sprintf("%s on %d servers", m, servers), func(t *testing.T) {
				s, err := strategy.Named(string(m))
				if err != nil {
					t.Fatal(err)
				}
				var seen [2][2]int64
				fleettest.Run(t, servers, 2, func(ctx context.Context, f *fleet.Fleet) error {
					return trainAndExamine(ctx, f, s, func(epoch int, rows int64) { seen[f.WorkerIndex()][epoch] = rows })
				})
				if want := [2]int64{80, 80}; seen[0] != want || seen[1] != want {
					t.Errorf("rows examined by all: worker 0 is told %d, worker 1 %d, want %d", seen[0], seen[1], want)
				}
			})
		}
	}
}

func trainAndExamine(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, report func(epoch int, rows int64)) error {
	net := widedeep.New(small())
	return trial.Play(ctx, f, net.Loss, optimizer.SGD{LR: 0.01}, s, func() error {
		mine := clicks().Shard(f.WorkerIndex(), f.WorkerNum())
		training, examining := nn.NewExecutor(net.Graph), nn.NewExecutor(net.Graph)
		for epoch := range 2 {
			if _, err := training.TrainFrom(ctx, mine.Batches(4), nn.TrainOptions{}); err != nil {
				return err
			}
			if err := f.BarrierWorker(ctx); err != nil {
				return err
			}
			examining.ResetMetrics()
			for batch, err := range mine.Batches(10) {
				if err != nil {
					return err
				}
				if _, err := examining.Eval(ctx, batch, net.AUC); err != nil {
					return err
				}
			}
			pos, neg, err := examining.Histogram(net.AUC)
			if err != nil {
				return err
			}
			both, err := f.AllReduceInts(ctx, append(pos, neg...), fleet.Sum)
			if err != nil {
				return err
			}
			var rows int64
			for _, n := range both {
				rows += n
			}
			report(epoch, rows)
		}
		return nil
	})
}
