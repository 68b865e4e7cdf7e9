package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// leg is a part of a training that is interrupted: steps [from, to) of it, out of and into a checkpoint.
type leg struct {
	from, to   int
	load, save string // directories, empty for none
	later      bool   // servers load by LoadModel
	model      string // where worker 0 saves the model at the end
}

// run runs a leg on every role of a cluster.
func (l leg) run(ctx context.Context, f *fleet.Fleet, rule optimizer.Rule, s strategy.Strategy) error {
	o := newToy()
	opt, err := f.DistributedOptimizer(rule, s)
	if err != nil {
		return err
	}
	if err := opt.Minimize(o); err != nil {
		return err
	}
	if f.IsServer() {
		if err := l.initServer(ctx, f); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if err := l.begin(ctx, f); err != nil {
		return err
	}
	for i := l.from; i < l.to; i++ {
		share := 24 / f.WorkerNum()
		if err := o.train(ctx, samples(24, i)[f.WorkerIndex()*share:][:share], nil); err != nil {
			return err
		}
	}
	if err := o.session.Close(ctx); err != nil {
		return err
	}
	if err := l.end(ctx, f, o); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}

func (l leg) initServer(ctx context.Context, f *fleet.Fleet) error {
	if !l.later {
		return f.InitServer(ctx, l.load)
	}
	if err := f.InitServer(ctx, ""); err != nil {
		return err
	}
	return f.LoadModel(ctx, l.load)
}

func (l leg) begin(ctx context.Context, f *fleet.Fleet) error {
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	if l.load != "" && f.IsLocal() {
		return f.LoadModel(ctx, l.load)
	}
	return nil
}

// end saves what the leg is to save. Every worker asks for the checkpoint, so that one of them must act.
func (l leg) end(ctx context.Context, f *fleet.Fleet, o *toy) error {
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	if l.save != "" {
		if err := f.SavePersistables(ctx, l.save); err != nil {
			return err
		}
	}
	if l.model == "" || !f.IsFirstWorker() {
		return nil
	}
	return f.SaveInferenceModel(ctx, l.model, o)
}

// on runs the leg on a cluster in memory; 0 servers mean one process.
func (l leg) on(t *testing.T, servers, workers int, s strategy.Strategy) {
	t.Helper()
	fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
		return l.run(ctx, f, optimizer.Adam{LR: 0.01}, s)
	})
}

// TestResumeEqualsNeverStopping saves with two servers and goes on with as many, fewer, more, or none.
func TestResumeEqualsNeverStopping(t *testing.T) {
	whole := t.TempDir()
	leg{to: 8, model: whole}.on(t, 2, 2, strategy.Sync())
	want := read(t, filepath.Join(whole, "weights.safetensors"))
	half := t.TempDir()
	leg{to: 4, save: half}.on(t, 2, 2, strategy.Sync())
	for name, servers := range map[string]int{"one server": 1, "two": 2, "three": 3} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			leg{from: 4, to: 8, load: half, model: dir, later: servers == 2}.on(t, servers, 2, strategy.Sync())
			if got := read(t, filepath.Join(dir, "weights.safetensors")); !bytes.Equal(want, got) {
				t.Errorf("weights differ by up to %g", distance(t, want, got))
			}
		})
	}
	t.Run("alone", func(t *testing.T) {
		dir := t.TempDir()
		leg{from: 4, to: 8, load: half, model: dir}.on(t, 0, 0, strategy.Sync())
		if far := distance(t, want, read(t, filepath.Join(dir, "weights.safetensors"))); far > 1e-5 {
			t.Errorf("weights differ by up to %g", far)
		}
	})
}

func TestLocalResume(t *testing.T) {
	whole, half, resumed := t.TempDir(), t.TempDir(), t.TempDir()
	leg{to: 6, model: whole}.on(t, 0, 0, strategy.Async())
	leg{to: 3, save: half}.on(t, 0, 0, strategy.Async())
	leg{from: 3, to: 6, load: half, model: resumed}.on(t, 0, 0, strategy.Async())
	want, got := read(t, filepath.Join(whole, "weights.safetensors")), read(t, filepath.Join(resumed, "weights.safetensors"))
	if !bytes.Equal(want, got) {
		t.Errorf("weights differ by up to %g", distance(t, want, got))
	}
}

// TestAsyncSaveByAll has all workers save at once: the checkpoint holds what the model did at that moment.
func TestAsyncSaveByAll(t *testing.T) {
	saved, model, loaded := t.TempDir(), t.TempDir(), t.TempDir()
	leg{to: 5, save: saved, model: model}.on(t, 2, 3, strategy.Async())
	m, err := checkpoint.Read(saved)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Parts) != 2 || m.Step == 0 {
		t.Errorf("%d parts at step %d, want 2 after training", len(m.Parts), m.Step)
	}
	leg{from: 5, to: 6, load: saved, model: loaded}.on(t, 1, 1, strategy.Async())
	before, after := tensor[float32](t, read(t, filepath.Join(model, "weights.safetensors")), "w"), tensor[float32](t, read(t, filepath.Join(loaded, "weights.safetensors")), "w")
	for i := range before {
		if d := before[i] - after[i]; d < -0.02 || d > 0.02 { // one step of Adam moves a weight by about LR
			t.Errorf("w[%d] was %g when saved, %g a step after loading", i, before[i], after[i])
		}
	}
}

// TestBadCheckpointIsRefused has a server start from directories that are no checkpoint.
func TestBadCheckpointIsRefused(t *testing.T) {
	good := t.TempDir()
	leg{to: 2, save: good}.on(t, 2, 1, strategy.Sync())
	tests := map[string]struct {
		spoil func(t *testing.T, dir string)
		want  error
		says  string
	}{
		"empty":         {func(t *testing.T, dir string) { remove(t, dir, "manifest.json") }, checkpoint.ErrNone, "manifest.json"},
		"flipped bit":   {func(t *testing.T, dir string) { flip(t, parts(t, dir)[1]) }, checkpoint.ErrDamaged, "part-"},
		"missing part":  {func(t *testing.T, dir string) { remove(t, parts(t, dir)[0]) }, checkpoint.ErrDamaged, "it is missing"},
		"torn manifest": {func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, "manifest.json")) }, checkpoint.ErrDamaged, "manifest.json"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			test.spoil(t, dir)
			err := loading(t, dir, optimizer.Adam{LR: 0.01})
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "fleet: LoadModel") {
				t.Errorf("got %v, want %v about %s", err, test.want, test.says)
			}
		})
	}
	if err := loading(t, good, optimizer.SGD{LR: 0.1}); err == nil || !strings.Contains(err.Error(), "rule") {
		t.Errorf("another rule's checkpoint: %v", err)
	}
	if err := loading(t, good, optimizer.Adam{LR: 0.01}); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

// loading loads a checkpoint alone.
func loading(t *testing.T, dir string, rule optimizer.Rule) error {
	errs := fleettest.Cluster{}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		opt, err := f.DistributedOptimizer(rule, strategy.Sync())
		if err != nil {
			return err
		}
		if err := opt.Minimize(newToy()); err != nil {
			return err
		}
		return f.LoadModel(ctx, dir)
	})
	return errs["worker 0"]
}

func parts(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "part-*.safetensors"))
	if err != nil || len(names) != 2 {
		t.Fatalf("parts %v, %v", names, err)
	}
	return names
}

func remove(t *testing.T, name ...string) {
	t.Helper()
	if err := os.Remove(filepath.Join(name...)); err != nil {
		t.Fatal(err)
	}
}

// flip changes a byte in the middle of a file.
func flip(t *testing.T, name string) {
	t.Helper()
	data := read(t, name)
	data[len(data)/2] ^= 0x80
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// truncate keeps the first half of a file.
func truncate(t *testing.T, name string) {
	t.Helper()
	data := read(t, name)
	if err := os.WriteFile(name, data[:len(data)/2], 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestInterruptedSaveLeavesTheOldOne leaves a part of a save that never ended beside a checkpoint: it is not read, and the
// next save clears it away.
func TestInterruptedSaveLeavesTheOldOne(t *testing.T) {
	dir := t.TempDir()
	leg{to: 2, save: dir}.on(t, 2, 1, strategy.Sync())
	stray := filepath.Join(dir, checkpoint.PartName("9-unfinished", 0, 2))
	if err := os.WriteFile(stray, []byte("half of a part"), 0o644); err != nil {
		t.Fatal(err)
	}
	old := manifest(t, dir)
	leg{from: 2, to: 3, load: dir, save: dir}.on(t, 2, 1, strategy.Sync())
	if _, err := os.Stat(stray); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stray part is still there after a save: %v", err)
	}
	for _, name := range parts(t, dir) {
		for _, p := range old.Parts {
			if filepath.Base(name) == p.File {
				t.Errorf("part %s of the old checkpoint is still there", p.File)
			}
		}
	}
}

func manifest(t *testing.T, dir string) checkpoint.Manifest {
	t.Helper()
	m, err := checkpoint.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
