package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/nn"
)

// TestCheckpointsThatCantBeWritten: a directory where nothing can be written is told before the job trains; one that fails while it trains
// is a warning, and the job ends with an error if its last checkpoint fails too.
func TestCheckpointsThatCantBeWritten(t *testing.T) {
	// Serial: it takes over the process's log.
	trial.Slow(t)
	file := filepath.Join(t.TempDir(), "file")
	law.Check(t, os.WriteFile(file, nil, 0o600))
	for _, o := range []train.Options{{Checkpoint: file + "/checkpoints"}, {Out: file + "/out"}, {LogJSON: file + "/log.json"}} {
		begun := false
		err := fails(t, func() train.Job {
			j := job(o)
			j.Hooks = []train.Hooks{{EpochBegin: func(context.Context, *train.Run) error { begun = true; return nil }}}
			return j
		})
		if err == nil || !strings.Contains(err.Error(), file) || begun {
			t.Errorf("%+v: begun %t, error %v", o, begun, err)
		}
	}
	for _, size := range [][2]int{{0, 1}, {1, 2}, {0, 2}} {
		dir := filepath.Join(t.TempDir(), "checkpoints")
		said := logged(t, func() {
			results, _ := play(t, size[0], size[1], func() train.Job {
				j := job(train.Options{Mode: "sync", Epochs: 3, Checkpoint: dir})
				j.Hooks = []train.Hooks{{
					EpochEnd: func(_ context.Context, r *train.Run, _ nn.TrainResult) error {
						if !r.Leads() {
							return nil
						}
						switch r.Epoch {
						case 1: // nothing can be saved
							if err := os.RemoveAll(dir); err != nil {
								return err
							}
							return os.WriteFile(dir, nil, 0o600)
						case 2:
							return os.Remove(dir)
						}
						return nil
					},
				}}
				return j
			})
			if n := len(results[0].History); n != 3 {
				t.Errorf("%v: %d evaluations", size, n)
			}
		})
		if n := strings.Count(said, "the checkpoint of an epoch was not saved"); n != 1 {
			t.Errorf("%v: %d warnings: %s", size, n, said)
		}
		if c, err := checkpoints.Latest(dir); err != nil || c.Progress.Epoch != 3 {
			t.Errorf("%v: the last checkpoint is %+v, %v", size, c, err)
		}
	}
}

// TestSignalsAreStatuses: a program that ends by a signal exits as shells have it, but with 1 where SIGTERM ends it and what it has trained
// is saved nowhere. It is never 0.
func TestSignalsAreStatuses(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	place := porttest.Kept(t, 1)[0]
	job := []string{"FLEET_SERVERS=" + place, "FLEET_WORKERS=1"}
	server, worker := append(job, "FLEET_ROLE=server", "FLEET_INDEX=0"), append(job, "FLEET_ROLE=worker", "FLEET_INDEX=0")
	for _, c := range []struct {
		name  string
		args  []string
		roles [][]string
		ended int // the role that the signal is for; the others are killed then
		sig   syscall.Signal
		want  int
	}{
		{"alone, ^C", nil, [][]string{nil}, 0, syscall.SIGINT, 130},
		{"alone, unsaved", nil, [][]string{nil}, 0, syscall.SIGTERM, 1},
		{"alone, saved", []string{"-checkpoint=ck"}, [][]string{nil}, 0, syscall.SIGTERM, 143},
		{"a worker, unsaved", nil, [][]string{worker, server}, 0, syscall.SIGTERM, 1},
		{"a worker, saved", []string{"-checkpoint=ck"}, [][]string{worker, server}, 0, syscall.SIGTERM, 143},
		{"a server, unsaved", nil, [][]string{worker, server}, 1, syscall.SIGTERM, 1},
		{"a server, saved", []string{"-checkpoint=ck"}, [][]string{worker, server}, 1, syscall.SIGTERM, 143},
		{"a server, journalled", []string{"-checkpoint=ck", "-journal=jn"}, [][]string{worker, server}, 1, syscall.SIGTERM, 143},
		{"alone, no rows yet", nil, [][]string{{unread + "=1"}}, 0, syscall.SIGTERM, 143},
		{"alone, no rows yet, saved", []string{"-checkpoint=ck"}, [][]string{{unread + "=1"}}, 0, syscall.SIGTERM, 143},
		{"a worker, no rows yet", nil, [][]string{append(worker, unread+"=1"), server}, 0, syscall.SIGTERM, 143},
		{"a worker, no rows yet, saved", []string{"-checkpoint=ck"}, [][]string{append(worker, unread+"=1"), server}, 0, syscall.SIGTERM, 143},
		{"a server, ^C", nil, [][]string{worker, server}, 1, syscall.SIGINT, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if strings.Contains(c.name, "no rows") {
				if err := exec.Command("mkfifo", filepath.Join(dir, "pipe")).Run(); err != nil {
					t.Skip("no named pipes here: ", err)
				}
			}
			var all []*exec.Cmd
			var trains io.Reader
			var said [2]bytes.Buffer
			for i, role := range c.roles {
				cmd := exec.Command(os.Args[0], c.args...)
				cmd.Dir, cmd.Stderr = dir, &said[i]
				cmd.Env = slices.Concat(os.Environ(), []string{victim + "=none", signalled + "=1", "FLEET_PROGRESS=plain"}, role)
				if i == 0 {
					out, err := cmd.StdoutPipe()
					law.Check(t, err)
					trains = out
				}
				law.Check(t, cmd.Start())
				defer cmd.Wait()
				defer cmd.Process.Kill()
				all = append(all, cmd)
			}
			if strings.Contains(c.name, "no rows") {
				writer, err := os.OpenFile(filepath.Join(dir, "pipe"), os.O_WRONLY, 0) // once it is opened for reading
				law.Check(t, err)
				defer writer.Close()
			} else {
				trains.Read(make([]byte, 1))
			}
			go io.Copy(io.Discard, trains)
			all[c.ended].Process.Signal(c.sig)
			state, err := all[c.ended].Process.Wait()
			if err != nil || state.ExitCode() != c.want {
				t.Errorf("%v, error %v, want status %d:\n%s", state, err, c.want, said[c.ended].String())
			}
		})
	}
}

// TestWaitInVainEndsWithRestartStatus: a worker of a job in sync is killed, and nobody starts it again. The others go back to the
// checkpoint, wait for it until StartTimeout, and end with the status by which all roles are started again.
//
// Promise: [G5] roles that wait in vain for a dead worker to come back end with 75 after StartTimeout
func TestWaitInVainEndsWithRestartStatus(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	place, dir := porttest.Kept(t, 1)[0], t.TempDir()
	var said [3]bytes.Buffer
	var all []*exec.Cmd
	var trains io.Reader
	for i, role := range []string{"worker 0", "server 0", "worker 1"} {
		name, index, _ := strings.Cut(role, " ")
		cmd := exec.Command(os.Args[0])
		cmd.Dir, cmd.Stderr = dir, &said[i]
		cmd.Env = append(os.Environ(), victim+"=none", signalled+"=1", deserted+"=1", "FLEET_PROGRESS=plain", "FLEET_SERVERS="+place,
			"FLEET_LOG=json", "FLEET_WORKERS=2", "FLEET_ROLE="+name, "FLEET_INDEX="+index)
		if i == 0 {
			out, err := cmd.StdoutPipe()
			law.Check(t, err)
			trains = out
		}
		law.Check(t, cmd.Start())
		defer cmd.Wait()
		defer cmd.Process.Kill()
		all = append(all, cmd)
	}
	trains.Read(make([]byte, 1))
	go io.Copy(io.Discard, trains)
	all[2].Process.Kill()
	for i, cmd := range all[:2] {
		state, err := cmd.Process.Wait()
		if text := said[i].String(); err != nil || state.ExitCode() != 75 ||
			!strings.Contains(text, `goes back to the last checkpoint of the job","role":"`+[]string{"worker 0 of 2", "server 0 of 1"}[i]+`"`) {
			t.Errorf("%v, error %v, want status 75:\n%s", state, err, text)
		}
	}
}

// TestAWorkerBehindTheEndOfItsJob: a worker that is started again when its job has just ended finds no server, and nothing to train: it
// ends well, and says so. With more epochs to train, or another directory, it has failed.
func TestAWorkerBehindTheEndOfItsJob(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	place, dir := porttest.Kept(t, 1)[0], t.TempDir() // where nobody listens behind the end
	play := func(role string, said *bytes.Buffer, args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], append([]string{"-mode=async", "-epochs=1"}, args...)...)
		cmd.Dir, cmd.Stderr = dir, said
		cmd.Env = append(os.Environ(), victim+"=none", "FLEET_PROGRESS=plain", "FLEET_SERVERS="+place, "FLEET_WORKERS=1", "FLEET_ROLE="+role,
			"FLEET_INDEX=0")
		return cmd
	}
	var said [2]bytes.Buffer
	server, worker := play("server", &said[0], "-checkpoint=ck"), play("worker", &said[1], "-checkpoint=ck")
	law.Check(t, server.Start())
	defer server.Process.Kill()
	if err := errors.Join(worker.Run(), server.Wait()); err != nil {
		t.Fatalf("%v\n%s%s", err, said[0].String(), said[1].String())
	}
	for _, k := range []struct {
		args []string
		want int
	}{{[]string{"-checkpoint=ck"}, 0}, {[]string{"-checkpoint=ck", "-epochs=2"}, 1}, {[]string{"-checkpoint=other"}, 1}} {
		var said bytes.Buffer
		late := play("worker", &said, k.args...)
		late.Env = append(late.Env, deserted+"=1", "FLEET_LOG=json")
		err := late.Run()
		if late.ProcessState.ExitCode() != k.want || (k.want == 0) != strings.Contains(said.String(), `after the end of its job","role":"worker 0 of 1"`) {
			t.Errorf("%v: %v, want status %d:\n%s", k.args, err, k.want, said.String())
		}
	}
}

// TestSignalsEndAMeeting: SIGTERM ends a rank that waits for the others at once, with the status of one that was asked to end.
func TestSignalsEndAMeeting(t *testing.T) {
	t.Parallel()
	first, err := net.Listen("tcp", "127.0.0.1:0")
	law.Check(t, err)
	defer first.Close()
	host, port, _ := net.SplitHostPort(first.Addr().String())
	var said bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Dir, cmd.Stderr = t.TempDir(), &said
	cmd.Env = append(os.Environ(), victim+"=none", signalled+"=1", "RANK=1", "WORLD_SIZE=2", "MASTER_ADDR="+host, "MASTER_PORT="+port)
	law.Check(t, cmd.Start())
	defer cmd.Process.Kill()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	met := make(chan error, 1)
	go func() {
		_, err := first.Accept()
		met <- err
	}()
	select {
	case err := <-met:
		law.Check(t, err)
	case err := <-ended:
		t.Fatalf("it ended before it met anybody: %v:\n%s", err, said.String())
	}
	began := time.Now()
	cmd.Process.Signal(syscall.SIGTERM)
	if <-ended; cmd.ProcessState.ExitCode() != 143 || !strings.Contains(said.String(), "stopped: terminated signal received") || time.Since(began) > time.Minute {
		t.Errorf("%v after %v, want status 143:\n%s", cmd.ProcessState, time.Since(began), said.String())
	}
}

// TestTheLastLineIsTheResult: of a worker's output.
func TestTheLastLineIsTheResult(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, said := play(t, 1, 2, func() train.Job {
		j := job(train.Options{Mode: "sync", Out: dir})
		j.Hooks = []train.Hooks{{End: func(_ context.Context, r *train.Run) error {
			r.Job.Stdout.Write([]byte("it was good\n"))
			return nil
		}}}
		return j
	})
	if _, behind, found := strings.Cut(said, "it was good\n"); !found || !strings.HasPrefix(behind, "the best evaluation was ") ||
		!strings.HasSuffix(behind, "\nsaved "+dir+"\n") || !strings.Contains(said, "epoch 1/1  worker 0  ") {
		t.Errorf("worker 0 said\n%s", said)
	}
}

// TestFewerRowsThanWorkers: a worker without a share of the rows ends the job with what to do.
func TestFewerRowsThanWorkers(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 1} {
		for role, err := range (fleettest.Cluster{Servers: servers, Workers: 3}).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			j := job(train.Options{Mode: "sync"})
			j.Data, j.Stdout = data(2, 0), io.Discard
			_, err := j.Run(ctx, f)
			return err
		}) {
			if want := "2 rows for 3 workers"; strings.HasPrefix(role, "worker") && (err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "no more than 2 workers")) {
				t.Errorf("%d servers, %s: %v, want %q", servers, role, err, want)
			}
		}
	}
}

// TestAFileThatIsNamedTwice is a warning, by whatever name it comes again.
func TestAFileThatIsNamedTwice(t *testing.T) {
	// Serial: it takes over the process's log.
	dir := t.TempDir()
	one, two, link := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(t.TempDir(), "link")
	err := errors.Join(os.WriteFile(one, []byte("x\n1\n2\n"), 0o600), os.WriteFile(two, []byte("x\n3\n"), 0o600), os.Symlink(one, link))
	law.Check(t, err)
	format := dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Ints("x")}}}
	for _, c := range []struct {
		paths, test []string
		want        int
	}{
		{[]string{dir}, nil, 0}, {[]string{one, two}, nil, 0}, {[]string{dir, one}, nil, 1}, {[]string{one, link}, nil, 1},
		{[]string{two}, []string{one, link}, 1},
	} {
		said := logged(t, func() {
			if _, _, err := (train.Files{Format: format, Paths: c.paths, Test: c.test}).Load(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if n := strings.Count(said, "named twice"); n != c.want {
			t.Errorf("%q and %q: %d warnings, want %d: %s", c.paths, c.test, n, c.want, said)
		}
		if strings.Contains(said, "trained on and tested on") {
			t.Errorf("%q and %q have no file in common: %s", c.paths, c.test, said)
		}
	}
}

// TestTwoJobsInOneOutputDirectory: a second job with the output directory of one that runs is refused when it begins, by the name of the
// first, which leaves its results; behind that the second may begin. One directory for checkpoints and results is one job's own.
//
// Promise: [G8] a second job with the output directory of one that runs is refused
func TestTwoJobsInOneOutputDirectory(t *testing.T) {
	t.Parallel()
	kindsOfJobs(t, func(mode string, servers int) {
		synctest.Test(t, func(t *testing.T) { twoJobs(t, mode, servers) })
	})
}

func twoJobs(t *testing.T, mode string, servers int) {
	dir := t.TempDir()
	run := func(begin func(ctx context.Context)) map[string]error {
		return fleettest.Cluster{Servers: servers, Workers: 2}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			j := job(train.Options{Mode: mode, Out: dir, Checkpoint: dir})
			if begin == nil {
				j.Checkpoint = ""
			}
			j.Stdout = io.Discard
			j.Hooks = []train.Hooks{{Begin: func(ctx context.Context, r *train.Run) error {
				if r.Leads() && begin != nil {
					begin(ctx)
				}
				return nil
			}}}
			_, err := j.Run(ctx, f)
			return err
		})
	}
	for role, err := range run(func(context.Context) {
		second := run(nil)
		if err := second["worker 0"]; !errors.Is(err, fleet.ErrTaken) || !strings.Contains(err.Error(), fmt.Sprintf("-out=%s", dir)) ||
			!strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
			t.Errorf("%q: a second job: %v", mode, err)
		}
	}) {
		if err != nil {
			t.Errorf("%q: the first job, %s: %v", mode, role, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "model", "model.json")); err != nil {
		t.Error(err)
	}
	for role, err := range run(nil) {
		if err != nil {
			t.Errorf("%q: a job after that, %s: %v", mode, role, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); left != nil {
		t.Errorf("%q is left", left)
	}
}
