package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"gorgonia.org/tensor"
)

// counting is a job that trains on a table of samples, of which each adds 1 to a weight of its own: so the weights tell how often each has
// counted. It saves checkpoints in the middle of epochs. All of its roles die together, and are started again, as often as dies says.
type counting struct {
	trial.Job
	loop     string // by which workers train; one of countingLoops
	recovery strategy.Recovery
	dies     []int  // after how many batches, of all workers, each life of the job ends; the last comes to its end
	restarts int    // after how many batches of its own worker 1 ends alone and is started again; 0 for never
	halfway  string // the server that worker 1's last pushes come to before it ends, and no other; empty for none
	latency  time.Duration
	pause    func() time.Duration       // that a batch takes to compute; nil is a second
	asked    []map[string]time.Duration // by life, when each role is asked to end

	mu      sync.Mutex
	batches int // in this life
	began   []fleet.Position
	model   []byte
	masks   map[string]int // what Dropout has dropped of ones, and how often
	log     trial.Log
}

const (
	countedSamples, countedBatch, countedEpochs = 96, 4, 2
	countedThreads, countedKSteps               = 2, 3
)

// masking is what a loop fetches in each step, and who is given it.
type masking struct {
	mask *nn.Node
	note func(*tensor.Dense)
}

func (c masking) options() nn.TrainOptions {
	return nn.TrainOptions{Fetch: []*nn.Node{c.mask}, Step: func(_ context.Context, so nn.TrainResult) error {
		c.note(so.Last()[0])
		return nil
	}}
}

// countingLoops train on a worker's rows of an epoch.
var countingLoops = map[string]func(context.Context, *fleet.Fleet, *nn.Executor, masking, *dataset.Dataset, int) error{
	"TrainFrom": func(ctx context.Context, _ *fleet.Fleet, exe *nn.Executor, c masking, rows *dataset.Dataset, _ int) error {
		_, err := exe.TrainFrom(ctx, rows.Batches(countedBatch), c.options())
		return err
	},
	"TrainThreads": func(ctx context.Context, _ *fleet.Fleet, _ *nn.Executor, c masking, rows *dataset.Dataset, _ int) error {
		_, err := nn.TrainThreads(ctx, c.mask.Graph(), countedThreads, func(thread int) iter.Seq2[dataset.Batch, error] {
			return rows.Shard(thread, countedThreads).Batches(countedBatch)
		}, c.options())
		return err
	},
	"by hand": func(ctx context.Context, f *fleet.Fleet, exe *nn.Executor, c masking, rows *dataset.Dataset, epoch int) error {
		for batch, err := range rows.Skip(f.Position().In(epoch)).MayBeEmpty().Batches(countedBatch) {
			if err != nil {
				return err
			}
			last, err := exe.Train(ctx, batch, c.mask)
			if err != nil {
				return err
			}
			c.note(last[0])
		}
		return exe.Close(ctx)
	},
}

// run runs the job in virtual time until a life of it comes to its end.
func (j *counting) run(t *testing.T) *counting {
	t.Helper()
	for life := range max(len(j.dies), len(j.asked)) + 1 {
		dir := t.TempDir()
		latest, none := checkpoints.Latest(j.recovery.Dir)
		synctest.Test(t, func(t *testing.T) { j.live(t, life, dir) })
		if life > 0 && none == nil && !slices.Equal(j.began, latest.Positions) {
			t.Errorf("life %d begins at %v, its checkpoint has %v", life, j.began, latest.Positions)
		}
		if _, err := os.Stat(trial.WeightsFile(dir)); err == nil {
			j.model = trial.Weights(t, dir)
		}
	}
	return j
}

func (j *counting) live(t *testing.T, life int, dir string) {
	ctx, die := context.WithCancelCause(t.Context())
	defer die(nil)
	c := j.Cluster
	c.Options.Transport, c.Options.Logger = trial.Latent(j.latency)(transport.NewMemory()), j.log.Logger()
	j.batches, j.began = 0, make([]fleet.Position, c.Workers)
	taken := func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.batches++; life < len(j.dies) && j.batches > j.dies[life] {
			die(errKilled)
		}
	}
	for role, err := range c.Errors(t, func(_ context.Context, f *fleet.Fleet) error {
		if j.restarts > 0 && f.IsWorker() && f.WorkerIndex() == 1 {
			return j.twice(ctx, f, c.Options.Transport, dir)
		}
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		if life < len(j.asked) {
			defer time.AfterFunc(j.asked[life][roleName(f)], func() { end(errTerminated) }).Stop()
		}
		return j.play(ctx, f, dir, taken)
	}) {
		if err != nil && life == max(len(j.dies), len(j.asked)) {
			t.Errorf("%s: %v", role, err)
		}
	}
}

// twice plays a worker that ends and is started again.
func (j *counting) twice(ctx context.Context, f *fleet.Fleet, network transport.Transport, dir string) error {
	first, die := context.WithCancelCause(ctx)
	defer die(nil)
	var n atomic.Int64
	ends := func() {
		if n.Add(1) > int64(j.restarts) {
			die(errKilled)
		}
	}
	if j.halfway != "" {
		var err error
		if f, err = trial.Another(f, j.diesHalfway(network, &n, ends)); err != nil {
			return err
		}
	}
	if err := j.play(first, f, dir, ends); err == nil {
		return errors.New("the first life has come to its end")
	}
	f.Close()
	again, err := trial.Another(f, network)
	if err != nil {
		return err
	}
	defer again.Close()
	return j.play(ctx, again, dir, func() {})
}

// diesHalfway is worker 1's way to the network. Behind half of its batches pushes come to one server alone, and when that has one it ends.
func (j *counting) diesHalfway(below transport.Transport, batches *atomic.Int64, ends func()) transport.Transport {
	return &trial.Tap{Transport: below, Before: func(endpoint string, req [][]byte) error {
		h, err := wire.ParseHeader(bytes.Join(req, nil)[trial.Envelope:])
		if err != nil || h.Op != wire.OpStep || h.Samples == 0 || endpoint == j.halfway || 2*batches.Load() < int64(j.restarts) {
			return err
		}
		time.Sleep(5 * time.Second) // the other has it by then
		batches.Store(int64(j.restarts))
		ends()
		return trial.ErrPulled
	}}
}

// play plays a role; a worker calls taken for each batch that it takes.
func (j *counting) play(ctx context.Context, f *fleet.Fleet, dir string, taken func()) error {
	g := nn.NewGraph(1)
	counts := nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Name: "counts", Height: countedSamples, Dim: 1, Init: optimizer.Constant{}})
	ones := g.Parameter(nn.ParameterOptions{Name: "ones", Init: optimizer.Constant{Value: 1}, Frozen: true}, 64)
	mask := nn.Dropout(ones, 0.5)
	y := nn.Linear(nn.Dropout(g.Input("x", 2), 0.2), 1, nn.LinearOptions{})
	loss := nn.Subtract(nn.Mean(nn.SquareError(y, g.Input("y", 1))), nn.Mean(counts))
	loss = nn.Add(loss, nn.Scale(nn.Mean(mask), 0, 0))
	s := j.Strategy
	s.Recovery = j.recovery
	if s.Mode == strategy.ModeGeo {
		s.KSteps = countedKSteps
	}
	sgd := optimizer.SGD{LR: countedBatch * j.joined()}
	var rule optimizer.Rule = optimizer.PerParam{Rule: optimizer.Adam{LR: 0.01}, By: map[string]optimizer.Rule{"counts": sgd}}
	switch s.Mode {
	case strategy.ModeGeo:
		rule = sgd
	case strategy.ModeHalfAsync:
		s.Merge = strategy.MergeSum
	}
	return trial.Play(ctx, f, loss, rule, s, func() error {
		j.mu.Lock()
		j.began[f.WorkerIndex()] = f.Position()
		j.mu.Unlock()
		exe := nn.NewExecutor(g)
		for epoch := f.Progress().Epoch; epoch < countedEpochs; epoch++ {
			rows := countedRows().Shuffle(7).Epoch(epoch).Shard(f.WorkerIndex(), f.WorkerNum()).Map(func(dataset.Batch) error {
				taken()
				time.Sleep(j.computes())
				return ctx.Err()
			})
			if err := countingLoops[j.loop](ctx, f, exe, masking{mask, j.masked}, rows, epoch); err != nil {
				return err
			}
			if err := errors.Join(f.BarrierWorker(ctx), f.SetProgress(fleet.Progress{Epoch: epoch + 1})); err != nil {
				return err
			}
		}
		if err := errors.Join(exe.Close(ctx), f.BarrierWorker(ctx)); err != nil || !f.IsFirstWorker() {
			return err
		}
		return f.SaveInferenceModel(ctx, dir, nn.Inference(counts, y))
	})
}

// masked notes what a step has dropped.
func (j *counting) masked(mask *tensor.Dense) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.masks == nil {
		j.masks = map[string]int{}
	}
	j.masks[fmt.Sprint(mask.Float32s())]++
}

// computes is how long the next batch takes.
func (j *counting) computes() time.Duration {
	if j.pause == nil {
		return time.Second
	}
	return j.pause()
}

// joined is how many workers' batches make one update.
func (j *counting) joined() float64 {
	if j.Strategy.Mode == strategy.ModeSync {
		return float64(j.Cluster.Workers)
	}
	return 1
}

func countedRows() *dataset.Dataset {
	ids, x, y := make([]int64, countedSamples), make([]float32, 2*countedSamples), make([]float32, countedSamples)
	for i := range ids {
		ids[i], x[2*i], x[2*i+1], y[i] = int64(i), float32(i%7)/50, float32(i%11)/50, float32(i%5)
	}
	return dataset.FromColumns(dataset.IntValues("id", ids, 1), dataset.FloatValues("x", x, 2), dataset.FloatValues("y", y, 1))
}

// counts are how often each sample has counted.
func (j *counting) counts(t *testing.T) []float32 { return trial.Tensor[float32](t, j.model, "counts") }

// TestEachSampleOnce: all roles of a job die in the middle of its epochs and go back to a checkpoint, as often as is drawn. In every mode
// but geo and by every loop each sample has counted once an epoch in the end, and where bits repeat they are those of a job that never
// died. In geo none has counted more often, and less is missing than each worker changes between two exchanges.
//
// Promise: [G6] a job that goes on in the middle of an epoch counts each sample once, in geo none twice; positions
// that don't fit begin the epoch anew
// Also: TestPositionsThatDontFit, TestPositionsOfUnknownThreads, TestPositionsOfAJournalWithoutPushes,
// TestEverySampleOnce (internal/progress), TestTracker (internal/progress), TestWindowPositions (internal/roster)
func TestEachSampleOnce(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	trial.EachSeed(t, 1, func(seed trial.Seed) {
		for name, job := range trial.SomeOf(t, countedJobs(t)) {
			for loop := range trial.SomeOf(t, countingLoops) {
				m := job.Strategy.Mode
				if loop == "TrainThreads" && mode.Of(m).Lockstep && name != "alone" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, loop, seed.N), func(t *testing.T) { once(t, seed, job, loop) })
			}
		}
	})
}

// countedJobs are those of every kind, and of pushes that are made of several steps and overtake each other.
func countedJobs(t *testing.T) map[string]trial.Job {
	all := trial.Jobs(t)
	merged, queued := all["sync"], all["async"]
	merged.Strategy.GradientMerge = strategy.GradientMerge{KSteps: 2, Sum: true}
	queued.Strategy.MaxMergeVarNum, queued.Strategy.SendQueueSize, queued.Strategy.ThreadPoolSize = 3, 3, 3
	queued.Strategy.Merge = strategy.MergeSum
	all["sync, merged"], all["async, queued"] = merged, queued
	return all
}

func once(t *testing.T, seed trial.Seed, job trial.Job, loop string) {
	r := rand.New(rand.NewPCG(seed.N, 3))
	j := &counting{Job: job, loop: loop, latency: 700 * time.Millisecond, recovery: strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(3 * time.Second)}}
	all := countedEpochs * countedSamples / countedBatch
	for range 1 + r.IntN(3) {
		j.dies = append(j.dies, 1+r.IntN(all/2))
	}
	counts := j.run(t).counts(t)
	if job.Strategy.Mode == strategy.ModeGeo {
		lost := float32(countedEpochs*countedSamples) - sumOf(counts)
		if most := float32(len(j.dies) * job.Cluster.Workers * countedKSteps * countedBatch); slices.Max(counts) > countedEpochs || lost > most {
			t.Errorf("dies after %v: %v samples are missing of at most %v: they have counted %v times", j.dies, lost, most, counts)
		}
		return
	}
	never := (&counting{Job: job, loop: loop}).run(t)
	if want := countedEpochs * countedSamples / countedBatch; len(never.masks) != want {
		t.Errorf("%d steps have dropped in %d ways", want, len(never.masks))
	}
	for mask := range j.masks {
		if never.masks[mask] == 0 {
			t.Errorf("dies after %v: what a step dropped, no step of a job that never died does", j.dies)
		}
	}
	if slices.Min(counts) != countedEpochs || slices.Max(counts) != countedEpochs {
		t.Errorf("dies after %v: samples have counted %v times, want %d", j.dies, counts, countedEpochs)
	}
	if job.Strategy.Mode != strategy.ModeSync || loop == "TrainThreads" {
		return
	}
	if !bytes.Equal(never.model, j.model) {
		t.Errorf("dies after %v: weights are not those of a job that never died", j.dies)
	}
}

// TestASecondLifeGoesOn: a worker ends with pushes on their way and is started again, while the others train on. It goes on at its own
// position: no sample is left out, and at most those count twice that were on their way. In geo none does, and at most what an exchange had left
// is missing.
//
// Promise: [G6] a worker that is started again alone repeats at most what was on its way, in geo nothing
// Also: TestAnExchangeThatCameHalfway
func TestASecondLifeGoesOn(t *testing.T) {
	t.Parallel()
	trial.EachSeed(t, 2, func(seed trial.Seed) {
		for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
			s := job.Strategy.WithDefaults()
			if job.Cluster.Servers == 0 || mode.Of(s.Mode).Lockstep {
				continue
			}
			for _, loop := range []string{"TrainFrom", "TrainThreads"} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, loop, seed.N), func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed.N, 4))
					j := &counting{Job: job, loop: loop, restarts: 1 + r.IntN(22), latency: 400 * time.Millisecond}
					counts := j.run(t).counts(t)
					threads := 1
					if loop == "TrainThreads" {
						threads = countedThreads
					}
					least, most := j.bounds(threads)
					if sum := sumOf(counts); sum < least || sum > most || s.Mode != strategy.ModeGeo && slices.Min(counts) < countedEpochs {
						t.Errorf("ends after %d batches: samples have counted %v times together, want %v to %v: %v", j.restarts, sum, least, most, counts)
					}
					if j.began[1].Samples == 0 && j.began[1].Epoch == 0 && j.restarts > 8 {
						t.Error("the second life begins at the first sample")
					}
				})
			}
		}
	})
}

// TestAnExchangeThatCameHalfway: a worker of mode geo ends when an exchange has come to one server and not to the other. Its next life
// trains none of it again: no sample counts twice, and at most that exchange, and what it had left, are missing.
func TestAnExchangeThatCameHalfway(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, journal := range []bool{false, true} {
		for _, server := range trial.Some(t, []string{"server-0:1", "server-1:1"}) {
			t.Run(fmt.Sprintf("%s, journal %t", server, journal), func(t *testing.T) {
				j := &counting{Job: trial.Jobs(t)["geo"], loop: "TrainFrom", restarts: 12, halfway: server, latency: 400 * time.Millisecond}
				if journal {
					j.recovery = strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(3 * time.Second),
						Journal: strategy.JournalProcess, JournalDir: t.TempDir()}
				}
				counts := j.run(t).counts(t)
				least := float32(countedEpochs*countedSamples - 3*countedKSteps*countedBatch)
				if sum := sumOf(counts); slices.Max(counts) > countedEpochs || sum < least {
					t.Errorf("samples have counted %v times together, want %v at least, and each %d times at most: %v", sum, least, countedEpochs,
						counts)
				}
			})
		}
	}
}

// bounds are how often all samples together count, at least and at most, when worker 1 ends once.
func (j *counting) bounds(threads int) (least, most float32) {
	s, all := j.Strategy.WithDefaults(), float32(countedEpochs*countedSamples)
	switch batches := float32(threads * countedBatch); s.Mode {
	case strategy.ModeGeo:
		return all - countedKSteps*countedBatch, all
	case strategy.ModeHalfAsync:
		return all, all + batches
	default:
		return all, all + batches*float32((s.SendQueueSize+s.ThreadPoolSize)*s.MaxMergeVarNum)
	}
}

func sumOf(all []float32) (sum float32) {
	for _, x := range all {
		sum += x
	}
	return sum
}

// TestPositionsOfAJournalWithoutPushes: a job goes on from a checkpoint, with journals, and all roles are killed before anything was pushed. Those
// who are started again begin at the positions of the checkpoint, as the ones before did.
func TestPositionsOfAJournalWithoutPushes(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	j := &counting{Job: trial.Jobs(t)["async"], loop: "by hand", latency: 700 * time.Millisecond, dies: []int{16, 0},
		recovery: strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(3 * time.Second)}}
	for life := range 3 {
		if life == 1 {
			j.recovery.Journal, j.recovery.JournalDir = strategy.JournalProcess, t.TempDir()
		}
		dir := t.TempDir()
		latest, _ := checkpoints.Latest(j.recovery.Dir)
		synctest.Test(t, func(t *testing.T) { j.live(t, life, dir) })
		if life == 2 && (!slices.Equal(j.began, latest.Positions) || latest.Positions[0].Samples == 0) {
			t.Errorf("life %d begins at %v, its checkpoint has %v", life, j.began, latest.Positions)
		}
	}
}

// TestPositionsThatDontFit: a job goes on with another number of workers, or of training threads, so that the shares of the data are others.
// The epoch that was under way begins anew, and the log says so.
func TestPositionsThatDontFit(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, c := range trial.SomeOf(t, map[string]struct {
		before, after fleettest.Cluster
		loop, says    string
		times         int // that the log says it: server 0 and worker 0 do, whose logs are two
	}{
		"servers":    {trial.Cluster(2, 2), trial.Cluster(1, 3), "TrainFrom", "another number of workers", 2},
		"collective": {trial.Cluster(0, 2), trial.Cluster(0, 3), "TrainFrom", "another number of workers", 1},
		"threads":    {trial.Cluster(0, 1), trial.Cluster(0, 1), "TrainThreads", "another number of training threads", 1},
	}) {
		t.Run(name, func(t *testing.T) {
			r := strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(3 * time.Second)}
			j := &counting{Job: trial.Job{Cluster: c.before, Strategy: strategy.Sync()}, loop: c.loop, recovery: r, dies: []int{16}}
			synctest.Test(t, func(t *testing.T) { j.live(t, 0, t.TempDir()) })
			latest, err := checkpoints.Latest(r.Dir)
			if err != nil || latest.Positions[0].Samples == 0 {
				t.Fatalf("there is %v, error %v", latest.Positions, err)
			}
			j = (&counting{Job: trial.Job{Cluster: c.after, Strategy: strategy.Sync()}, loop: "TrainFrom", recovery: r}).run(t)
			if counts := j.counts(t); slices.Min(counts) != countedEpochs || slices.Max(counts) != countedEpochs+1 {
				t.Errorf("samples have counted %v times, want %d, and one more where the checkpoint had them", counts, countedEpochs)
			}
			if len(j.log.Lines(c.says)) != c.times {
				t.Errorf("the log says %q", j.log.String())
			}
		})
	}
}

// TestPositionsOfUnknownThreads: several executors of a program's own that train at once have positions if they say which threads they
// are, and none if they don't, so that none of their samples is left out.
func TestPositionsOfUnknownThreads(t *testing.T) {
	t.Parallel()
	for say, want := range map[bool]int{true: 3 * countedBatch, false: 0} {
		dir := t.TempDir()
		life := func(steps int) (began fleet.Position) {
			trial.Cluster(0, 1).Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				g := nn.NewGraph(1)
				loss := nn.Mean(nn.SquareError(nn.Linear(g.Input("x", 2), 1, nn.LinearOptions{}), g.Input("y", 1)))
				s := strategy.Sync()
				s.Recovery = strategy.Recovery{Dir: dir}
				return trial.Play(ctx, f, loss, optimizer.SGD{LR: 0.1}, s, func() error {
					began = f.Position()
					return inTurns(ctx, g, say, steps)
				})
			})
			return began
		}
		life(3)
		if p := life(0); p.Samples != want {
			t.Errorf("threads that say who they are: %t: the job goes on at %v, want sample %d", say, p, want)
		}
	}
}

// inTurns has two executors train, one after the other, which say that they are threads or don't.
func inTurns(ctx context.Context, g *nn.Graph, say bool, steps int) error {
	exes := []*nn.Executor{nn.NewExecutor(g), nn.NewExecutor(g)}
	for i, exe := range exes {
		if say {
			exe.SetThread(i, len(exes))
		}
	}
	step := 0
	for batch, err := range countedRows().Take(steps * countedBatch).MayBeEmpty().Batches(countedBatch) {
		if err == nil {
			_, err = exes[step%2].Train(ctx, dataset.Batch{"x": batch["x"], "y": batch["y"]})
		}
		if err != nil {
			return err
		}
		step++
	}
	return errors.Join(exes[0].Close(ctx), exes[1].Close(ctx))
}
