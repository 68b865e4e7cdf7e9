package train_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// writes are the kinds of files that a job writes, by what their names contain.
var writes = []string{"out/curves.svg", "out/history.csv", "out/calibration.svg", "out/run.json", "out/best.json", "out/model/graph.json",
	"out/model/signature.json", "out/model/weights.safetensors", "out/model/model.json", "out/checkpoint/part-", "out/checkpoint/manifest.json",
	"out/checkpoint/job.lock", "ck/ckpt-000001/part-", "ck/ckpt-000001/manifest.json", "ck/job.lock", "ck/job.over"}

// TestOneFailedWriteEndsNoJob: whatever a job writes, one write of it that fails, or whose answer is lost, ends neither training nor the
// job: it says which, and everything is there in the end.
//
// Promise: [G6] no failed write of what describes a job ends it
func TestOneFailedWriteEndsNoJob(t *testing.T) {
	// Serial: it takes over the process's log.
	trial.Slow(t)
	defer slog.SetDefault(slog.Default())
	play := func(fault func(storetest.Request) storetest.Fault, log *trial.Log) (m *storetest.Memory) {
		slog.SetDefault(log.Logger())
		synctest.Test(t, func(t *testing.T) {
			m = storetest.NewMemory()
			dir := storetest.Mount(t, m)
			m.SetFault(fault)
			cluster := fleettest.Cluster{Servers: 2, Workers: 2, Endpoints: []string{"server-0:1", "server-1:1"}}
			cluster.Options.Transport, cluster.Options.Logger = transport.NewMemory(), log.Logger()
			cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				j := job(train.Options{Mode: "sync", Epochs: 3, Batch: 16, EvalEvery: 5, Patience: 50, Out: dir + "/out", Checkpoint: dir + "/ck"})
				j.Stdout = io.Discard
				_, err := j.Run(ctx, f)
				return err
			})
			m.SetFault(nil)
			if _, err := serve.Version(dir + "/out/model"); err != nil {
				t.Error(err)
			}
			if _, err := checkpoints.Latest(dir + "/ck"); err != nil {
				t.Error(err)
			}
		})
		return m
	}
	whole := play(nil, new(trial.Log))
	for _, c := range whole.Changes() {
		known := func(kind string) bool { return strings.Contains(strings.ReplaceAll(c.Name, "2/", "1/"), kind) }
		if !c.Removed && !slices.ContainsFunc(writes, known) && !strings.Contains(c.Name, "/ckpt-") && !strings.Contains(c.Name, ".writable-") {
			t.Errorf("%s is written, and no kind of write is like that", c.Name)
		}
	}
	for _, kind := range writes {
		for _, lost := range []bool{false, true} {
			var failed atomic.Bool
			var log trial.Log
			m := play(func(r storetest.Request) storetest.Fault {
				if r.Op == "put" && strings.Contains(r.Name, kind) && !failed.Swap(true) {
					return storetest.Fault{Err: errors.New("no luck"), Lost: lost}
				}
				return storetest.Fault{}
			}, &log)
			if !failed.Load() {
				t.Errorf("%s is never written", kind)
			}
			for _, file := range whole.Names() {
				if plain := strings.HasPrefix(file, "test/out/") && filepath.Dir(file) == "test/out"; plain && m.Content(file) == nil {
					t.Errorf("%s fails once: there is no %s", kind, file)
				}
			}
			if !strings.Contains(log.String(), "no luck") && !lost {
				t.Errorf("%s fails once, and nothing says so:\n%s", kind, log.String())
			}
		}
	}
}

// TestASlowStoreStopsNoTraining: where each request takes 4 s, steps go on at their pace while checkpoints are written, and at the end
// of an epoch they wait for two seconds at most; a line says what they have waited for.
//
// Promise: [G6] a slow store stops no training
func TestASlowStoreStopsNoTraining(t *testing.T) {
	// Serial: it takes over the process's log.
	trial.Slow(t)
	defer slog.SetDefault(slog.Default())
	for name, k := range map[string]struct {
		mode             string
		servers, workers int
	}{"sync": {"sync", 2, 2}, "async": {"async", 2, 2}, "geo": {"geo", 1, 2}, "collective": {"sync", 0, 2}, "alone": {"sync", 0, 1}} {
		var log trial.Log
		slog.SetDefault(log.Logger())
		synctest.Test(t, func(t *testing.T) {
			m := storetest.NewMemory()
			dir := storetest.Mount(t, m) + "/ck"
			m.SetFault(func(storetest.Request) storetest.Fault { time.Sleep(4 * time.Second); return storetest.Fault{} })
			cluster := fleettest.Cluster{Servers: k.servers, Workers: k.workers, Endpoints: []string{"server-0:1", "server-1:1"}[:k.servers]}
			cluster.Options.Transport, cluster.Options.Logger = transport.NewMemory(), log.Logger()
			var last time.Time
			var within, between time.Duration
			steps := func(_ context.Context, r *train.Run, so nn.TrainResult) error {
				if r.Fleet.WorkerIndex() > 0 {
					return nil
				}
				took := time.Since(last)
				switch {
				case so.Steps > 1:
					within = max(within, took)
				case r.Epoch > 0:
					between = max(between, took)
				}
				time.Sleep(100 * time.Millisecond)
				last = time.Now()
				return nil
			}
			cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				j := job(train.Options{Mode: k.mode, Epochs: 6, Batch: 8, Checkpoint: dir})
				st, err := j.Options.Strategy()
				if err != nil {
					return err
				}
				st.Recovery.Every = strategy.Duration(1500 * time.Millisecond)
				j.Strategy, j.Stdout, j.Hooks = &st, io.Discard, []train.Hooks{{Step: steps}}
				_, err = j.Run(ctx, f)
				return err
			})
			m.SetFault(nil)
			if within > 200*time.Millisecond || between > 2500*time.Millisecond {
				t.Errorf("%s: a step waits for %v, an epoch for %v\n%s", name, within, between, log.String())
			}
			if said := log.Lines("training goes on"); len(said) == 0 {
				t.Errorf("%s: nothing says what is slow:\n%s", name, log.String())
			}
			if c, err := checkpoints.Latest(dir); err != nil || c.Progress.Epoch != 6 {
				t.Errorf("%s: the last checkpoint is of epoch %d, error %v", name, c.Progress.Epoch, err)
			}
		})
	}
}

// TestForeignFilesStay: files of others in every directory that a job writes stay there, and end neither the job nor its
// checkpoints; each is told of at most once.
//
// Promise: [G6] files of others in a job's directories stay, and end nothing
func TestForeignFilesStay(t *testing.T) {
	// Serial: it takes over the process's log.
	trial.Slow(t)
	defer slog.SetDefault(slog.Default())
	for _, servers := range []int{0, 2} {
		var log trial.Log
		slog.SetDefault(log.Logger())
		root := t.TempDir()
		foreign := map[string]bool{}
		litter := func() error {
			return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.IsDir() || d.Name() == "foreign" {
					return nil // it went meanwhile
				}
				for _, name := range []string{".nfs000000000042", ".DS_Store", "notes.txt"} {
					if os.WriteFile(filepath.Join(path, name), []byte("mine"), 0o666) == nil {
						foreign[filepath.Join(path, name)] = true
					}
				}
				return os.MkdirAll(filepath.Join(path, "foreign"), 0o777)
			})
		}
		newest := ""
		for _, epochs := range []int{6, 9} {
			cluster := fleettest.Cluster{Servers: servers, Workers: 1, Options: fleet.Options{Logger: log.Logger()}}
			cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				j := job(train.Options{Mode: "async", Epochs: epochs, Batch: 16, Patience: 50, Out: root + "/out", Checkpoint: root + "/ck",
					TensorBoard: root + "/board"})
				if servers > 0 {
					st, err := j.Options.Strategy()
					if err != nil {
						return err
					}
					st.Recovery.Journal, st.Recovery.JournalDir = "process", root+"/journal"
					j.Strategy = &st
				}
				j.Stdout = io.Discard
				j.Hooks = []train.Hooks{{EpochBegin: func(context.Context, *train.Run) error { return litter() }}}
				_, err := j.Run(ctx, f)
				return err
			})
			c, err := checkpoints.Latest(root + "/ck")
			if err != nil {
				t.Fatal(err)
			}
			if name := filepath.Base(c.Dir); name <= newest || name < fmt.Sprintf("ckpt-%06d", epochs) {
				t.Errorf("%d servers: the newest is %s after %d epochs", servers, c.Dir, epochs)
			} else {
				newest = name
			}
			if _, err := serve.Version(root + "/out/model"); err != nil {
				t.Error(err)
			}
		}
		for path := range foreign {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s is gone: %v", path, err)
			}
		}
		said := map[string]int{}
		for _, line := range log.Lines("could not be removed") {
			_, of, _ := strings.Cut(line, "dir=")
			of, _, _ = strings.Cut(of, " ")
			if said[of]++; said[of] > 2 { // two processes
				t.Errorf("told of %d times: %s", said[of], line)
			}
		}
	}
}
