package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
	"github.com/gofleet/gofleet/strategy"
)

// restoring is a job that begins from a directory, saves the model that it begins with, and says how many updates it counts.
type restoring struct {
	from    func(f *fleet.Fleet) string // the directory, by role
	options fleet.RestoreOptions
	model   string
	saved   string // where the checkpoint goes that it begins with; empty for none
	rule    optimizer.Rule
	s       strategy.Strategy
}

func (c restoring) run(ctx context.Context, f *fleet.Fleet) error {
	out, loss := trial.Mixed()
	if err := trial.Minimize(f, loss, c.rule, c.s); err != nil {
		return err
	}
	if err := f.Restore(ctx, c.from(f), c.options); err != nil {
		return err
	}
	return trial.Begin(ctx, f, "", func() error {
		exe := nn.NewExecutor(out.Graph())
		if _, err := exe.Eval(ctx, trial.MixedBatch(1, 0), out); err != nil {
			return err
		}
		if err := errors.Join(trial.SaveTogether(ctx, f, c.model, nn.Inference(out)), exe.Close(ctx)); err != nil || c.saved == "" {
			return err
		}
		return f.SavePersistables(ctx, c.saved)
	})
}

// mixedCheckpoint is that of a job which trained the mixed model with servers, beside the model.
func mixedCheckpoint(t *testing.T, rule optimizer.Rule) (saved, model string) {
	t.Helper()
	saved, model = t.TempDir(), t.TempDir()
	fleettest.Run(t, 2, 1, func(ctx context.Context, f *fleet.Fleet) error {
		out, loss := trial.Mixed()
		return trial.PlayGraph(ctx, f, loss, rule, strategy.Sync(), func(exe *nn.Executor) error {
			for range 3 {
				if _, err := exe.Train(ctx, trial.MixedBatch(8, 0)); err != nil {
					return err
				}
			}
			return errors.Join(f.SavePersistables(ctx, saved), f.SaveInferenceModel(ctx, model, nn.Inference(out)))
		})
	})
	return saved, model
}

func everyone(dir string) func(*fleet.Fleet) string { return func(*fleet.Fleet) string { return dir } }

// TestRestore: one call, the same on every role, has a job of any kind begin from a checkpoint or from a model, under the rule
// that wrote it or another, with all params or some, and with the statistics of batch norm.
func TestRestore(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	from, model := mixedCheckpoint(t, optimizer.Adam{LR: 0.05})
	want := trial.Values(t, model)
	trial.Covers(t, reflect.TypeFor[fleet.RestoreOptions](), map[string]bool{"Params": true, "WeightsOnly": true})
	adam, sgd := optimizer.Adam{LR: 0.05}, optimizer.SGD{LR: 0.05}
	for name, j := range trial.SomeOf(t, trial.Jobs(t)) {
		for what, c := range map[string]restoring{
			"a checkpoint":             {from: everyone(from), rule: adam},
			"weights of a checkpoint":  {from: everyone(from), rule: sgd, options: fleet.RestoreOptions{WeightsOnly: true}},
			"a model":                  {from: everyone(model), rule: sgd},
			"some params":              {from: everyone(from), rule: adam, options: fleet.RestoreOptions{Params: []string{"open", "fc_1.w_0"}}},
			"some of a model":          {from: everyone(model), rule: adam, options: fleet.RestoreOptions{Params: []string{"open", "fc_1.w_0"}}},
			"some weights, other rule": {from: everyone(from), rule: sgd, options: fleet.RestoreOptions{Params: []string{"open", "fc_1.w_0"}, WeightsOnly: true}},
		} {
			if name == "geo" && c.rule == adam {
				continue // geo adds up steps of SGD
			}
			t.Run(name+", "+what, func(t *testing.T) {
				c.model, c.s = t.TempDir(), j.Strategy
				j.Cluster.Run(t, c.run)
				got, want := trial.Values(t, c.model), want
				if some := c.options.Params; len(some) > 0 {
					want = fresh(t, want, some)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("the job begins with %v, want %v", got, want)
				}
			})
		}
	}
}

// fresh are the values of a job that begins anew but for some params.
func fresh(t *testing.T, values map[string]map[uint64][]float32, but []string) map[string]map[uint64][]float32 {
	t.Helper()
	_, loss := trial.Mixed()
	values = maps.Clone(values)
	for _, p := range loss.Params() {
		if slices.Contains(but, p.Name) {
			continue
		}
		values[p.Name] = map[uint64][]float32{}
		if !p.Embedding {
			values[p.Name][0] = p.W
		}
	}
	return values
}

// TestRestoredState: a checkpoint brings the rule's state and the count of updates; its weights alone bring neither.
func TestRestoredState(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	from, _ := mixedCheckpoint(t, optimizer.Adam{LR: 0.05})
	for name, cluster := range trial.Sizes() {
		for _, weights := range []bool{false, true} {
			saved := t.TempDir()
			c := restoring{from: everyone(from), rule: optimizer.Adam{LR: 0.05}, s: strategy.Sync(), model: t.TempDir(), saved: saved,
				options: fleet.RestoreOptions{WeightsOnly: weights}}
			cluster.Run(t, c.run)
			want := map[bool]int64{false: 3, true: 0}[weights]
			if m, moments := trial.Manifest(t, saved), adamState(t, saved); m.Step != want || moments == weights {
				t.Errorf("%s, weights only %t: update %d, moments there: %t; want update %d", name, weights, m.Step, moments, want)
			}
		}
	}
}

// adamState says whether a checkpoint has moments of a dense param that are not zero.
func adamState(t *testing.T, dir string) bool {
	t.Helper()
	for _, p := range trial.Manifest(t, dir).Parts {
		data := trial.Read(t, filepath.Join(dir, p.File))
		f, err := safetensors.Open(bytes.NewReader(data), int64(len(data)))
		law.Check(t, err)
		for _, info := range f.Tensors() {
			if !strings.HasSuffix(info.Name, ".state") {
				continue
			}
			state, err := safetensors.Read[float32](f, info.Name)
			law.Check(t, err)
			if slices.ContainsFunc(state, func(v float32) bool { return v != 0 }) {
				return true
			}
		}
	}
	return false
}

// TestRestoreIsTheSameEverywhere: a role that began from something else than the others is refused, whichever it is.
func TestRestoreIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	adam := optimizer.Adam{LR: 0.05}
	from, model := mixedCheckpoint(t, adam)
	other, _ := mixedCheckpoint(t, adam)
	role := func(server, first, rest string) func(*fleet.Fleet) string {
		return func(f *fleet.Fleet) string {
			switch {
			case f.IsServer() && f.ServerIndex() == 0:
				return server
			case f.IsServer():
				return rest
			case f.IsFirstWorker() || f.ServerNum() > 0:
				return first
			}
			return rest
		}
	}
	for name, c := range map[string]struct {
		servers, workers int
		from             func(*fleet.Fleet) string
		says             string // of worker 0's error
	}{
		"only workers":              {2, 1, role("", from, ""), "server 0 began from nothing"},
		"workers, another":          {1, 1, role(model, from, ""), "server 0 began from " + model},
		"one server anew":           {2, 1, role(from, "", ""), "server 1 began from nothing, server 0 from checkpoint"},
		"servers of two":            {2, 1, role(from, "", other), "server 1 began from checkpoint"},
		"collective, one anew":      {0, 2, role("", from, ""), "without Restore or LoadModel"},
		"collective, one a model":   {0, 2, role("", from, model), "saved model"},
		"collective, checkpoints":   {0, 2, role("", from, other), "checkpoint"},
		"collective, the first new": {0, 2, role("", "", model), "saved model"},
	} {
		t.Run(name, func(t *testing.T) {
			over, end := context.WithCancel(t.Context())
			errs := fleettest.Cluster{Servers: c.servers, Workers: c.workers}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				job := restoring{from: c.from, rule: adam, s: strategy.Sync(), model: t.TempDir()}
				if f.IsServer() {
					return job.run(over, f)
				}
				defer end()
				return job.run(ctx, f)
			})
			if err := errs["worker 0"]; err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "fleet: InitWorker: worker 0") {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

// TestRestoreRefuses says what is wrong with a directory or a call before it changes anything.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	from, model := mixedCheckpoint(t, optimizer.Adam{LR: 0.05})
	ctx := t.Context()
	for want, try := range map[string]func(f *fleet.Fleet) error{
		"set WeightsOnly of RestoreOptions": func(f *fleet.Fleet) error { return f.Restore(ctx, from, fleet.RestoreOptions{}) },
		"and no saved model":                func(f *fleet.Fleet) error { return f.Restore(ctx, t.TempDir(), fleet.RestoreOptions{}) },
		`param "nobody"`: func(f *fleet.Fleet) error {
			return f.Restore(ctx, model, fleet.RestoreOptions{Params: []string{"nobody"}})
		},
		"directory's name is empty": func(f *fleet.Fleet) error { return f.Restore(ctx, "", fleet.RestoreOptions{Params: []string{"open"}}) },
		"s3://bucket":               func(f *fleet.Fleet) error { return f.Restore(ctx, "s3://bucket/model", fleet.RestoreOptions{}) },
		"Restore was called already": func(f *fleet.Fleet) error {
			return errors.Join(f.Restore(ctx, model, fleet.RestoreOptions{}), f.Restore(ctx, model, fleet.RestoreOptions{}))
		},
	} {
		_, loss := trial.Mixed()
		f := alone(t, loss)
		if err := try(f); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "fleet: Restore") {
			t.Errorf("got %v, want %q", err, want)
		}
		if err := f.InitWorker(ctx); err != nil {
			t.Errorf("after %q the job can't begin anew: %v", want, err)
		}
	}
}

// alone is a process alone that minimises a loss by SGD.
func alone(t *testing.T, loss *nn.Node) *fleet.Fleet {
	t.Helper()
	f, err := fleet.New(t.Context(), nil, fleet.Options{})
	if err == nil {
		err = trial.Minimize(f, loss, optimizer.SGD{LR: 0.1}, strategy.Sync())
	}
	law.Check(t, err)
	return f
}

// TestHalfALoadIsNotTrained: a process that read a part of a checkpoint before it turned out to be damaged neither trains with
// that nor hands it on, until it has read a whole one.
//
// Promise: [G6] what was loaded in part is not trained, what is bad is refused
// Also: TestBadCheckpointIsRefused
func TestHalfALoadIsNotTrained(t *testing.T) {
	t.Parallel()
	good, _ := mixedCheckpoint(t, optimizer.SGD{LR: 0.1})
	bad := t.TempDir()
	law.Check(t, os.CopyFS(bad, os.DirFS(good)))
	parts, err := filepath.Glob(filepath.Join(bad, "part-*"))
	if err != nil || len(parts) != 2 {
		t.Fatalf("parts %v, error %v", parts, err)
	}
	law.Check(t, os.Truncate(parts[1], 100))
	_, loss := trial.Mixed()
	f := alone(t, loss)
	if err := f.LoadModel(t.Context(), bad); err == nil {
		t.Error("a damaged checkpoint was loaded")
	}
	if _, err := nn.NewExecutor(loss.Graph()).Train(t.Context(), trial.MixedBatch(2, 0)); err == nil || !strings.Contains(err.Error(), "load them again") {
		t.Errorf("training: got %v", err)
	}
	out := t.TempDir()
	for call, err := range map[string]error{"SavePersistables": f.SavePersistables(t.Context(), out), "InitWorker": f.InitWorker(t.Context()),
		"SaveInferenceModel": f.SaveInferenceModel(t.Context(), out, nn.Inference(loss)), "Rows": weights.WriteText(io.Discard, f.Rows(t.Context(), "emb"))} {
		if err == nil || !strings.Contains(err.Error(), "fleet: "+call+": a part of the weights was loaded before that failed, load them again") {
			t.Errorf("%s: got %v", call, err)
		}
	}
	if err := f.LoadModel(t.Context(), good); err != nil {
		t.Error(err)
	}
	if _, err := nn.NewExecutor(loss.Graph()).Train(t.Context(), trial.MixedBatch(2, 0)); err != nil {
		t.Errorf("after a whole load: %v", err)
	}
}

// TestLoadBetweenSteps: a session that has trained already goes on from what was loaded.
func TestLoadBetweenSteps(t *testing.T) {
	t.Parallel()
	from, rule := t.TempDir(), optimizer.SGD{LR: 0.1}
	trial.Training{Strategy: strategy.Sync(), To: 3, Save: from}.On(t, trial.Cluster(1, 1))
	x := trial.Training{Rule: rule, Strategy: strategy.Sync(), To: 1}
	x.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
		if err := o.Train(ctx, trial.Samples(2, 0), nil); err != nil {
			return err
		}
		if err := f.LoadModel(ctx, from, "w", "emb"); err == nil || !strings.Contains(err.Error(), "WeightsOnly") {
			t.Errorf("a checkpoint of Adam: %v", err)
		}
		if err := f.Restore(ctx, from, fleet.RestoreOptions{WeightsOnly: true}); err != nil {
			return err
		}
		st := o.Step(trial.Samples(2, 0), nil)
		st.Eval = true
		return trial.Step(ctx, o.Session, st, func() {
			if want := loadedWeights(t, from, "b"); !slices.Equal(o.B.W, want) {
				t.Errorf("the session has %v, want %v", o.B.W, want)
			}
		})
	}
	x.On(t, trial.Cluster(0, 1))
}

// loadedWeights are those of a dense param that is whole in a checkpoint of one server.
func loadedWeights(t *testing.T, dir, name string) []float32 {
	t.Helper()
	part := trial.Read(t, filepath.Join(dir, trial.Manifest(t, dir).Parts[0].File))
	f, err := safetensors.Open(bytes.NewReader(part), int64(len(part)))
	law.Check(t, err)
	for _, info := range f.Tensors() {
		if strings.HasPrefix(info.Name, name+"[") || info.Name == name {
			return trial.Tensor[float32](t, part, info.Name)
		}
	}
	t.Fatalf("no tensor of %s", name)
	return nil
}
