//go:build unix

package fleet_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestFilesAreAsOpenAsTheUmask: what a job leaves is no more open than the umask allows, nor less, but for its journals, which are their
// owner's alone.
//
// Promise: [G12] no file is more open than the umask allows, and journals are their owner's alone
func TestFilesAreAsOpenAsTheUmask(t *testing.T) {
	// Serial: it sets the process's umask.
	trial.Slow(t)
	for _, mask := range []fs.FileMode{0o077, 0o027, 0o022, 0o002} {
		defer syscall.Umask(syscall.Umask(int(mask)))
		dir := t.TempDir()
		s := strategy.Strategy{Mode: strategy.ModeSync}
		s.Recovery = strategy.Recovery{Dir: filepath.Join(dir, "own"), Every: strategy.Duration(time.Hour),
			Journal: strategy.JournalProcess, JournalDir: filepath.Join(dir, "journal")}
		seen := map[string]int{}
		trial.Cluster(2, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
			out, loss := trial.Mixed()
			return trial.PlayGraph(ctx, f, loss, optimizer.Adam{}, s, func(exe *nn.Executor) error {
				_, err := exe.Train(ctx, trial.MixedBatch(8, 0))
				return first(func() error { return err }, func() error { return f.Checkpoint(ctx) },
					func() error { return f.SavePersistables(ctx, filepath.Join(dir, "named", "deep")) },
					func() error { return f.SaveInferenceModel(ctx, filepath.Join(dir, "model"), nn.Inference(out)) },
					func() error { return filepath.WalkDir(dir, modes(t, dir, mask, seen)) })
			})
		})
		if seen["journal"] < 5 || seen["own"] < 4 || seen["named"] < 4 || seen["model"] < 3 {
			t.Fatalf("files and directories: %v, there must be more", seen)
		}
	}
}

// modes finds what is more open than it is to be, or less.
func modes(t *testing.T, dir string, mask fs.FileMode, seen map[string]int) fs.WalkDirFunc {
	return func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		kind, _, _ := strings.Cut(name, string(filepath.Separator))
		seen[kind]++
		want := 0o666 &^ mask
		switch {
		case kind == "journal" && d.IsDir():
			want = 0o700
		case kind == "journal":
			want = 0o600
		case d.IsDir():
			want = 0o777 &^ mask
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("with umask %03o %s is %v, want %v", mask, name, got, want)
		}
		return nil
	}
}
