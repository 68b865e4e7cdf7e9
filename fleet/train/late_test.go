package train_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/strategy"
)

// victim has this test's binary be a program of which the worker of that number ends once, as if it were killed.
const victim = "TRAIN_VICTIM"

// signalled has it train until a signal ends it.
const signalled = "TRAIN_SIGNALLED"

// deserted has it train in sync, with a checkpoint, and wait no longer than seconds for roles that have not joined.
const deserted = "TRAIN_DESERTED"

// unread has it read its rows from the named pipe "pipe".
const unread = "TRAIN_UNREAD"

// TestMain is the program where TestAWorkerComesLate starts it.
func TestMain(m *testing.M) {
	if os.Getenv(victim) == "" {
		var err error
		if programs, err = os.MkdirTemp("", "train-programs-"); err != nil {
			panic(err)
		}
		trial.Waits()
		status := trial.Quickly(m)
		os.RemoveAll(programs)
		os.Exit(status)
	}
	epochs := 4
	if os.Getenv(signalled) != "" {
		epochs = 1 << 20
	}
	o := train.Options{Mode: "async", Epochs: epochs, Batch: 16, EvalEvery: 40, Out: "out", TensorBoard: "board"}
	if os.Getenv(deserted) != "" {
		o.Mode, o.Checkpoint = "sync", "ck"
	}
	train.Main(&o, func() (train.Job, error) {
		j := job(o)
		if os.Getenv(deserted) != "" {
			s, err := o.Strategy()
			if err != nil {
				return j, err
			}
			s.StartTimeout, s.WorkerTimeout = strategy.Duration(3*time.Second), strategy.Duration(6*time.Second)
			j.Strategy = &s
		}
		j.Data = data(4000, 100)
		if os.Getenv(unread) != "" {
			j.Data = func(ctx context.Context) (rows, test *dataset.Dataset, err error) {
				rows, err = dataset.FromFiles(dataset.LibSVM{Features: 1}, "pipe").Load(ctx)
				return rows, nil, err
			}
		}
		j.Hooks = []train.Hooks{{Step: func(_ context.Context, r *train.Run, so nn.TrainResult) error {
			if fmt.Sprint(r.Fleet.WorkerIndex()) == os.Getenv(victim) && r.Epoch == 1 && so.Steps == 50 {
				if killed, err := os.OpenFile("killed", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
					killed.Close()
					os.Exit(3)
				}
			}
			return nil
		}}}
		return j, nil
	})
}

// TestAWorkerComesLate: a worker that is started again alone, in the middle of an epoch, evaluates with the others where these are, and
// the history that the job leaves has all of it, whoever leads.
func TestAWorkerComesLate(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	dir, fleetrun := t.TempDir(), builtFleetrun(t)
	for _, worker := range trial.Some(t, []string{"0", "1"}) {
		at := filepath.Join(dir, worker)
		law.Check(t, os.Mkdir(at, 0o700))
		said := run(t, at, "env", victim+"="+worker, fleetrun, "--server_num=1", "--worker_num=3", "--restart_workers=1", os.Args[0])
		if _, err := os.Stat(filepath.Join(at, "killed")); err != nil || worker == "0" && !strings.Contains(said, "goes on after epoch 1/4") {
			t.Errorf("worker %s was not killed, or did not go on: %v\n%s", worker, err, said)
		}
		file, err := os.Open(filepath.Join(at, "out", "history.csv"))
		law.Check(t, err)
		defer file.Close()
		rows, err := csv.NewReader(file).ReadAll()
		law.Check(t, err)
		t.Log(rows)
		board := readRun(t, filepath.Join(at, "board", "train"))
		if n := len(board.scalars["epoch"]); n != len(rows)-1 {
			t.Errorf("worker %s: TensorBoard has %d evaluations of %d; sessions start at %v", worker, n, len(rows)-1, board.starts)
		}
		seen, before := map[string]bool{}, 0
		for _, row := range rows[1:] {
			examples, err := strconv.Atoi(row[1])
			if seen[row[0]] = true; err != nil || examples < before-16*3 { // what was on its way counts again
				t.Errorf("worker %s: %d examples after %d, error %v", worker, examples, before, err)
			}
			before = examples
		}
		if last := rows[len(rows)-1]; len(seen) != 4 || last[0] != "4" || last[4] != "1" || before < 12_000 {
			t.Errorf("worker %s: the history is %v", worker, rows)
		}
	}
}
