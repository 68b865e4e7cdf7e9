package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
	"github.com/gofleet/gofleet/strategy"
)

// signs are feature signs of all 64 bits, and bags a slot of several.
const signText = `x:9223372036854775808 bag:18446744073709551615 bag:1 y:1
x:18446744073709551615 bag:9223372036854775809 y:2
x:7 bag:18446744073709551614 bag:7 y:3
`

// wideNet regresses y on an id and a bag of ids.
func wideNet() (g *nn.Graph, out, loss *nn.Node) {
	g = nn.NewGraph(1)
	one := nn.Embedding(g.IDs("x", 1), nn.EmbeddingOptions{Name: "one", Dim: 1})
	bag := nn.EmbeddingPool(g.Slot("bag"), nn.PoolSum, nn.EmbeddingOptions{Name: "bags", Dim: 1})
	out = nn.Sum(nn.Concat(one, bag), 1)
	return g, out, nn.Mean(nn.SquareError(out, nn.Sum(g.Input("y", 1), 1)))
}

// TestIDsOfAllBits trains on signs up to 2⁶⁴−1 from a slot text file on two servers; a checkpoint, a text of the rows and a saved
// model have them, and other servers and serve.Load give the same predictions.
func TestIDsOfAllBits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "signs")
	law.Check(t, os.WriteFile(path, []byte(signText), 0o600))
	format := dataset.SlotText{Slots: []dataset.SlotColumn{
		{Column: dataset.IDs("x")}, {Column: dataset.Varying(dataset.IDs("bag"))}, {Column: dataset.Floats("y")}}}
	rows := dataset.FromFiles(format, path)
	predict := func(ctx context.Context, exe *nn.Executor, out *nn.Node) []float32 {
		for batch, err := range rows.Batches(3) {
			if err != nil {
				t.Error(err)
				return nil
			}
			got, err := exe.Eval(ctx, batch, out)
			if err != nil {
				t.Error(err)
				return nil
			}
			return slices.Clone(got[0].Float32s())
		}
		return nil
	}
	job := func(servers int, from string, work func(ctx context.Context, f *fleet.Fleet, exe *nn.Executor, out *nn.Node) error) {
		fleettest.Run(t, servers, 1, func(ctx context.Context, f *fleet.Fleet) error {
			g, out, loss := wideNet()
			if err := trial.Minimize(f, loss, optimizer.SGD{LR: 0.3}, strategy.Sync()); err != nil {
				return err
			}
			return trial.Begin(ctx, f, from, func() error {
				exe := nn.NewExecutor(g)
				return errors.Join(work(ctx, f, exe, out), exe.Close(ctx))
			})
		})
	}
	var trained []float32
	job(2, "", func(ctx context.Context, f *fleet.Fleet, exe *nn.Executor, out *nn.Node) error {
		for range 20 {
			if _, err := exe.TrainFrom(ctx, rows.Batches(3), nn.TrainOptions{}); err != nil {
				return err
			}
		}
		trained = predict(ctx, exe, out)
		var text strings.Builder
		err := errors.Join(weights.WriteText(&text, f.Rows(ctx, "one")), weights.WriteText(&text, f.Rows(ctx, "bags")))
		for _, id := range []string{"9223372036854775808", "18446744073709551615", "9223372036854775809", "18446744073709551614"} {
			if !strings.Contains(text.String(), id) {
				t.Errorf("%s is not in the text: %s", id, text.String())
			}
		}
		all := map[uint64]bool{}
		for row, failed := range f.Rows(ctx, "one") {
			err = errors.Join(err, failed)
			all[row.ID] = true
		}
		if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, []uint64{7, 1 << 63, 1<<64 - 1}) {
			t.Errorf("rows of %v", got)
		}
		return errors.Join(err, f.SavePersistables(ctx, dir+"/checkpoint"), f.SaveInferenceModel(ctx, dir+"/model", nn.Inference(out)))
	})
	for i, y := range []float32{1, 2, 3} {
		if len(trained) != 3 || trained[i] < y-0.1 || trained[i] > y+0.1 {
			t.Fatalf("predictions after training: %v", trained)
		}
	}
	for servers := 1; servers <= 3; servers += 2 {
		job(servers, dir+"/checkpoint", func(ctx context.Context, f *fleet.Fleet, exe *nn.Executor, out *nn.Node) error {
			if got := predict(ctx, exe, out); !slices.Equal(got, trained) {
				return fmt.Errorf("%d servers predict %v, want %v", servers, got, trained)
			}
			return nil
		})
	}
	m, err := serve.Load(dir + "/model")
	law.Check(t, err)
	if got := predict(t.Context(), nn.NewExecutor(m.Graph), m.Outputs[0]); !slices.Equal(got, trained) {
		t.Errorf("the saved model predicts %v, want %v", got, trained)
	}
}
