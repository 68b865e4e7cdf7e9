package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// handLoop is a job with a loop of its own, as RECOVERY.md has it, that ends a period and publishes after each epoch. Roles are
// killed and started again.
type handLoop struct {
	mode    strategy.Mode
	journal bool   // servers keep journals
	dies    string // what has died: "worker 0", or "all"
	at      string // what worker 0 had done last in epoch 2
	behind  bool   // worker 1 is lost in epoch 0, and comes back when the others are in epoch 2
	asked   bool   // worker 1 is lost since it was asked to end, so that it is expected back
	deals   bool   // workers exchange rows before each epoch
	over    bool   // worker 1, lost in epoch 0, comes back when the job has ended without it: all are started again

	dir     string
	network *transport.Memory
	log     trial.Log
	mu      sync.Mutex
	lives   map[string]*handLife
	died    bool          // the death has come
	lost    bool          // worker 1 was
	back    chan struct{} // closed when it may come back
	counts  map[int]int   // of samples, by how often they were trained
	periods int
	ended   int // roles that have ended in a job that has lost a worker
}

// handLife is one process of a role.
type handLife struct {
	cable *trial.Cable
	end   context.CancelFunc
}

const handEpochs, handRows = 5, 16

var errDied = errors.New("it has died")

// TestALoopByHandGoesOn: whatever dies at whatever point after an epoch, each sample is trained once an epoch, each period ends
// once, and each base is saved once, by the loop of RECOVERY.md.
//
// Promise: [G6] what a loop by hand does between two epochs is done once, by name, whichever role dies
func TestALoopByHandGoesOn(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	cases := map[string]*handLoop{}
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeSSP, strategy.ModeGeo} {
		for _, at := range []string{"period", "base", "mark"} {
			for _, how := range []*handLoop{{dies: "worker 0", journal: true}, {dies: "worker 0"}, {dies: "all", journal: true}, {dies: "all"}} {
				for _, behind := range []bool{false, true} {
					if j := (&handLoop{mode: mode, at: at, dies: how.dies, journal: how.journal, behind: behind}); !behind || !inStep(mode) {
						cases[fmt.Sprintf("%s, %s dies after its %s, journal %t, one behind %t", mode, how.dies, at, how.journal, behind)] = j
					}
				}
			}
		}
	}
	for name, j := range trial.SomeOf(t, cases) {
		t.Run(name, func(t *testing.T) { j.run(t) })
	}
}

// TestAJobThatEndedWithoutAWorkerGoesOn: all roles are started again, the workers that had stopped too, and each makes the
// collectives of the one that was lost. None goes back to a checkpoint.
//
// Promise: [G6] a job that ended without a worker, and is started again, trains what that worker had left, once
func TestAJobThatEndedWithoutAWorkerGoesOn(t *testing.T) {
	t.Parallel()
	for _, mode := range []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo} {
		for _, asked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, it was asked to end: %t", mode, asked), func(t *testing.T) {
				(&handLoop{mode: mode, journal: true, died: true, behind: true, over: true, asked: asked}).run(t)
			})
		}
	}
}

// TestLoopsThatExchangeRowsGoBack: the next process of a worker can't get its rows from the others, which are elsewhere. The
// job goes back to its last checkpoint, also if servers keep journals.
//
// Promise: [G6] a restarted worker whose rows were exchanged with others sends the job back to its checkpoint
func TestLoopsThatExchangeRowsGoBack(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	cases := map[string]*handLoop{}
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeSSP, strategy.ModeGeo} {
		for _, at := range []string{"period", "base", "mark"} {
			for _, dies := range []string{"worker 0", "all"} {
				cases[fmt.Sprintf("%s, %s dies after its %s", mode, dies, at)] = &handLoop{mode: mode, at: at, dies: dies, journal: true, deals: true}
			}
		}
	}
	for name, j := range trial.SomeOf(t, cases) {
		t.Run(name, func(t *testing.T) { j.run(t) })
	}
}

func (j *handLoop) run(t *testing.T) {
	j.dir, j.lives = t.TempDir(), map[string]*handLife{}
	synctest.Test(t, func(t *testing.T) {
		j.network, j.back = transport.NewMemory(), make(chan struct{})
		c := trial.Cluster(2, 2)
		c.Options.Transport = j.network
		for role, err := range c.Errors(t, j.live) {
			if err != nil {
				t.Errorf("%s: %v\n%s", role, err, j.log.String())
			}
		}
	})
	last, err := checkpoints.Latest(filepath.Join(j.dir, "checkpoints"))
	if err != nil {
		t.Fatal(err)
	}
	j.counts, j.periods = handCounts(t, last.Dir)
	if !j.died {
		t.Error("nothing has died")
	}
	if len(j.counts) != 1 || j.counts[handEpochs] != handRows {
		t.Errorf("samples by how often they were trained: %v, want %d %d times\n%s", j.counts, handRows, handEpochs, j.log.String())
	}
	if j.periods != handEpochs {
		t.Errorf("%d periods have ended, want %d\n%s", j.periods, handEpochs, j.log.String())
	}
	if saved := len(j.log.Lines("fleet: a model for serving")); j.journal && saved != handEpochs && !inStep(j.mode) && !j.deals {
		t.Errorf("%d bases were saved, want %d", saved, handEpochs)
	}
}

// live has a role play its part, again whenever it was killed or went back.
func (j *handLoop) live(ctx context.Context, f *fleet.Fleet) error {
	role := roleName(f)
	var closing sync.WaitGroup // of the killed, which don't know
	defer closing.Wait()
	for {
		own := &trial.Cable{Transport: j.network}
		again, err := another(f, own, j.log.Logger())
		if err != nil {
			return err
		}
		life, cancel := context.WithCancel(ctx)
		j.mu.Lock()
		j.lives[role] = &handLife{own, cancel}
		j.mu.Unlock()
		err = j.play(life, again)
		if j.asked && errors.Is(err, errDied) {
			cancel()
			time.Sleep(time.Millisecond) // it notices
		}
		killed := life.Err() != nil && ctx.Err() == nil
		if killed {
			closing.Go(again.Close)
		} else {
			again.Close()
		}
		cancel()
		switch {
		case j.over && j.outlived(ctx, err):
		case err == nil:
			return nil
		case errors.Is(err, errDied):
			<-j.back
		case !killed && (j.over || !errors.Is(err, fleet.ErrWentBack)): // where it is over, servers have all that was trained
			return err
		}
		time.Sleep(5 * time.Second)
	}
}

// outlived reports, once for each role but worker 1, that it has ended in a job that has lost a worker. It returns when all three
// have.
func (j *handLoop) outlived(ctx context.Context, err error) bool {
	j.mu.Lock()
	again := (err == nil || errors.Is(err, fleet.ErrWorkersDied)) && j.ended < 3
	if again {
		if j.ended++; j.ended == 3 {
			close(j.back)
		}
	}
	j.mu.Unlock()
	if again {
		select {
		case <-j.back:
		case <-ctx.Done():
		}
	}
	return again
}

// another is the next process of a role.
func another(f *fleet.Fleet, net transport.Transport, log *slog.Logger) (*fleet.Fleet, error) {
	role := rolemaker.UserDefined{Role: rolemaker.Worker, WorkerNum: f.WorkerNum(), ServerEndpoints: f.ServerEndpoints(),
		CurrentID: f.WorkerIndex()}
	if f.IsServer() {
		role.Role, role.CurrentID = rolemaker.Server, f.ServerIndex()
	}
	return fleet.New(context.Background(), role, fleet.Options{Transport: net, Logger: log})
}

// reached kills what is to die, when worker 0 has done something.
func (j *handLoop) reached(f *fleet.Fleet, epoch int, what string) error {
	if !f.IsFirstWorker() || epoch != 2 || what != j.at {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.died {
		return nil
	}
	j.died = true
	for role, l := range j.lives {
		if j.dies == "all" || j.dies == role {
			l.cable.Kill()
			l.end()
		}
	}
	return context.Canceled
}

func (j *handLoop) play(ctx context.Context, f *fleet.Fleet) error {
	s := strategy.Strategy{Mode: j.mode}
	if j.mode == strategy.ModeGeo {
		s.KSteps = 1
	}
	s.Recovery = strategy.Recovery{Dir: filepath.Join(j.dir, "checkpoints"), Every: strategy.Duration(time.Hour)}
	if j.journal {
		s.Recovery.Journal, s.Recovery.JournalDir = strategy.JournalProcess, filepath.Join(j.dir, "journal")
	}
	const batch = 2
	scale := float32(batch) // so that each sample takes 1 from its row
	if j.mode == strategy.ModeSync {
		scale *= float32(f.WorkerNum())
	}
	g := nn.NewGraph(1)
	row := nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Name: "ledger", Dim: 1, Init: optimizer.Constant{}})
	loss := nn.Scale(nn.Mean(row), scale, 0)
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, s)
	if err == nil {
		err = opt.Minimize(loss)
	}
	if err != nil {
		return err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	exe := nn.NewExecutor(g)
	data := dataset.Generate(handRows, func(i int, row dataset.Row) error { row.IDs(0)[0] = uint64(i); return nil }, dataset.IDs("id"))
	for epoch := f.FirstEpoch(); epoch < handEpochs; epoch++ {
		if j.deals {
			if err := deal(ctx, f); err != nil {
				return err
			}
		}
		mine := data.Shuffle(1).Epoch(epoch).Shard(f.WorkerIndex(), f.WorkerNum())
		step := func(_ context.Context, so nn.TrainResult) error { return j.step(f, epoch, so) }
		if _, err := exe.TrainFrom(ctx, mine.Batches(batch), nn.TrainOptions{Step: step}); err != nil {
			return err
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		if err := j.publish(ctx, f, row, epoch); err != nil {
			return err
		}
		if err := within(ctx, func() error { return f.SetProgress(fleet.Progress{Epoch: epoch + 1}) }); err != nil {
			return err
		}
		if err := j.reached(f, epoch, "mark"); err != nil {
			return err
		}
		if err := f.Checkpoint(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(exe.Close(ctx), f.BarrierWorker(ctx)); err != nil {
		return err
	}
	if j.over {
		if _, err := f.AllGatherBytes(ctx, []byte("over")); err != nil {
			return err
		}
	}
	return f.StopWorker(ctx)
}

// within ends with ctx, at the latest: a process that is killed is in no call.
func within(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// deal is an exchange of rows: no worker has all of them without the others.
func deal(ctx context.Context, f *fleet.Fleet) error {
	all, err := f.AllGatherBytes(ctx, []byte{byte(f.WorkerIndex())})
	for w, own := range all {
		if err == nil && (len(own) != 1 || own[0] != byte(w)) {
			err = fmt.Errorf("worker %d has brought %v, and not its rows", w, own)
		}
	}
	return err
}

// step takes a second. Worker 1 may be lost, with what it has trained so far on the servers.
func (j *handLoop) step(f *fleet.Fleet, epoch int, so nn.TrainResult) error {
	time.Sleep(time.Second)
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.behind && !j.lost && f.WorkerIndex() == 1 && so.Steps == 2:
		j.lost = true
		return errDied
	case j.behind && !j.over && f.WorkerIndex() == 0 && epoch == 2 && j.lost:
		select {
		case <-j.back:
		default:
			close(j.back)
		}
	}
	return nil
}

// publish ends the period and saves a base, on worker 0.
func (j *handLoop) publish(ctx context.Context, f *fleet.Fleet, out *nn.Node, epoch int) error {
	if !f.IsFirstWorker() {
		return nil
	}
	name := strconv.Itoa(epoch)
	if _, err := f.Shrink(ctx, fleet.ShrinkOptions{Period: name}); err != nil {
		return err
	}
	if err := j.reached(f, epoch, "period"); err != nil {
		return err
	}
	saved, err := f.SaveModel(ctx, filepath.Join(j.dir, "base", name), fleet.SaveOptions{Mode: fleet.SaveBase, Name: name, Model: nn.Inference(out)})
	if err == nil && saved.Rows == 0 {
		err = fmt.Errorf("base %s has no rows", name)
	}
	if err != nil {
		return err
	}
	return j.reached(f, epoch, "base")
}

// handCounts reads from a checkpoint how often each sample was trained, and how many periods have ended.
func handCounts(t *testing.T, dir string) (counts map[int]int, periods int) {
	t.Helper()
	counts = map[int]int{}
	parts, err := filepath.Glob(filepath.Join(dir, "part-*.safetensors"))
	for _, name := range parts {
		text, e := os.ReadFile(name)
		rows, more := trial.TensorOf[float32](text, "ledger.rows")
		for _, w := range rows {
			counts[int(-math.Round(float64(w)))]++
		}
		if m := regexp.MustCompile(`clock\\*":(\d+)`).FindSubmatch(text); m != nil {
			periods, _ = strconv.Atoi(string(m[1]))
		}
		err = errors.Join(err, e, more)
	}
	if err != nil {
		t.Error(err)
	}
	return counts, periods
}

// TestModelsAreSavedOnceByName in every kind of job: a base and a batch whose directories are whole are not saved again, and a
// batch ends its period once. One that was damaged is saved again, a delta is refused, and a name has one choice of options.
func TestModelsAreSavedOnceByName(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, j := range map[string]struct {
		servers, workers int
		mode             strategy.Mode
	}{"sync": {2, 2, strategy.ModeSync}, "async": {2, 2, strategy.ModeAsync}, "collective": {0, 2, strategy.ModeSync}, "alone": {0, 1, strategy.ModeSync}} {
		t.Run(name, func(t *testing.T) {
			dir, log := t.TempDir(), new(trial.Log)
			c := trial.Cluster(j.servers, j.workers)
			c.Options.Logger = log.Logger()
			c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				g := nn.NewGraph(1)
				row := nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Name: "ledger", Dim: 1, Init: optimizer.Constant{}})
				opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, strategy.Strategy{Mode: j.mode})
				if err == nil {
					err = opt.Minimize(nn.Mean(row))
				}
				if err != nil {
					return err
				}
				if f.IsServer() {
					return errors.Join(f.InitServer(ctx, ""), f.RunServer(ctx))
				}
				if err := f.InitWorker(ctx); err != nil {
					return err
				}
				exe := nn.NewExecutor(g)
				data := dataset.Generate(handRows, func(i int, row dataset.Row) error { row.IDs(0)[0] = uint64(i); return nil }, dataset.IDs("id"))
				if _, err := exe.TrainFrom(ctx, data.Shard(f.WorkerIndex(), f.WorkerNum()).Batches(2), nn.TrainOptions{}); err != nil {
					return err
				}
				if err := f.BarrierWorker(ctx); err != nil {
					return err
				}
				if f.IsFirstWorker() || f.ServerNum() == 0 {
					if err := savesByName(ctx, f, dir, nn.Inference(row)); err != nil {
						return err
					}
				}
				return errors.Join(f.BarrierWorker(ctx), f.StopWorker(ctx))
			})
			if saved := log.Lines("fleet: a model for serving"); len(saved) != 3 {
				t.Errorf("%d models were saved, want a base, its delta, and the base in place of the damaged one:\n%s", len(saved), log.String())
			}
			if _, periods := handCounts(t, filepath.Join(dir, "after")); periods != 1 {
				t.Errorf("%d periods have ended, want 1", periods)
			}
			if err := errors.Join(failed(os.Stat(filepath.Join(dir, "batch", "manifest.json"))), failed(serve.Load(filepath.Join(dir, "base")))); err != nil {
				t.Error(err)
			}
		})
	}
}

func savesByName(ctx context.Context, f *fleet.Fleet, dir string, m optimizer.Model) error {
	in := func(name string) string { return filepath.Join(dir, name) }
	base := fleet.SaveOptions{Mode: fleet.SaveBase, Name: "day", Model: m}
	delta := fleet.SaveOptions{Mode: fleet.SaveDelta, Name: "day", Model: m}
	batch := fleet.SaveOptions{Mode: fleet.SaveBatch, Name: "day"}
	first, err := f.SaveModel(ctx, in("base"), base)
	if err != nil {
		return err
	}
	if again, err := f.SaveModel(ctx, in("base"), base); err != nil || again != first || f.IsFirstWorker() && first.Rows != handRows {
		return fmt.Errorf("saved as %+v, and then %+v: %w", first, again, err)
	}
	for what, err := range map[string]error{
		"in another directory": failed(f.SaveModel(ctx, in("other"), base)),
		"with other options":   failed(f.SaveModel(ctx, in("base"), fleet.SaveOptions{Mode: fleet.SaveBase, Name: "day", Model: m, DeltaKeepDays: 3})),
	} {
		if f.IsFirstWorker() && (err == nil || !strings.Contains(err.Error(), "other options") && !strings.Contains(err.Error(), "by any table")) {
			return fmt.Errorf("the same name %s: %w", what, err)
		}
	}
	for range 2 {
		if err := errors.Join(failed(f.SaveModel(ctx, in("delta"), delta)), failed(f.SaveModel(ctx, in("batch"), batch))); err != nil {
			return err
		}
	}
	if f.IsFirstWorker() {
		for _, d := range []string{"base", "delta", "batch"} {
			if err := os.RemoveAll(in(d)); err != nil {
				return err
			}
		}
	}
	if f.ServerNum() == 0 {
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
	}
	if err := failed(f.SaveModel(ctx, in("delta"), delta)); f.IsFirstWorker() && !errors.Is(err, fleet.ErrNoBase) {
		return fmt.Errorf("a delta that is gone: %w", err)
	}
	return errors.Join(failed(f.SaveModel(ctx, in("base"), base)), failed(f.SaveModel(ctx, in("batch"), batch)), f.SavePersistables(ctx, in("after")))
}
