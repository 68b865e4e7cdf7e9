package fleet_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// enduring is a job of some epochs, each of four steps of 15 seconds, that saves checkpoints and is started again.
type enduring struct {
	trial.Job
	recovery strategy.Recovery
	epochs   int
	asks     bool   // for a checkpoint at each epoch's end
	one      bool   // worker asks, the first; else as many are saved in geo as workers had something left to exchange
	late     bool   // worker 0 ends each epoch after the others have asked for its checkpoint
	load     string // what Restore is given
	// within is called before each step of a worker, and atTheEnd before it stops. What they return ends the worker.
	within   func(f *fleet.Fleet, epoch, step int) error
	atTheEnd func(f *fleet.Fleet) error
	// before and behind are called before and behind InitServer.
	before, behind func(f *fleet.Fleet)
	stop           time.Duration // bounds StopWorker; 0 means as long as it takes
	waits          time.Duration // before workers join

	t     *testing.T // of the bubble that it runs in
	mu    sync.Mutex
	ends  map[string]context.CancelCauseFunc // of each role's context
	ended map[string]time.Time               // by role
	began []fleet.Progress                   // by worker
	model []byte                             // at the end, as worker 0 sees it
	errs  map[string]error
	log   trial.Log
}

const (
	epochSteps = 4
	stepTime   = 15 * time.Second
)

var errKilled = errors.New("killed")

// run runs the job in virtual time, and returns what became of its roles.
func (j *enduring) run(t *testing.T) *enduring {
	t.Helper()
	j.began, j.ends = make([]fleet.Progress, j.Cluster.Workers), map[string]context.CancelCauseFunc{}
	j.ended = map[string]time.Time{}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j.t = t
		c := j.Cluster
		c.Options.Transport, c.Options.Logger = transport.NewMemory(), j.log.Logger()
		j.errs = c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error { return j.play(ctx, f, dir) })
	})
	if _, err := os.Stat(trial.WeightsFile(dir)); err == nil {
		j.model = trial.Weights(t, dir)
	}
	return j
}

// works is run of a job of which no role may fail.
func (j *enduring) works(t *testing.T) *enduring {
	t.Helper()
	for role, err := range j.run(t).errs {
		if err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
	return j
}

// again is the same job, which nobody ends.
func (j *enduring) again() *enduring {
	return &enduring{Job: j.Job, recovery: j.recovery, epochs: j.epochs, asks: j.asks, one: j.one, load: j.load}
}

func (j *enduring) play(ctx context.Context, f *fleet.Fleet, dir string) error {
	ctx, end := context.WithCancelCause(ctx)
	j.mu.Lock()
	j.ends[roleName(f)] = end
	j.mu.Unlock()
	defer func() {
		f.Close() // as programs do
		j.mu.Lock()
		defer j.mu.Unlock()
		j.ended[roleName(f)] = time.Now()
	}()
	s, o := j.Strategy, trial.NewToy()
	s.Recovery = j.recovery
	var rule optimizer.Rule = optimizer.Adam{LR: 0.01}
	if s.Mode == strategy.ModeGeo {
		rule, s.KSteps = optimizer.SGD{LR: 0.1}, 3
	}
	if err := trial.Minimize(f, o, rule, s); err != nil {
		return err
	}
	if err := f.Restore(ctx, j.load, fleet.RestoreOptions{}); err != nil {
		return err
	}
	if f.IsServer() {
		return j.serve(ctx, f)
	}
	time.Sleep(j.waits)
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	j.mu.Lock()
	j.began[f.WorkerIndex()] = f.Progress()
	j.mu.Unlock()
	for epoch := f.Progress().Epoch; epoch < j.epochs; epoch++ {
		if err := j.epoch(ctx, f, o, epoch); err != nil {
			return err
		}
	}
	if j.atTheEnd != nil {
		if err := j.atTheEnd(f); err != nil {
			return err
		}
	}
	if f.IsFirstWorker() {
		if err := f.SaveInferenceModel(ctx, dir, o); err != nil {
			return err
		}
	}
	if j.stop > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, j.stop)
		defer cancel()
	}
	return f.StopWorker(ctx)
}

func (j *enduring) serve(ctx context.Context, f *fleet.Fleet) error {
	if j.before != nil {
		j.before(f)
	}
	if err := f.InitServer(ctx, ""); err != nil {
		return err
	}
	if j.behind != nil {
		j.behind(f)
	}
	return f.RunServer(ctx)
}

func (j *enduring) epoch(ctx context.Context, f *fleet.Fleet, o *trial.Toy, epoch int) error {
	for step := range epochSteps {
		if j.within != nil {
			if err := j.within(f, epoch, step); err != nil {
				return err
			}
		}
		if err := o.Train(ctx, trial.Share(f, epoch*epochSteps+step), nil); err != nil {
			return err
		}
		time.Sleep(stepTime)
	}
	if err := errors.Join(o.Close(ctx), f.BarrierWorker(ctx)); err != nil {
		return err
	}
	if j.late && f.IsFirstWorker() {
		time.Sleep(stepTime)
	}
	if err := f.SetProgress(fleet.Progress{Epoch: epoch + 1, User: seen(epoch + 1)}); err != nil || !j.asks {
		return err
	}
	if j.one && !f.IsFirstWorker() {
		return f.BarrierWorker(ctx)
	}
	return errors.Join(f.Checkpoint(ctx), f.BarrierWorker(ctx))
}

// seen is as much as a program may say.
func seen(epoch int) []byte {
	all := make([]byte, 64<<10)
	copy(all, fmt.Sprint("seen ", epoch))
	return all
}

// TestAJobGoesOn: every role of a job ends in the middle of its third epoch and is started again. All go on from the end of the second, as
// they were told, and come to the bits of a job that never ended where bits repeat.
//
// Promise: [G6] a job that is started again goes on from the newest whole checkpoint, with the progress that its
// program set; a torn one is passed over
// Also: TestATornCheckpointIsPassedOver, TestRestoreIsForAFirstStart, TestTornCheckpointsArePassedOver
// (internal/checkpoint)
func TestAJobGoesOn(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			never := (&enduring{Job: job, epochs: 4}).works(t)
			for _, late := range []bool{false, true} {
				endsAndGoesOn(t, never, &enduring{Job: job, epochs: 4, asks: true, late: late})
			}
		})
	}
}

// endsAndGoesOn plays a job whose roles end in the middle of its third epoch, and again.
func endsAndGoesOn(t *testing.T, never, j *enduring) {
	t.Helper()
	j.recovery = strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour)}
	j.within = func(_ *fleet.Fleet, epoch, step int) error {
		if epoch == 2 && step == 2 {
			return errKilled
		}
		return nil
	}
	for role, err := range j.run(t).errs {
		if err == nil {
			t.Errorf("%s did not notice", role)
		}
	}
	again := j.again().works(t)
	for w, p := range again.began {
		if p.Epoch != 2 || !bytes.Equal(p.User, seen(2)) {
			t.Errorf("worker %d goes on from %d, %d bytes", w, p.Epoch, len(p.User))
		}
	}
	if repeats := j.Strategy.Mode == strategy.ModeSync; repeats && !bytes.Equal(never.model, again.model) {
		t.Errorf("weights differ by up to %g from a job that never ended", trial.Distance(t, never.model, again.model))
	}
	latest, err := checkpoints.Latest(j.recovery.Dir)
	if err != nil || latest.Progress.Epoch != 4 || !bytes.Equal(latest.Progress.User, seen(4)) || latest.Step == 0 {
		t.Errorf("the latest is %s of step %d, error %v", latest.Dir, latest.Step, err)
	}
}

// TestAJobGoesOnFromADelta: a job of which every other checkpoint has only what has changed ends behind such a one, and is started
// again, where there are servers on others. It comes to the bits of a job that never ended where bits repeat.
func TestAJobGoesOnFromADelta(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			never := (&enduring{Job: job, epochs: 3}).works(t)
			j := &enduring{Job: job, epochs: 3, asks: true, one: true,
				recovery: strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour), Deltas: 5}}
			j.within = func(_ *fleet.Fleet, epoch, step int) error {
				if epoch == 2 && step == 2 {
					return errKilled
				}
				return nil
			}
			j.run(t)
			latest, err := checkpoints.Latest(j.recovery.Dir)
			if err != nil || trial.Manifest(t, latest.Dir).Base == nil {
				t.Fatalf("the latest is %s, which is whole, error %v", latest.Dir, err)
			}
			again := j.again()
			if job.Cluster.Servers > 0 {
				again.Cluster.Servers++
			}
			again.works(t)
			if repeats := job.Strategy.Mode == strategy.ModeSync; repeats && !bytes.Equal(never.model, again.model) {
				t.Errorf("weights differ by up to %g from a job that never ended", trial.Distance(t, never.model, again.model))
			}
		})
	}
}

func roleName(f *fleet.Fleet) string {
	if f.IsServer() {
		return fmt.Sprint("server ", f.ServerIndex())
	}
	return fmt.Sprint("worker ", f.WorkerIndex())
}

var errTerminated = errors.New("terminated")

// TestStopSavesACheckpoint: the context of a role ends in the middle of an epoch, or those of all, as on SIGTERM. A checkpoint is saved
// before the job ends, long before one would be saved by itself, and the job goes on from that.
//
// Promise: [G5] a role that is asked to end has a checkpoint saved first, where there is something new
// Also: TestStopWithNothingNewEndsAtOnce, TestAPushReachesAllServersBeforeItsWorkerSaves (internal/client)
func TestStopSavesACheckpoint(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		victims := [][]string{{"worker 0"}, {"worker 0", "worker 1"}}
		if job.Cluster.Servers > 0 {
			victims = [][]string{{"server 0"}, {"server 1"}, {"worker 0"}, {"worker 1"}, {"server 0", "server 1", "worker 0", "worker 1"}}
		}
		for _, roles := range trial.Some(t, victims) {
			t.Run(fmt.Sprint(name, " ", roles), func(t *testing.T) {
				j := &enduring{Job: job, epochs: 4, recovery: strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour)}}
				var once sync.Once
				j.within = func(f *fleet.Fleet, epoch, step int) error {
					if epoch == 2 && step == 2 {
						once.Do(func() {
							for _, role := range roles {
								if end := j.ends[role]; end != nil {
									end(errTerminated)
								}
							}
						})
					}
					return nil
				}
				j.run(t)
				for _, role := range roles {
					if err := j.errs[role]; err == nil && j.ends[role] != nil {
						t.Errorf("%s has ended well", role)
					}
				}
				latest, err := checkpoints.Latest(j.recovery.Dir)
				if err != nil || latest.Progress.Epoch < 2 {
					t.Fatalf("the latest is of epoch %d, error %v\n%s", latest.Progress.Epoch, err, j.log.String())
				}
				j.again().works(t)
			})
		}
	}
}

// TestStopWithNothingNewEndsAtOnce: a server is asked to end when all that is trained is in a checkpoint. It ends at once.
func TestStopWithNothingNewEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		if job.Cluster.Servers == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			j := &enduring{Job: job, epochs: 2, asks: true, recovery: strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour)}}
			var asked time.Time
			var once sync.Once
			j.within = func(_ *fleet.Fleet, epoch, step int) error {
				if epoch == 1 && step == 0 {
					once.Do(func() { asked = time.Now(); j.ends["server 1"](errTerminated) })
					time.Sleep(10 * time.Minute) // nobody trains
				}
				return nil
			}
			j.run(t)
			if took := j.ended["server 1"].Sub(asked); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			if latest, err := checkpoints.Latest(j.recovery.Dir); err != nil || latest.Progress.Epoch != 1 {
				t.Errorf("the latest is of epoch %d, error %v", latest.Progress.Epoch, err)
			}
		})
	}
}

// names are the checkpoints in a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	all, err := trial.Names(dir)
	law.Check(t, err)
	return slices.DeleteFunc(all, func(name string) bool { return name == "job.over" }) // a mark
}

// TestCheckpointsByThemselves: one each time, one at the end, and the last ones stay.
//
// Promise: [G6] with `Strategy.Recovery` checkpoints are made by themselves, each in a directory of its own, and the
// last ones stay
// Also: TestTheLastCheckpointsStay (internal/checkpoint)
func TestCheckpointsByThemselves(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			for _, keep := range trial.Some(t, []int{0, 1, 9}) {
				j := &enduring{Job: job, epochs: 4, recovery: strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(72 * time.Second), Keep: keep}}
				j.works(t) // four minutes: after 72, 144 and 216 seconds, and at the end
				all := []string{"ckpt-000001", "ckpt-000002", "ckpt-000003", "ckpt-000004", "ckpt-000005"}
				got := names(t, j.recovery.Dir)
				if job.Strategy.Mode != strategy.ModeGeo || !slices.Contains(got, all[4]) { // what the other worker's exchange at its end has left
					all = all[:4]
				}
				if want := all[max(0, len(all)-cmp.Or(keep, 2)):]; !slices.Equal(got, want) {
					t.Errorf("of the last %d there are %v, want %v", keep, got, want)
				}
			}
		})
	}
}

// TestTheNextWorkerSaves: worker 0 dies, and others go on; so do the checkpoints, to the last one, which has all that was trained.
//
// Promise: [G6] the lowest live worker saves the job's checkpoints, and keeps trying the last one until it is whole
// or its failure is told
// Also: TestALastSaveThatFails
func TestTheNextWorkerSaves(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		if job.Cluster.Servers == 0 {
			continue // without all of its workers no such job goes on
		}
		t.Run(name, func(t *testing.T) {
			j := &enduring{Job: job, epochs: 6, recovery: strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Minute), Keep: 20}}
			if inStep(job.Strategy.Mode) {
				j.recovery.WorkerLost = strategy.WorkerGoOn
			}
			var then []string
			j.within = func(f *fleet.Fleet, epoch, step int) error {
				if f.WorkerIndex() == 0 && epoch == 1 && step == 2 {
					then = names(t, j.recovery.Dir)
					return errKilled
				}
				return nil
			}
			j.run(t)
			if err := j.errs["worker 1"]; err != nil {
				t.Errorf("worker 1: %v", err)
			}
			if now := names(t, j.recovery.Dir); len(then) != 1 || len(now) < len(then)+4 {
				t.Errorf("there are %v, and %v when worker 0 died", now, then)
			}
			latest, err := checkpoints.Latest(j.recovery.Dir)
			if err != nil || latest.Positions[0].Epoch != 1 || latest.Positions[1].Epoch != 5 { // worker 0 has some of epoch 1 left
				t.Errorf("the last is of epoch %d, worker 1 at %v, error %v", latest.Progress.Epoch, latest.Positions, err)
			}
		})
	}
}

// TestALastSaveThatFails is tried again until there is a place for it, or the time is up: the call's context's, or the strategy's.
func TestALastSaveThatFails(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		for works, c := range trial.SomeOf(t, map[string]struct {
			never       bool
			stop, limit time.Duration
			says        string
		}{
			"in a minute":     {false, 0, 0, ""},
			"never":           {true, 5 * time.Minute, 0, "context deadline exceeded"},
			"never, no bound": {true, 0, 4 * time.Minute, "WaitTimeout is 4m0s"},
		}) {
			t.Run(name+", it works "+works, func(t *testing.T) {
				dir, never := filepath.Join(t.TempDir(), "checkpoints"), c.never
				j := &enduring{Job: job, epochs: 1, recovery: strategy.Recovery{Dir: dir}, stop: c.stop}
				j.Strategy.WaitTimeout = strategy.Duration(c.limit)
				var once sync.Once
				j.atTheEnd = func(*fleet.Fleet) (err error) {
					once.Do(func() {
						err = errors.Join(os.RemoveAll(dir), os.WriteFile(dir, []byte("in the way"), 0o644))
						if !never {
							time.AfterFunc(time.Minute, func() { _ = os.Remove(dir) })
						}
					})
					return err
				}
				j.run(t)
				for role, err := range j.errs {
					if err != nil && !never {
						t.Errorf("%s: %v", role, err)
					}
				}
				if tries := len(j.log.Lines("gives up in")); tries < 3 || tries > 25 {
					t.Errorf("%d attempts failed, and the log has\n%s", tries, j.log.String())
				}
				if err := j.errs["worker 0"]; never {
					if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "the last checkpoint was not saved") {
						t.Errorf("worker 0: %v", err)
					}
				} else if got := names(t, dir); !slices.Equal(got, []string{"ckpt-000001"}) {
					t.Errorf("there are %v", got)
				}
			})
		}
	}
}

// TestATornCheckpointIsPassedOver: a bit of the newest has flipped, so the one before counts; then that is torn too, and at last the job
// begins anew.
func TestATornCheckpointIsPassedOver(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			j := &enduring{Job: job, epochs: 2, asks: true, one: true, recovery: strategy.Recovery{Dir: t.TempDir(), Keep: 9}}
			j.works(t)
			all := names(t, j.recovery.Dir)
			if len(all) < 2 {
				t.Fatalf("there are %v", all)
			}
			for i, name := range slices.Backward(all) {
				flipBit(t, filepath.Join(j.recovery.Dir, name))
				want := 0
				if i > 0 {
					want = trial.Manifest(t, filepath.Join(j.recovery.Dir, all[i-1])).Progress.Epoch
				}
				again := j.again()
				again.epochs = 0
				again.atTheEnd = func(f *fleet.Fleet) error { // before it saves another, and when the other has joined too
					return errors.Join(f.BarrierWorker(context.Background()), errKilled)
				}
				again.run(t)
				for w, p := range again.began {
					if p.Epoch != want {
						t.Errorf("worker %d goes on from epoch %d, want %d", w, p.Epoch, want)
					}
				}
				said := func(line string) bool { return strings.Contains(line, name) && strings.Contains(line, "checksum") }
				if lines := again.log.Lines("skipped a checkpoint"); !slices.ContainsFunc(lines, said) {
					t.Errorf("%s: the log says %q", name, lines)
				}
			}
		})
	}
}

// TestServersBeginFromTheSame: server 0 and server 1 find different checkpoints when they start, the one before the other, since the newest
// comes into sight between them. All begin from what server 0 has found, as soon as it is seen, or end with what to do.
//
// Promise: [G6] all servers begin from the same checkpoint, the one that server 0 has found, even if they find others
func TestServersBeginFromTheSame(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	job := trial.Jobs(t)["sync"]
	never := (&enduring{Job: job, epochs: 3}).works(t)
	for name, c := range trial.SomeOf(t, map[string]struct {
		first  int           // server that starts first
		hidden int           // of the newest checkpoints, from the second
		seen   time.Duration // by the second, after it has started; 0 for never
		epoch  int           // from which all begin
		says   string        // each server, where they can't
	}{
		"late on server 1":     {first: 0, hidden: 1, seen: 10 * time.Second, epoch: 2},
		"late on server 0":     {first: 1, hidden: 1, epoch: 1},
		"never on server 1":    {first: 0, hidden: 1, says: "can't load checkpoint ckpt-000002"},
		"nothing for server 0": {first: 1, hidden: 2, says: "server 0 from no checkpoint of the job's own"},
	}) {
		t.Run(name, func(t *testing.T) {
			before := (&enduring{Job: job, epochs: 2, asks: true, one: true, recovery: strategy.Recovery{Dir: t.TempDir(), Keep: 9}}).works(t)
			all := names(t, before.recovery.Dir)
			if len(all) != 2 {
				t.Fatalf("there are %v", all)
			}
			turn := make(chan struct{})
			show := func(from, to string) {
				for _, name := range all[len(all)-c.hidden:] {
					dir := filepath.Join(before.recovery.Dir, name)
					if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
						t.Error(err)
					}
				}
			}
			again := before.again()
			again.epochs = 3
			again.before = func(f *fleet.Fleet) {
				if f.ServerIndex() != c.first {
					<-turn
				}
			}
			again.behind = func(f *fleet.Fleet) {
				switch {
				case f.ServerIndex() == c.first:
					show("manifest.json", "unseen.json")
					close(turn)
				case c.seen > 0:
					time.AfterFunc(c.seen, func() { show("unseen.json", "manifest.json") })
				}
			}
			again.run(t)
			for role, err := range again.errs { // workers may come when the servers have gone
				if c.says != "" && strings.HasPrefix(role, "worker") && err != nil {
					continue
				}
				if (err != nil) != (c.says != "") || err != nil && !(strings.Contains(err.Error(), c.says) && strings.Contains(err.Error(), "start all roles again")) {
					t.Errorf("%s: %v, want %q", role, err, c.says)
				}
			}
			for w, p := range again.began {
				if p.Epoch != c.epoch {
					t.Errorf("worker %d begins from epoch %d, want %d", w, p.Epoch, c.epoch)
				}
			}
			if c.says == "" && !bytes.Equal(never.model, again.model) {
				t.Error("the model is not that of a job that never ended")
			}
		})
	}
}

// flipBit damages the first part of a checkpoint.
func flipBit(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, trial.Manifest(t, dir).Parts[0].File)
	data := trial.Read(t, file)
	data[len(data)/2] ^= 1
	law.Check(t, os.WriteFile(file, data, 0o644))
}

// TestRestoreIsForAFirstStart: what Restore names counts until there is a checkpoint.
func TestRestoreIsForAFirstStart(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			given := &enduring{Job: job, epochs: 1, recovery: strategy.Recovery{Dir: t.TempDir()}}
			given.works(t)
			latest, err := checkpoints.Latest(given.recovery.Dir)
			law.Check(t, err)
			j := &enduring{Job: job, epochs: 2, load: latest.Dir, recovery: strategy.Recovery{Dir: t.TempDir()}}
			for attempt, want := range []int{0, 2} {
				j = j.again().works(t)
				if got := j.began[0].Epoch; got != want {
					t.Errorf("attempt %d goes on from epoch %d, want %d", attempt, got, want)
				}
			}
			if now, err := checkpoints.Latest(j.recovery.Dir); err != nil || now.Step <= latest.Step {
				t.Errorf("%d updates after %d, error %v", now.Step, latest.Step, err)
			}
		})
	}
}

// TestTwoJobsInOneDirectory: while a job lives, another is refused where it would save into the first one's directories, by name, and
// harms nothing; when the first has ended the other may.
//
// Promise: [G6] while a job runs, no other job saves into its directories: that is refused by name, across machines
// too; a job that has ended blocks no other
// Also: TestTwoJobsInOneDirectory (internal/checkpoint), TestClaimBlocksWhileItsHolderLives (internal/checkpoint),
// TestExpiredClaimIsNoticed (internal/checkpoint)
func TestTwoJobsInOneDirectory(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	series, place := t.TempDir(), t.TempDir()
	first := &enduring{Job: trial.Job{Cluster: trial.Cluster(2, 2), Strategy: strategy.Sync()}, epochs: 2, asks: true, one: true,
		recovery: strategy.Recovery{Dir: series}}
	others := trial.Jobs(t)
	first.within = func(f *fleet.Fleet, epoch, step int) error {
		if f.WorkerIndex() != 0 || epoch != 1 || step != 0 {
			return nil
		}
		t := first.t
		if err := f.SavePersistables(t.Context(), place); err != nil {
			return err
		}
		saved := trial.Manifest(t, place)
		for name, job := range trial.SomeOf(t, others) {
			err := errors.Join(slices.Collect(maps.Values(saving(t, job, place)))...)
			if !errors.Is(err, fleet.ErrTaken) && (err == nil || !strings.Contains(err.Error(), "another job saves here: process")) {
				t.Errorf("%s: SavePersistables: %v", name, err)
			}
			intruder := &enduring{Job: job, recovery: first.recovery}
			intruder.Strategy.StartTimeout = strategy.Duration(time.Second)
			intruder.began = make([]fleet.Progress, job.Cluster.Workers)
			intruder.ends, intruder.ended = map[string]context.CancelCauseFunc{}, map[string]time.Time{}
			c := job.Cluster
			c.Options.Transport = transport.NewMemory()
			errs := c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error { return intruder.play(ctx, f, t.TempDir()) })
			role := "server 0"
			if c.Servers == 0 {
				role = "worker 0"
			}
			other := strings.Contains(fmt.Sprint(errs[role]), "this job trains with") // geo has a rule of its own, which is looked at first
			if err := errs[role]; !errors.Is(err, fleet.ErrTaken) && !other {
				t.Errorf("%s: Recovery: %v", name, err)
			}
		}
		if now := trial.Manifest(t, place); now.ID != saved.ID {
			t.Errorf("%s is in the place of %s", now.ID, saved.ID)
		}
		return nil
	}
	first.works(t)
	if got, want := names(t, series), []string{"ckpt-000001", "ckpt-000002"}; !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
	synctest.Test(t, func(t *testing.T) {
		for role, err := range saving(t, others["sync"], place) {
			if err != nil {
				t.Errorf("when the first has ended: %s: %v", role, err)
			}
		}
	})
}

// saving is a job that saves one checkpoint, and its roles' errors.
func saving(t *testing.T, job trial.Job, dir string) map[string]error {
	c := job.Cluster
	c.Options.Transport = transport.NewMemory()
	return c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		return trial.Play(ctx, f, trial.NewToy(), optimizer.SGD{LR: 0.1}, job.Strategy, func() error {
			return errors.Join(f.SavePersistables(ctx, dir), f.BarrierWorker(ctx))
		})
	})
}

// TestProgressIsChecked: what can't be kept is refused, and calls that make no sense say so.
func TestProgressIsChecked(t *testing.T) {
	t.Parallel()
	trial.Cluster(1, 1).Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		if err := f.SetProgress(fleet.Progress{}); f.IsServer() != errors.Is(err, fleet.ErrRole) || f.IsWorker() != errors.Is(err, fleet.ErrOrder) {
			return fmt.Errorf("SetProgress before Minimize: %w", err)
		}
		return trial.Play(ctx, f, trial.NewToy(), optimizer.SGD{LR: 1}, strategy.Sync(), func() error {
			for want, err := range map[string]error{
				"65537 bytes, it can have 65536": f.SetProgress(fleet.Progress{User: make([]byte, 1<<16+1)}),
				"Epoch is -1":                    f.SetProgress(fleet.Progress{Epoch: -1}),
				"set Strategy.Recovery.Dir":      f.Checkpoint(ctx),
			} {
				if err == nil || !strings.Contains(err.Error(), want) {
					return fmt.Errorf("error %v, want %q", err, want)
				}
			}
			return f.SetProgress(fleet.Progress{User: make([]byte, 1<<16)})
		})
	})
	if _, err := checkpoints.Latest(t.TempDir()); !errors.Is(err, checkpoints.ErrNone) {
		t.Errorf("Latest of nothing: %v", err)
	}
}

// effectsOnRecovery are what the fields of Recovery do, in every kind of job.
func effectsOnRecovery() map[string]effect {
	// numbers are those of the checkpoints that a trial of two minutes leaves.
	numbers := func(t *testing.T, x trial.Trial, r strategy.Recovery) (all []string) {
		r.Dir = filepath.Join(t.TempDir(), "checkpoints")
		x.Pace = []time.Duration{10 * time.Second, 11 * time.Second}
		x.With(func(s *strategy.Strategy) { s.Recovery = r }).Works(t)
		return names(t, r.Dir)
	}
	set := func(r strategy.Recovery) func(*strategy.Strategy) {
		return func(s *strategy.Strategy) {
			s.Recovery = r
			s.Recovery.Dir = "checkpoints"
		}
	}
	return map[string]effect{
		"Recovery.Dir": {
			set: set(strategy.Recovery{}),
			in:  trial.Places,
			shows: func(t *testing.T, x trial.Trial) {
				x.Steady = true
				dir, once := t.TempDir(), x.Works(t)
				for _, times := range []float64{1, 2} { // the second goes on from the first
					o := x.With(func(s *strategy.Strategy) { s.Recovery.Dir = dir }).Works(t)
					if got, want := o.Value(t, "w"), times*once.Value(t, "w"); got != want {
						t.Errorf("a weight is %v, want %v", got, want)
					}
				}
			},
		},
		"Recovery.Every": {
			set: set(strategy.Recovery{Every: strategy.Duration(time.Minute)}),
			in:  trial.Places,
			shows: func(t *testing.T, x trial.Trial) {
				often := len(numbers(t, x, strategy.Recovery{Every: strategy.Duration(9 * time.Second), Keep: 100}))
				if seldom := len(numbers(t, x, strategy.Recovery{Keep: 100})); seldom < 1 || seldom > 2 || often > 16 || often < 10 {
					t.Errorf("%d in two minutes, and %d every 9 s", seldom, often)
				}
			},
		},
		"Recovery.Keep": {
			set: set(strategy.Recovery{Keep: 3}),
			in:  trial.Places,
			shows: func(t *testing.T, x trial.Trial) {
				// The same step with the same progress is saved once where training has ended, so a trial leaves few of its own.
				for keep, want := range map[int]int{0: 2, 1: 1, 3: 3} {
					dir := t.TempDir()
					for range 4 {
						x.With(func(s *strategy.Strategy) { s.Recovery = strategy.Recovery{Dir: dir, Keep: keep} }).Works(t)
					}
					if got := names(t, dir); len(got) != want {
						t.Errorf("keep %d: there are %v", keep, got)
					}
				}
			},
		},
		"Recovery.Deltas": {
			set: set(strategy.Recovery{Deltas: 3}),
			in:  trial.Places,
			shows: func(t *testing.T, x trial.Trial) {
				for deltas, want := range map[int]bool{0: false, 3: true} {
					dir := filepath.Join(t.TempDir(), "checkpoints")
					x.Pace = []time.Duration{10 * time.Second, 11 * time.Second}
					r := strategy.Recovery{Dir: dir, Every: strategy.Duration(9 * time.Second), Keep: 100, Deltas: deltas}
					x.With(func(s *strategy.Strategy) { s.Recovery = r }).Works(t)
					var based []string
					for _, name := range names(t, dir) {
						if b := trial.Manifest(t, filepath.Join(dir, name)).Base; b != nil {
							based = append(based, name)
						}
					}
					if (len(based) > 0) != want {
						t.Errorf("%d deltas: %v are based on others", deltas, based)
					}
				}
			},
		},
		"Recovery.Journal": {
			set:   set(strategy.Recovery{Journal: strategy.JournalProcess, JournalDir: "journal"}),
			in:    trial.WithServers,
			shows: func(t *testing.T, x trial.Trial) { recordsIn(t, x, strategy.JournalProcess) },
		},
		"Recovery.JournalDir": {
			set:   set(strategy.Recovery{Journal: strategy.JournalMachine, JournalDir: "journal"}),
			in:    trial.WithServers,
			shows: func(t *testing.T, x trial.Trial) { recordsIn(t, x, strategy.JournalMachine) },
		},
		"Recovery.RestartTimeout": {
			set: set(strategy.Recovery{Journal: strategy.JournalProcess, JournalDir: "journal",
				RestartTimeout: strategy.Duration(10 * time.Minute)}),
			in: trial.WithServers,
			shows: func(t *testing.T, x trial.Trial) {
				for _, want := range []time.Duration{5 * time.Minute, 10 * time.Minute} {
					if got := waitedFor(t, x.Mode, want); got < want || got > want+time.Minute {
						t.Errorf("workers wait %v for a server that is gone, want %v", got, want)
					}
				}
			},
		},
		"Recovery.WorkerLost": {
			set: set(strategy.Recovery{WorkerLost: strategy.WorkerGoOn}),
			in:  []trial.Place{trial.InSync, trial.InSSP},
			shows: func(t *testing.T, x trial.Trial) {
				x.Gone = 3
				for _, lost := range []strategy.WorkerLost{"", strategy.WorkerGoOn, strategy.WorkerBack} {
					o := x.With(func(s *strategy.Strategy) { s.Recovery = strategy.Recovery{Dir: t.TempDir(), WorkerLost: lost} }).Run(t)
					back := lost != strategy.WorkerGoOn
					if errors.Is(o.Errs["server 0"], fleet.ErrWentBack) != back || (o.Errs["worker 0"] != nil) != back {
						t.Errorf("%q: server 0 ends with %v, worker 0 with %v", lost, o.Errs["server 0"], o.Errs["worker 0"])
					}
				}
			},
		},
	}
}
