package fleet_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"github.com/gofleet/gofleet/strategy"
)

// TestALoadedModelTrainsOn: a job that minimises a loss of a loaded model's output begins with the loaded weights and rows. It
// predicts what the model predicts before its first step, rows that it doesn't touch stay in it and in what it saves, and rows
// that it trains go on from what they were, also where an entry policy lets no new one in.
func TestALoadedModelTrainsOn(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	dir := trial.MixedModel(t)
	for name, j := range trial.SomeOf(t, trial.Jobs(t)) {
		for variant, change := range map[string]func(*optimizer.Param){
			"as loaded":    func(*optimizer.Param) {},
			"count filter": func(p *optimizer.Param) { p.Entry.CountFilter = 100 },
			"frozen":       func(p *optimizer.Param) { p.Frozen = true },
		} {
			if name == "geo" && variant == "count filter" {
				continue // is refused
			}
			t.Run(name+", "+variant, func(t *testing.T) {
				f := further{t: t, from: dir, on: t.TempDir(), further: t.TempDir(), rows: change, strategy: j.Strategy}
				j.Cluster.Run(t, f.run)
				f.check(variant == "frozen")
			})
		}
	}
}

// further is a job that trains a loaded model.
type further struct {
	t        *testing.T
	strategy strategy.Strategy
	from     string
	// on and further are where the model is saved before and after the step.
	on, further string
	rows        func(*optimizer.Param) // is called with the loaded embeddings
}

func (c further) run(ctx context.Context, f *fleet.Fleet) error {
	m, err := serve.Load(c.from)
	if err != nil {
		return err
	}
	for _, p := range m.Graph.Params() {
		if p.Embedding {
			c.rows(p)
		}
	}
	model, want := nn.Inference(m.Outputs[0]), predict(c.t, c.from)
	return trial.PlayGraph(ctx, f, trial.Loss(m.Outputs[0]), optimizer.SGD{LR: 0.5}, c.strategy, func(exe *nn.Executor) error {
		got, err := exe.Eval(ctx, trial.MixedBatch(20, 0), m.Outputs[0])
		if err != nil {
			return err
		}
		if !slices.Equal(got[0].Float32s(), want) {
			c.t.Errorf("%v predicts %v before its first step, the model %v", f, got[0].Float32s(), want)
		}
		if err := trial.SaveTogether(ctx, f, c.on, model); err != nil {
			return err
		}
		if _, err := exe.Train(ctx, trial.MixedBatch(2, 0)); err != nil {
			return err
		}
		return trial.SaveTogether(ctx, f, c.further, model)
	})
}

// check compares the model that was saved before the step, and the one after it, with the one that was loaded.
func (c further) check(frozen bool) {
	c.t.Helper()
	was, is, later := trial.Values(c.t, c.from), trial.Values(c.t, c.on), trial.Values(c.t, c.further)
	if !reflect.DeepEqual(is, was) {
		c.t.Errorf("the job begins with %v, the model has %v", is, was)
	}
	for _, name := range []string{"high", "open"} {
		if len(later[name]) != len(was[name]) {
			c.t.Errorf("%s has %d rows, had %d", name, len(later[name]), len(was[name]))
		}
		for id, w := range was[name] {
			if touched := id < 4 && !frozen; slices.Equal(later[name][id], w) == touched {
				c.t.Errorf("row %d of %s is %v, was %v", id, name, later[name][id], w)
			}
		}
	}
	if slices.Equal(was["fc_1.w_0"][0], later["fc_1.w_0"][0]) {
		c.t.Error("dense weights are as they were")
	}
}

// predict is what a saved model says.
func predict(t *testing.T, dir string) []float32 {
	t.Helper()
	m, err := serve.Load(dir)
	law.Check(t, err)
	out, err := nn.NewExecutor(m.Graph).Eval(t.Context(), trial.MixedBatch(20, 0), m.Outputs[0])
	law.Check(t, err)
	return out[0].Float32s()
}

// TestALoadedModelTrainsOnLocally is the same of a trainer without a fleet.
func TestALoadedModelTrainsOnLocally(t *testing.T) {
	t.Parallel()
	dir := trial.MixedModel(t)
	m, err := serve.Load(dir)
	law.Check(t, err)
	if _, err := local.Minimize(trial.Loss(m.Outputs[0]), optimizer.SGD{LR: 0.5}); err != nil {
		t.Fatal(err)
	}
	got, err := nn.NewExecutor(m.Graph).Eval(t.Context(), trial.MixedBatch(20, 0), m.Outputs[0])
	law.Check(t, err)
	if want := predict(t, dir); !slices.Equal(got[0].Float32s(), want) {
		t.Errorf("the trainer begins with %v, the model says %v", got[0].Float32s(), want)
	}
}

// TestServerWithoutLoadedRowsIsRefused: a server that builds the model's graph with other rows than its workers has none to begin with.
func TestServerWithoutLoadedRowsIsRefused(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	dir, other := trial.MixedModel(t), trial.MixedModel(t)
	errs := trial.Cluster(1, 1).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		from := dir
		if f.IsServer() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			from = other
		}
		m, err := serve.Load(from)
		if err != nil {
			return err
		}
		for _, p := range m.Graph.Params() {
			if p.Name == "open" && f.IsServer() {
				p.Rows = nil
			}
		}
		return trial.PlayGraph(ctx, f, trial.Loss(m.Outputs[0]), optimizer.SGD{LR: 0.5}, strategy.Sync(), func(*nn.Executor) error { return nil })
	})
	if err := errs["worker 0"]; err == nil || !strings.Contains(err.Error(), `param "open" first rows 16 loaded rows`) {
		t.Errorf("got %v", err)
	}
}

// TestNewRowsOfALoadedModel: an id that the model has not got is born with the initial values that the table was declared with,
// also in a table without a height.
func TestNewRowsOfALoadedModel(t *testing.T) {
	t.Parallel()
	dir := trial.MixedModel(t)
	m, err := serve.Load(dir)
	law.Check(t, err)
	trainer, err := local.Minimize(trial.Loss(m.Outputs[0]), optimizer.SGD{LR: 1e-12}) // too little to change a float
	if err == nil {
		_, err = nn.NewExecutor(m.Graph).Train(t.Context(), trial.MixedBatch(2, 30))
	}
	law.Check(t, err)
	_, loss := trial.Mixed()
	for _, p := range loss.Params() {
		if p.Embedding {
			want := make([]float32, p.Dim())
			p.InitRow(want, 31)
			got, err := trainer.Rows(p.Name, []uint64{31})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("row 31 of %s is born as %v, error %v, want %v", p.Name, got, err, want)
			}
		}
	}
}

// TestACheckpointReplacesLoadedRows: rows of the loaded model that the checkpointed job had dropped are not in the one that goes
// on from it.
func TestACheckpointReplacesLoadedRows(t *testing.T) {
	t.Parallel()
	dir, saved := trial.MixedModel(t), t.TempDir()
	for name, c := range trial.Sizes() {
		t.Run(name, func(t *testing.T) {
			c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				m, err := serve.Load(dir)
				if err != nil {
					return err
				}
				return trial.PlayGraph(ctx, f, trial.Loss(m.Outputs[0]), optimizer.SGD{LR: 0.5}, strategy.Sync(), func(exe *nn.Executor) error {
					for range 3 { // days on which ids 4 to 15 are not touched
						if _, err := exe.Train(ctx, trial.MixedBatch(2, 0)); err != nil {
							return err
						}
						if err := f.BarrierWorker(ctx); err != nil {
							return err
						}
						if _, err := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 2}); err != nil {
							return err
						}
					}
					return f.SavePersistables(ctx, saved)
				})
			})
			m, err := serve.Load(dir)
			law.Check(t, err)
			fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
				return trial.PlayGraph(ctx, f, trial.Loss(m.Outputs[0]), optimizer.SGD{LR: 0.5}, strategy.Sync(), func(*nn.Executor) error {
					if err := f.LoadModel(ctx, saved); err != nil {
						return err
					}
					var ids []uint64
					for r, err := range f.Rows(ctx, "open") {
						if err != nil {
							return err
						}
						ids = append(ids, r.ID)
					}
					if want := []uint64{0, 1, 2, 3}; !slices.Equal(ids, want) {
						t.Errorf("rows %d are there, want %d", ids, want)
					}
					return nil
				})
			})
		})
	}
}
