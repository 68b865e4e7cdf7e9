package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	tensors "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// TestRowsAreTheModels: going over rows brings what a saved model holds, in every kind of job, and so does the text.
func TestRowsAreTheModels(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, c := range map[string]struct {
		cluster fleettest.Cluster
		mode    strategy.Mode
	}{
		"alone": {fleettest.Cluster{}, ""}, "collective": {trial.Cluster(0, 2), ""}, "sync": {trial.Cluster(2, 2), "sync"},
		"async": {trial.Cluster(3, 2), "async"}, "geo": {trial.Cluster(2, 2), "geo"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x := trial.Training{Rule: optimizer.SGD{LR: 0.1}, Strategy: strategy.Strategy{Mode: c.mode}, To: 5, Ahead: true}
			x.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
				if err := f.BarrierWorker(ctx); err != nil || !f.IsFirstWorker() {
					return err
				}
				if err := f.SaveInferenceModel(ctx, dir, o); err != nil {
					return err
				}
				return compareRows(ctx, f, dir)
			}
			x.On(t, c.cluster)
		})
	}
}

// compareRows compares the rows of open with those of the model in a directory, whichever way they come.
func compareRows(ctx context.Context, f *fleet.Fleet, dir string) error {
	model, err := trial.WeightsOf(dir)
	if err != nil {
		return err
	}
	want := map[uint64][]float32{}
	ids, err := trial.TensorOf[uint64](model, "open.ids")
	if err != nil || len(ids) == 0 {
		return fmt.Errorf("the model has %d rows, error %w", len(ids), err)
	}
	w, err := trial.TensorOf[float32](model, "open")
	if err != nil {
		return err
	}
	for i, id := range ids {
		want[id] = w[2*i:][:2]
	}
	n := 0
	for row, err := range f.Rows(ctx, "open") {
		if err != nil || !slices.Equal(row.W, want[row.ID]) {
			return fmt.Errorf("row %d is %v, error %w, want %v", row.ID, row.W, err, want[row.ID])
		}
		n++
	}
	if n != len(want) {
		return fmt.Errorf("%d rows, want %d", n, len(want))
	}
	var text bytes.Buffer
	if err := weights.WriteText(&text, f.Rows(ctx, "open")); err != nil {
		return err
	}
	return compareText(text.String(), want)
}

func compareText(text string, want map[uint64][]float32) error {
	n := 0
	for line := range strings.Lines(text) {
		key, values, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		id, err := strconv.ParseUint(key, 10, 64)
		if err != nil {
			return err
		}
		for i, v := range strings.Split(values, ",") {
			x, err := strconv.ParseFloat(v, 32)
			if err != nil || math.Float32bits(float32(x)) != math.Float32bits(want[id][i]) {
				return fmt.Errorf("line %q: value %d, error %w, want %v", line, i, err, want[id])
			}
		}
		n++
	}
	if n != len(want) {
		return fmt.Errorf("%d lines, want %d", n, len(want))
	}
	return nil
}

func TestRowsEnd(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	x := trial.Training{Rule: optimizer.SGD{LR: 0.1}, Strategy: strategy.Sync(), To: 2, Ahead: true}
	x.After = func(ctx context.Context, f *fleet.Fleet, _ *trial.Toy) error {
		n := 0
		for range f.Rows(ctx, "emb") {
			if n++; n == 3 {
				break
			}
		}
		if n != 3 {
			t.Errorf("a walk that was to end after 3 rows had %d", n)
		}
		for _, err := range f.Rows(ctx, "none") {
			if err == nil || !strings.Contains(err.Error(), `fleet: Rows: embedding "none" is not part`) {
				t.Errorf("an embedding that does not exist: %v", err)
			}
		}
		if err := weights.WriteText(broken{full}, f.Rows(ctx, "emb")); !errors.Is(err, full) {
			t.Errorf("a writer that fails: %v", err)
		}
		gone, cancel := context.WithCancelCause(ctx)
		cancel(full)
		for _, err := range f.Rows(gone, "emb") {
			if !errors.Is(err, full) && !errors.Is(err, context.Canceled) {
				t.Errorf("a context that has ended: %v", err)
			}
		}
		return nil
	}
	x.On(t, trial.Cluster(2, 1))
}

// broken is a writer that fails.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// The vectors of words, or of users and items, for whatever searches them.
func ExampleFleet_Rows() {
	f, err := fleet.New(context.Background(), rolemaker.Local{}, fleet.Options{})
	if err != nil {
		log.Fatal(err)
	}
	g := nn.NewGraph(1)
	words := nn.Embedding(g.IDs("word", 1), nn.EmbeddingOptions{Name: "words", Dim: 2, Init: optimizer.Constant{Value: 1}})
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.5}, strategy.Async())
	if err != nil {
		log.Fatal(err)
	}
	if err := opt.Minimize(nn.Mean(words)); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	batch := map[string]*tensors.Dense{"word": tensors.New(tensors.WithShape(4, 1), tensors.WithBacking([]int64{3, 8, 8, 8}))}
	if _, err := nn.NewExecutor(g).Train(ctx, batch); err != nil {
		log.Fatal(err)
	}
	if err := weights.WriteText(os.Stdout, f.Rows(ctx, "words")); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 3	0.9375,0.9375
	// 8	0.8125,0.8125
}

// TestRowsOnlyAskedForAreNone: a row that was asked for ahead, or read by a step that pushed nothing for it, is none: in no list, no text and
// no count, and as a missing one in evaluations.
func TestRowsOnlyAskedForAreNone(t *testing.T) {
	t.Parallel()
	for name, job := range trial.Jobs(t) {
		t.Run(name, func(t *testing.T) {
			fleettest.Run(t, job.Cluster.Servers, min(job.Cluster.Workers, 2), func(ctx context.Context, f *fleet.Fleet) error {
				c := trial.NewCounter(2)
				c.Rows.Init = optimizer.Constant{Value: 5}
				return c.Play(ctx, f, job.Strategy, func() error {
					return c.InSession(ctx, func(s optimizer.Session) error {
						for range 4 {
							st := c.Step()
							st.Rows[0].Next = []uint64{7, 8}
							if err := trial.Step(ctx, s, st, nil); err != nil {
								return err
							}
						}
						if err := errors.Join(c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil || !f.IsFirstWorker() {
							return err
						}
						has, err := rowsOf(ctx, f)
						if err != nil || len(has) != 6 {
							return fmt.Errorf("rows %v, want the two that were pushed: %w", has, err)
						}
						var text bytes.Buffer
						if err := weights.WriteText(&text, f.Rows(ctx, "rows")); err != nil || strings.Count(text.String(), "\n") != 2 {
							return fmt.Errorf("text %q: %w", text.String(), err)
						}
						c.IDs = []uint64{7}
						seen, err := c.Seen(ctx, s)
						if err != nil || seen[len(seen)-1] != 0 {
							return fmt.Errorf("an evaluation sees %v of a row that is not there: %w", seen, err)
						}
						return nil
					})
				})
			})
		})
	}
}
