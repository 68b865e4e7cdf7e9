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
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestResumeEqualsNeverStopping saves with two servers and goes on with as many, fewer, more, or none.
func TestResumeEqualsNeverStopping(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	half := t.TempDir()
	want := trial.Training{Strategy: strategy.Sync(), To: 8}.Weights(t, trial.Cluster(2, 2))
	trial.Training{Strategy: strategy.Sync(), To: 4, Save: half}.On(t, trial.Cluster(2, 2))
	rest := trial.Training{Strategy: strategy.Sync(), From: 4, To: 8, Load: half}
	for name, servers := range map[string]int{"one server": 1, "two": 2, "three": 3} {
		t.Run(name, func(t *testing.T) {
			rest := rest
			rest.Later = servers == 2
			if got := rest.Weights(t, trial.Cluster(servers, 2)); !bytes.Equal(want, got) {
				t.Errorf("weights differ by up to %g", trial.Distance(t, want, got))
			}
		})
	}
	t.Run("alone", func(t *testing.T) {
		if far := trial.Distance(t, want, rest.Weights(t, trial.Cluster(0, 0))); far > 1e-5 {
			t.Errorf("weights differ by up to %g", far)
		}
	})
}

func TestLocalResume(t *testing.T) {
	t.Parallel()
	alone, half := trial.Cluster(0, 0), t.TempDir()
	want := trial.Training{Strategy: strategy.Async(), To: 6}.Weights(t, alone)
	trial.Training{Strategy: strategy.Async(), To: 3, Save: half}.On(t, alone)
	if got := (trial.Training{Strategy: strategy.Async(), From: 3, To: 6, Load: half}).Weights(t, alone); !bytes.Equal(want, got) {
		t.Errorf("weights differ by up to %g", trial.Distance(t, want, got))
	}
}

// TestAsyncSaveByAll has all workers save at once: the checkpoint holds what the model did at that moment.
//
// Promise: [G6] a cut is the same steps everywhere, saved by all or by one, beside training
// Also: TestSaveWhereAServerHasNothing, TestSavesBesideTraining, TestWindowReached (internal/roster),
// TestARestartedWorkerEndsItsSave (internal/server), TestLedScripts (internal/cut), TestFollowerScripts
// (internal/cut), TestCutsOutliveEveryEnd (internal/cut)
func TestAsyncSaveByAll(t *testing.T) {
	t.Parallel()
	saved := t.TempDir()
	model := trial.Training{Strategy: strategy.Async(), To: 5, Save: saved}.Weights(t, trial.Cluster(2, 3))
	if m := trial.Manifest(t, saved); len(m.Parts) != 2 || m.Step == 0 {
		t.Errorf("%d parts at step %d, want 2 after training", len(m.Parts), m.Step)
	}
	loaded := trial.Training{Strategy: strategy.Async(), From: 5, To: 6, Load: saved}.Weights(t, trial.Cluster(1, 1))
	before, after := trial.Tensor[float32](t, model, "w"), trial.Tensor[float32](t, loaded, "w")
	for i := range before {
		if d := before[i] - after[i]; d < -0.02 || d > 0.02 { // one step of Adam moves a weight by about LR
			t.Errorf("w[%d] was %g when saved, %g a step after loading", i, before[i], after[i])
		}
	}
}

// TestBadCheckpointIsRefused has a server start from directories that are no checkpoint.
func TestBadCheckpointIsRefused(t *testing.T) {
	t.Parallel()
	good := t.TempDir()
	trial.Training{Strategy: strategy.Sync(), To: 2, Save: good}.On(t, trial.Cluster(2, 1))
	manifest := func(_ *testing.T, dir string) string { return filepath.Join(dir, "manifest.json") }
	part := func(i int) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string { return parts(t, dir)[i] }
	}
	tests := map[string]struct {
		file  func(t *testing.T, dir string) string
		spoil func([]byte) []byte // nil removes the file
		want  error
		says  string
	}{
		"empty":         {manifest, nil, checkpoint.ErrNone, "manifest.json"},
		"flipped bit":   {part(1), func(b []byte) []byte { b[len(b)/2] ^= 0x80; return b }, checkpoint.ErrDamaged, "part-"},
		"missing part":  {part(0), nil, checkpoint.ErrDamaged, "it is missing"},
		"torn manifest": {manifest, func(b []byte) []byte { return b[:len(b)/2] }, checkpoint.ErrDamaged, "manifest.json"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			law.Check(t, os.CopyFS(dir, os.DirFS(good)))
			file := test.file(t, dir)
			data := trial.Read(t, file)
			err := os.Remove(file)
			if test.spoil != nil {
				err = os.WriteFile(file, test.spoil(data), 0o644)
			}
			law.Check(t, err)
			err = loading(t, dir, optimizer.Adam{LR: 0.01})
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
	return fleettest.Cluster{}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		if err := trial.Minimize(f, trial.NewToy(), rule, strategy.Sync()); err != nil {
			return err
		}
		return f.LoadModel(ctx, dir)
	})["worker 0"]
}

func parts(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "part-*.safetensors"))
	if err != nil || len(names) != 2 {
		t.Fatalf("parts %v, %v", names, err)
	}
	return names
}

// TestInterruptedSaveLeavesTheOldOne leaves a part of a save that never ended beside a checkpoint: it is not read, and the
// next save clears it away.
//
// Promise: [G6] a save that fails or is cut short leaves the old checkpoint, and no files
// Also: TestFailedSavesLeaveNothing
func TestInterruptedSaveLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trial.Training{Strategy: strategy.Sync(), To: 2, Save: dir}.On(t, trial.Cluster(2, 1))
	stray := filepath.Join(dir, checkpoint.PartName("9-unfinished", 0, 2))
	law.Check(t, os.WriteFile(stray, []byte("half of a part"), 0o644))
	old := trial.Manifest(t, dir)
	trial.Training{Strategy: strategy.Sync(), From: 2, To: 3, Load: dir, Save: dir}.On(t, trial.Cluster(2, 1))
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
