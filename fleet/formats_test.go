package fleet_test

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// What a build has once written every later build reads. testdata has an archive for each commit that wrote:
// checkpoints, models, journals and frames, and beside them what was in them, as the job that wrote them knew it. No
// archive is ever written again:
//
//	go test ./fleet -run TestWriteFormats -write-formats=$(git rev-parse --short HEAD)
//
// adds one. Package server reads its journals, and package wire its frames.
var writeFormats = flag.String("write-formats", "",
	"TestWriteFormats writes what this build writes into testdata/formats-NAME.zip, which is new")

// formatsWritten are directories with what is in the archives, by the archive's name.
func formatsWritten(t *testing.T) map[string]string {
	t.Helper()
	all, err := filepath.Glob("testdata/formats-*.zip")
	if err != nil || len(all) == 0 {
		t.Fatalf("no formats in testdata (%v)", err)
	}
	dirs := map[string]string{}
	for _, name := range all {
		z, err := zip.OpenReader(name)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		dirs[name] = t.TempDir()
		if err := os.CopyFS(dirs[name], z); err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

// formatsModel has params of every kind: cut, frozen, rows for all ids, of a height, behind a count, and rated.
func formatsModel() *trial.Pulled {
	first := optimizer.Uniform{Low: -1, High: 1}
	mean := trial.Dense("mean", first, 3)
	mean.Frozen, mean.G = true, nil
	counted, shown := trial.Embedding("counted", first, 0, 2), trial.Embedding("shown", first, 0, 2)
	counted.Entry = optimizer.Entry{CountFilter: 2}
	shown.Entry = optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 0.3}}
	return &trial.Pulled{Objective: trial.Objective{List: []*optimizer.Param{
		trial.Dense("w", first, 5, 3), mean, trial.Embedding("plain", first, 0, 3), trial.Embedding("high", first, 20, 2),
		counted, shown}}}
}

// formatsRule has a rule of its own for most params.
func formatsRule() optimizer.Rule {
	return optimizer.PerParam{Rule: optimizer.Adam{LR: 0.05}, By: map[string]optimizer.Rule{
		"plain": optimizer.Adagrad{LR: 0.1}, "high": optimizer.Momentum{LR: 0.05},
		"shown": optimizer.SparseSharedAdam{LR: 0.05}}}
}

// formatsStep trains one step, which is another one for every number and worker.
func formatsStep(ctx context.Context, s optimizer.Session, m *trial.Pulled, n, worker int) error {
	ids := []uint64{uint64(n % 3), uint64(3 + worker), uint64(8 + n%5)}
	st := m.Step(trial.Batch{X: float32(n*3%7)/4 - 0.5, Samples: 2 + worker, IDs: [][]uint64{ids, ids, ids, ids}}, nil)
	st.Rows[3].Show, st.Rows[3].Click = []float32{2, 1, 1}, []float32{1, 0, 0}
	if err := s.Begin(ctx, st); err != nil {
		return err
	}
	if err := m.Gradients(st, float32(n*3%7)/4-0.5); err != nil {
		return err
	}
	return s.End(ctx, st)
}

// formatsValues are all weights: those of dense params as a row 0.
type formatsValues map[string]map[uint64][]float32

func valuesOf(ctx context.Context, f *fleet.Fleet, m *trial.Pulled) (formatsValues, error) {
	all := formatsValues{}
	var none []optimizer.Rows
	for _, p := range m.List {
		if p.Embedding {
			none = append(none, trial.RowsOf(p, nil))
		}
	}
	err := m.InSession(ctx, func(s optimizer.Session) error { return trial.Look(ctx, s, none...) })
	for _, p := range m.List {
		all[p.Name] = map[uint64][]float32{}
		if !p.Embedding {
			all[p.Name][0] = slices.Clone(p.W)
			continue
		}
		for row, e := range f.Rows(ctx, p.Name) {
			if e != nil {
				return nil, errors.Join(err, e)
			}
			all[p.Name][row.ID] = slices.Clone(row.W)
		}
	}
	return all, err
}

// differs says where weights are others than those that were written down.
func (v formatsValues) differs(want formatsValues, params ...string) error {
	for name, rows := range want {
		if len(params) > 0 && !slices.Contains(params, name) {
			continue
		}
		if got, want := slices.Sorted(maps.Keys(v[name])), slices.Sorted(maps.Keys(rows)); !slices.Equal(got, want) {
			return fmt.Errorf("%s has rows %v, want %v", name, got, want)
		}
		for id, row := range rows {
			if !slices.Equal(v[name][id], row) {
				return fmt.Errorf("%s, row %d, is %v, want %v", name, id, v[name][id], row)
			}
		}
	}
	return nil
}

// formatsCheckpoint is what was in a checkpoint.
type formatsCheckpoint struct {
	Dir   string
	Job   string // of formatsJobs
	Next  int    // the number of the step that came next
	Saved formatsValues
	After formatsValues // two more steps
}

// formatsRecord is formats.json.
type formatsRecord struct {
	Checkpoints []formatsCheckpoint
	Models      map[string]string // what base and deltas say, by how many deltas there are
}

// formatsJob is a job that saves, and loads what it has saved.
type formatsJob struct {
	cluster  fleettest.Cluster
	strategy strategy.Strategy
	rule     optimizer.Rule
	model    func() *trial.Pulled
	own      bool // checkpoints are the job's own: one is whole and others are based on it
}

func formatsJobs() map[string]formatsJob {
	small := strategy.Strategy{Mode: strategy.ModeSync, MinBlockSize: 2, SmallBlocks: true}
	merging := small
	merging.GradientMerge = strategy.GradientMerge{KSteps: 2}
	all := map[string]formatsJob{
		"servers": {trial.Cluster(2, 1), small, optimizer.ClipByGlobalNorm{Rule: formatsRule(), Norm: 2},
			formatsModel, true},
		"alone":   {trial.Cluster(0, 1), strategy.Sync(), formatsRule(), formatsModel, true},
		"merging": {trial.Cluster(2, 1), merging, formatsRule(), formatsModel, false},
	}
	few := func() *trial.Pulled {
		m := formatsModel()
		m.List = slices.Delete(m.List, 1, 2)
		return m
	}
	rules := trial.OtherRules()
	maps.Copy(rules, trial.Rules())
	for name, rule := range rules {
		all["rule "+name] = formatsJob{trial.Cluster(1, 1), strategy.Sync(), rule, few, false}
	}
	return all
}

// TestWriteFormats writes what this build writes, when it is told to.
func TestWriteFormats(t *testing.T) {
	// Serial: it changes the working directory.
	if *writeFormats == "" {
		t.Skip("it is not told to (-write-formats)")
	}
	out, err := os.OpenFile("testdata/formats-"+*writeFormats+".zip", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	t.Chdir(t.TempDir()) // so that no file names a directory of this machine
	var r formatsRecord
	for _, name := range slices.Sorted(maps.Keys(formatsJobs())) {
		r.Checkpoints = append(r.Checkpoints, formatsJobs()[name].save(t, name)...)
	}
	r.Models = writeModels(t, "models")
	writeJournals(t)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	if err := first(func() error { return os.WriteFile("formats.json", text, 0o644) }, removeLocks,
		func() error { return z.AddFS(os.DirFS(".")) }, z.Close, out.Close); err != nil {
		t.Fatal(err)
	}
}

// removeLocks removes the files below the working directory that name this machine.
func removeLocks() error {
	return filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			err = os.Remove(path)
		}
		return err
	})
}

// save trains, and saves on the way.
func (j formatsJob) save(t *testing.T, name string) (all []formatsCheckpoint) {
	if j.own {
		j.strategy.Recovery = strategy.Recovery{Dir: filepath.Join("checkpoints", name, "own"), Every: strategy.Duration(time.Hour),
			Keep: 9, Deltas: 9}
	}
	j.cluster.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		m := j.model()
		return trial.Play(ctx, f, m, j.rule, j.strategy, func() (err error) {
			all, err = j.saves(ctx, f, m, name)
			return err
		})
	})
	return all
}

// saves are what the only worker does.
func (j formatsJob) saves(ctx context.Context, f *fleet.Fleet, m *trial.Pulled, name string) (all []formatsCheckpoint,
	err error) {
	next := 0
	train := func(steps int) error {
		return m.InSession(ctx, func(s optimizer.Session) error {
			for ; steps > 0; steps, next = steps-1, next+1 {
				if err := formatsStep(ctx, s, m, next, 0); err != nil {
					return err
				}
			}
			return nil
		})
	}
	saved := func(dir string, save func(dir string) error) error {
		v, err := valuesOf(ctx, f, m)
		if err == nil {
			dir = filepath.Join("checkpoints", name, dir)
			all = append(all, formatsCheckpoint{Dir: dir, Job: name, Next: next, Saved: v})
			err = save(dir)
		}
		return err
	}
	if err := train(4); err != nil {
		return nil, err
	}
	more := func() error { return train(2) }
	after := func() (err error) {
		all[len(all)-1].After, err = valuesOf(ctx, f, m)
		return err
	}
	if !j.own {
		named := func() error {
			return saved("named", func(dir string) error { return f.SavePersistables(ctx, dir) })
		}
		return all, first(named, more, after)
	}
	base := func() error {
		dir := filepath.Join("checkpoints", name, "base")
		return failed(f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: fleet.SaveBase, Model: m}))
	}
	shrink := func() error {
		_, err := f.Shrink(ctx, fleet.ShrinkOptions{Decay: 0.9, Unseen: 2})
		return err
	}
	// Every id was seen in the last two periods but for 2, whose row a model for serving has.
	err = first(base,
		shrink, func() error { next = 6; return train(1) },
		shrink, func() error { next = 9; return train(1) },
		func() error { return f.SetRateFactor(ctx, 0.5) },
		func() error { return f.SetProgress(fleet.Progress{Epoch: 2, User: []byte("mine")}) })
	for i := range 3 {
		own := func() error {
			return saved(fmt.Sprintf("own/ckpt-%06d", i+1), func(string) error { return f.Checkpoint(ctx) })
		}
		if err == nil {
			err = first(own, more, after)
		}
	}
	if err != nil {
		return nil, err
	}
	return all, first(func() error {
		return saved("some", func(dir string) error { return f.SavePersistables(ctx, dir, "w", "plain", "shown") })
	}, func() error {
		return saved("batch", func(dir string) error {
			return failed(f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: fleet.SaveBatch}))
		})
	}, more, after)
}

// TestFormatsOfCheckpoints loads what every build has saved since the formats are kept, by servers and without, and
// trains on: the weights are those of the jobs that saved.
func TestFormatsOfCheckpoints(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	for name, dir := range formatsWritten(t) {
		for _, c := range readFormats(t, dir).Checkpoints {
			j := formatsJobs()[c.Job]
			for how, servers := range trial.SomeOf(t, map[string]int{"alone": 0, "one server": 1, "as saved": j.cluster.Servers}) {
				t.Run(filepath.Join(filepath.Base(name), c.Dir, how), func(t *testing.T) {
					c.check(t, j, servers, filepath.Join(dir, c.Dir))
				})
			}
		}
	}
}

func readFormats(t *testing.T, dir string) (r formatsRecord) {
	t.Helper()
	if err := json.Unmarshal(trial.Read(t, filepath.Join(dir, "formats.json")), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// check loads a checkpoint, and trains on where it has everything.
func (c formatsCheckpoint) check(t *testing.T, j formatsJob, servers int, dir string) {
	var some []string
	if c.After == nil {
		some = []string{"w", "plain", "shown"}
	}
	cluster := trial.Cluster(servers, 1)
	var log trial.Log
	cluster.Options.Logger = log.Logger()
	defer func() {
		if n := len(log.Lines("did not write which rule each param had")); n != max(servers, 1) && trial.Manifest(t, dir).Params[0].Rule == "" {
			t.Errorf("the log of %d servers says %d times what is not known: %s", servers, n, log.String())
		}
	}()
	cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		m := j.model()
		if err := trial.Minimize(f, m, j.rule, j.strategy); err != nil {
			return err
		}
		if err := f.Restore(ctx, dir, fleet.RestoreOptions{Params: some}); err != nil {
			return err
		}
		return trial.Begin(ctx, f, "", func() error {
			got, err := valuesOf(ctx, f, m)
			if err = errors.Join(err, got.differs(c.Saved, some...)); err != nil || some != nil {
				return err
			}
			err = m.InSession(ctx, func(s optimizer.Session) error {
				return errors.Join(formatsStep(ctx, s, m, c.Next, 0), formatsStep(ctx, s, m, c.Next+1, 0))
			})
			if err != nil {
				return err
			}
			if got, err = valuesOf(ctx, f, m); err == nil {
				err = got.differs(c.After)
			}
			if err != nil {
				return fmt.Errorf("trained on: %w", err)
			}
			return nil
		})
	})
}

// first does one thing after the other until one fails.
func first(all ...func() error) error {
	for _, do := range all {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// writeModels writes a base for serving and two deltas, and returns what they say.
func writeModels(t *testing.T, dir string) map[string]string {
	c, says := newClicking(), map[string]string{}
	trial.Cluster(0, 1).Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		return c.play(ctx, f, strategy.Sync(), "", func() error {
			err := errors.Join(c.train(ctx, true, 1, 2, 3), c.base(ctx, f, dir+"/base"),
				c.train(ctx, false, 3, 4), c.delta(ctx, f, dir+"/delta-1"))
			for range 3 {
				_, e := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 2})
				err = errors.Join(err, c.train(ctx, true, 4, 5), e)
			}
			return errors.Join(err, c.delta(ctx, f, dir+"/delta-2"), f.SaveInferenceModel(ctx, dir+"/whole", c.model()))
		})
	})
	for name, deltas := range formatsDeltas(dir) {
		text, err := loaded(deltas[0], deltas[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		says[name] = text
	}
	return says
}

// formatsDeltas are the models in a directory, with the deltas that are read over them.
func formatsDeltas(dir string) map[string][]string {
	return map[string][]string{"base": {dir + "/base"}, "a delta": {dir + "/base", dir + "/delta-1"},
		"two deltas": {dir + "/base", dir + "/delta-1", dir + "/delta-2"}, "whole": {dir + "/whole"}}
}

// TestFormatsOfModels reads the models of every build since the formats are kept: rows, and what they predict.
func TestFormatsOfModels(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for archive, dir := range formatsWritten(t) {
		want := readFormats(t, dir).Models
		for name, deltas := range formatsDeltas(filepath.Join(dir, "models")) {
			if got, err := loaded(deltas[0], deltas[1:]...); err != nil || got != want[name] || got == "" {
				t.Errorf("%s, %s: %s, %v, want %s", archive, name, got, err, want[name])
			}
		}
	}
}
