package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// trainGiven trains a vector that begins with 1, 2 on every worker, and returns each one's weights in the end, after its epoch
// has ended or before.
func trainGiven(t *testing.T, workers int, rule optimizer.Rule, s strategy.Strategy, endEpoch bool,
	steps func(ctx context.Context, worker int, g *trial.Given) error) [][]float32 {
	t.Helper()
	weights := make([][]float32, workers)
	fleettest.Run(t, 0, workers, func(ctx context.Context, f *fleet.Fleet) error {
		g, w := trial.NewGiven(1, 2), f.WorkerIndex()
		return trial.Play(ctx, f, g, rule, s, func() (err error) {
			if err := steps(ctx, w, g); err != nil {
				return err
			}
			if endEpoch {
				if err := g.Trainer.EndEpoch(ctx); err != nil {
					return err
				}
			}
			weights[w], err = g.Weights(ctx)
			return err
		})
	})
	return weights
}

// TestLocalSGD follows the formula by hand in float64: each worker goes its own way from step BeginStep on and meets the others
// every KSteps; with momentum each keeps its own velocity.
func TestLocalSGD(t *testing.T) {
	t.Parallel()
	const lr, k, begin, steps = 0.1, 3, 2, 9
	grad := func(worker, step int) float64 { return float64((worker+1)*(step*step%5) - 2) }
	for name, c := range map[string]struct {
		rule optimizer.Rule
		mu   float64
	}{"SGD": {optimizer.SGD{LR: lr}, 0}, "Momentum": {optimizer.Momentum{LR: lr, Momentum: 0.9}, 0.9}} {
		s := strategy.Sync()
		s.LocalSGD = strategy.LocalSGD{KSteps: k, BeginStep: begin}
		got := trainGiven(t, 2, c.rule, s, false, func(ctx context.Context, worker int, g *trial.Given) error {
			for step := 1; step <= steps; step++ {
				if _, err := g.Step(ctx, 4, float32(grad(worker, step)), 0); err != nil {
					return err
				}
			}
			return nil
		})
		w, v, last := [2]float64{1, 1}, [2]float64{}, 0
		for step := 1; step <= steps; step++ {
			for i := range w {
				v[i] = c.mu*v[i] + grad(i, step)
				w[i] -= lr * v[i]
			}
			if step <= begin || step-last == k {
				mean := (w[0] + w[1]) / 2
				w, last = [2]float64{mean, mean}, step
			}
		}
		for i := range w {
			if math.Abs(float64(got[i][0])-w[i]) > 1e-5 || got[i][1] != 2 {
				t.Errorf("%s: worker %d has %v, the formula %v", name, i, got[i], w[i])
			}
		}
		if w[0] == w[1] {
			t.Error("the test ends where all copies are the same, and shows less")
		}
	}
}

// TestAdaptiveLocalSGD follows the formula by hand: the less is lost and the higher the rate, the oftener workers meet.
func TestAdaptiveLocalSGD(t *testing.T) {
	t.Parallel()
	const steps, init = 41, 5
	grad := func(worker, step int) float64 { return float64((worker+1)*(step*step%5) - 2) }
	loss := func(worker, step int) float64 { return float64(8+worker) / float64(1+step%13) }
	schedule := lr.ExponentialDecay{LR: 0.1, Gamma: 0.95}
	s := strategy.Sync()
	s.AdaptiveLocalSGD.InitKSteps = init
	got := trainGiven(t, 2, optimizer.SGD{Schedule: schedule}, s, false,
		func(ctx context.Context, worker int, g *trial.Given) error {
			for step := 1; step <= steps; step++ {
				g.Loss = loss(worker, step)
				if _, err := g.Step(ctx, 4, float32(grad(worker, step)), 0); err != nil {
					return err
				}
			}
			return nil
		})
	w, last, k, loss0, met := [2]float64{1, 1}, 0, 0, 0.0, map[int]bool{}
	for step := 1; step <= steps; step++ {
		lr := schedule.Rate(int64(step - 1))
		for i := range w {
			w[i] -= lr * grad(i, step)
		}
		if step > 1 && step-last < k {
			continue
		}
		mean, l := (w[0]+w[1])/2, (loss(0, step)+loss(1, step))/2
		if step == 1 {
			loss0 = l
		}
		w, last = [2]float64{mean, mean}, step
		k = min(16, max(1, int(math.Ceil(math.Sqrt(0.1*l/(lr*loss0)*init)))))
		met[k] = true
	}
	for i := range w {
		if math.Abs(float64(got[i][0])-w[i]) > 1e-5 {
			t.Errorf("worker %d has %v, the formula %v", i, got[i], w[i])
		}
	}
	if len(met) < 3 || w[0] == w[1] {
		t.Errorf("the test shows little: k took the values %v", met)
	}
}

// TestLocalSGDEndsEpochsTogether: workers with different numbers of steps have one model when an epoch has ended.
func TestLocalSGDEndsEpochsTogether(t *testing.T) {
	t.Parallel()
	s := strategy.Sync()
	s.LocalSGD.KSteps = 2
	got := trainGiven(t, 3, optimizer.SGD{LR: 0.1}, s, true,
		func(ctx context.Context, worker int, g *trial.Given) error {
			for step := range 2 + 3*worker {
				if _, err := g.Step(ctx, 4, float32(step), float32(worker)); err != nil {
					return err
				}
			}
			return nil
		})
	if !slices.Equal(got[0], got[1]) || !slices.Equal(got[0], got[2]) || got[0][0] == 1 {
		t.Errorf("the workers have %v", got)
	}
}

// TestGradientMerge: k steps make one update, of the mean weighted by samples or of the sum, alone and with others.
func TestGradientMerge(t *testing.T) {
	t.Parallel()
	// the fifth step waits for three more, or the end of the epoch
	gradients, n := []float32{1, 3, -2, 6, 5}, []int{4, 4, 4, 8, 4}
	for _, c := range []struct {
		sum, ended bool
		want       float32
	}{{false, false, 1 - 0.1*56/20}, {true, false, 1 - 0.1*8}, {false, true, 1 - 0.1*(56./20+5)},
		{true, true, 1 - 0.1*(8+5)}} {
		s := strategy.Sync()
		s.GradientMerge = strategy.GradientMerge{KSteps: 4, Sum: c.sum}
		for _, workers := range []int{1, 2} {
			for i, w := range trainGiven(t, workers, optimizer.SGD{LR: 0.1}, s, c.ended,
				func(ctx context.Context, _ int, g *trial.Given) error {
					for step := range gradients {
						before, err := g.Step(ctx, n[step], gradients[step], 0)
						if err != nil {
							return err
						}
						if step < 4 && before[0] != 1 {
							t.Errorf("an update before step 4: %v at step %d", before, step)
						}
					}
					return nil
				}) {
				if math.Abs(float64(w[0]-c.want)) > 1e-6 || w[1] != 2 {
					t.Errorf("sum %t, ended %t: worker %d of %d has %v, want %v", c.sum, c.ended, i, workers, w, c.want)
				}
			}
		}
	}
}

// TestGradientMergeOfRows: an epoch in steps of a quarter, merged by four, is the epoch in whole steps.
func TestGradientMergeOfRows(t *testing.T) {
	t.Parallel()
	weights := func(k int) []byte {
		s := strategy.Sync()
		s.GradientMerge.KSteps = k
		return trial.Training{Rule: optimizer.Adagrad{LR: 0.1}, Strategy: s, To: 5 * k,
			Batch: func(f *fleet.Fleet, step int) []trial.Sample {
				return trial.Samples(32, step/k)[16*f.WorkerIndex():][16/k*(step%k):][:16/k]
			}}.Weights(t, trial.Cluster(0, 2))
	}
	if far := trial.Distance(t, weights(1), weights(4)); far > 1e-5 {
		t.Errorf("merged steps are %g away from whole ones", far)
	}
}

func TestWithoutServersIsRefusedWithServers(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*strategy.Strategy){
		"localsgd is for jobs without servers":             func(s *strategy.Strategy) { s.LocalSGD.KSteps = 2 },
		"adaptive_localsgd is for jobs without servers":    func(s *strategy.Strategy) { s.AdaptiveLocalSGD.InitKSteps = 2 },
		"fuse_grad_size_in_MB is for jobs without servers": func(s *strategy.Strategy) { s.FuseGradSizeInMB = 2 },
	} {
		s := strategy.Sync()
		change(&s)
		trial.Refused(t, trial.Cluster(1, 1), want, func(_ context.Context, f *fleet.Fleet) error {
			_, err := f.DistributedOptimizer(optimizer.SGD{}, s)
			return err
		})
	}
	s := strategy.Sync()
	s.LocalSGD.KSteps = 2
	for want, rule := range map[string]optimizer.Rule{"it is for SGD and Momentum": optimizer.Adam{LR: 1},
		`with embedding "emb"`: optimizer.SGD{LR: 1}} {
		trial.Refused(t, trial.Cluster(0, 2), want, func(_ context.Context, f *fleet.Fleet) error {
			return trial.Minimize(f, trial.NewToy(), rule, s)
		})
	}
}

// TestAdaptiveNeedsALoss: an objective that says no loss is told so, not trained with a k of nothing.
func TestAdaptiveNeedsALoss(t *testing.T) {
	t.Parallel()
	s := strategy.Sync()
	s.AdaptiveLocalSGD.InitKSteps = 2
	var both sync.WaitGroup // a worker that ends sooner is the error of one that still joins
	both.Add(2)
	trial.Refused(t, trial.Cluster(0, 2), "the objective says none", func(ctx context.Context, f *fleet.Fleet) error {
		g := trial.NewGiven(1)
		return trial.Play(ctx, f, g, optimizer.SGD{LR: 1}, s, func() error {
			_, err := g.Step(ctx, 1, 1)
			both.Done()
			both.Wait()
			return err
		})
	})
}

// meet makes so many barriers.
func meet(ctx context.Context, f *fleet.Fleet, times int) error {
	for range times {
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
	}
	return nil
}

// TestLocalSGDGoesOn draws jobs of local SGD with uneven epochs, in which a worker may make no step: one that goes on from a checkpoint between
// two of them ends with the bits of one that was not disturbed, also if its workers meet before they make a step.
//
// Promise: [G11] local SGD, fixed and adaptive, with uneven shares, goes on from a checkpoint between epochs to the
// same bits
func TestLocalSGDGoesOn(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	trial.EachSeed(t, 40, func(seed trial.Seed) {
		r := rand.New(rand.NewPCG(seed.N, 5))
		workers, k, begin := 2+r.IntN(2), 1+r.IntN(4), r.IntN(6)
		s := strategy.Sync()
		if s.LocalSGD = (strategy.LocalSGD{KSteps: k, BeginStep: begin}); r.IntN(2) == 0 {
			s.LocalSGD, s.AdaptiveLocalSGD = strategy.LocalSGD{},
				strategy.AdaptiveLocalSGD{InitKSteps: k, BeginStep: begin}
		}
		schedule := []lr.Schedule{nil, lr.ExponentialDecay{LR: 0.1, Gamma: 0.9}}[r.IntN(2)]
		rule := []optimizer.Rule{optimizer.SGD{LR: 0.1, Schedule: schedule},
			optimizer.Momentum{LR: 0.1, Schedule: schedule}}[r.IntN(2)]
		steps := make([][]int, 3) // by epoch and worker
		for e := range steps {
			for range workers {
				steps[e] = append(steps[e], max(e/2, r.IntN(7)))
			}
		}
		leg := func(from string, epochs [2]int, save string) []float32 {
			ended := make([][]float32, workers)
			fleettest.Run(t, 0, workers, func(ctx context.Context, f *fleet.Fleet) error {
				w, g := f.WorkerIndex(), trial.NewGiven(1, -2, 0.5)
				if err := trial.Minimize(f, g, rule, s); err != nil {
					return err
				}
				return trial.Begin(ctx, f, from, func() error {
					for e := epochs[0]; e < epochs[1]; e++ {
						if err := meet(ctx, f, min(len(from), 2)); err != nil { // with no step between
							return err
						}
						for i := range steps[e][w] {
							g.Loss = float64(1+(e*7+i*3+w)%5) / float64(1+e)
							x := float32((e*5+i*3+w*2)%7) - 3
							if _, err := g.Step(ctx, 4, x, x/3, x*x/7); err != nil {
								return err
							}
						}
						if err := errors.Join(g.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
							return err
						}
						if save != "" && e == 0 {
							if err := errors.Join(f.SavePersistables(ctx, save), f.BarrierWorker(ctx)); err != nil {
								return err
							}
						}
					}
					var err error
					ended[w], err = g.Weights(ctx)
					return err
				})
			})
			for w := range ended {
				if !slices.Equal(ended[w], ended[0]) {
					t.Errorf("seed %d: worker %d has %v, worker 0 %v", seed.N, w, ended[w], ended[0])
				}
			}
			return ended[0]
		}
		dir := t.TempDir()
		want := leg("", [2]int{0, 3}, dir)
		if got := leg(dir, [2]int{1, 3}, ""); !slices.Equal(got, want) {
			t.Errorf("seed %d, %d workers, %v, %+v %+v, steps %v: %v, undisturbed %v", seed.N, workers, rule,
				s.LocalSGD, s.AdaptiveLocalSGD, steps, got, want)
		}
	})
}

// TestLocalSGDIsSavedWhole: whenever worker 0 saves while an epoch ends, which takes several messages, what it saves is the model before or
// behind it: with the mean of the weights goes the mean of the rule's state.
//
// Promise: [G11] local SGD that is saved while an epoch ends has all of that or nothing; saved again, it has what
// changed without a step
// Also: TestLocalSGDIsSavedAgain, TestALoadIsSavedAgain
func TestLocalSGDIsSavedWhole(t *testing.T) {
	t.Parallel()
	dir, saves := t.TempDir(), 0
	var mu sync.Mutex
	var first *fleet.Fleet // worker 0, while its epoch ends
	save := func(name string) error { return first.SavePersistables(t.Context(), filepath.Join(dir, name)) }
	c := trial.Cluster(0, 2)
	c.Options.Transport = &trial.Tap{Transport: transport.NewMemory(), Before: func(string, [][]byte) error {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			return nil
		}
		saves++
		return save(fmt.Sprint(saves))
	}}
	s := strategy.Sync()
	s.LocalSGD = strategy.LocalSGD{KSteps: 2}
	c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		w, g := f.WorkerIndex(), trial.NewGiven(1, -2, 0.5)
		return trial.Play(ctx, f, g, optimizer.Momentum{LR: 0.1}, s, func() error {
			for i := range 4 { // all copies are one behind the third
				if _, err := g.Step(ctx, 4, float32(i+w), float32(2*w), 1); err != nil {
					return err
				}
			}
			if w == 0 {
				mu.Lock()
				first = f
				mu.Unlock()
			}
			if err := g.Trainer.EndEpoch(ctx); err != nil || w > 0 {
				return errors.Join(err, f.BarrierWorker(ctx))
			}
			mu.Lock()
			err := save("end")
			first = nil
			mu.Unlock()
			return errors.Join(err, f.BarrierWorker(ctx))
		})
	})
	weights := func(name string) []byte {
		all, err := filepath.Glob(filepath.Join(dir, name, "*.safetensors"))
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %q, %v", name, all, err)
		}
		data, err := os.ReadFile(all[0])
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	begins, end := weights("1"), weights("end")
	for i := range saves {
		if got := weights(fmt.Sprint(i + 1)); !bytes.Equal(got, begins) && !bytes.Equal(got, end) {
			t.Errorf("save %d of %d is neither the model before the epoch's end nor that behind it", i+1, saves)
		}
	}
	if bytes.Equal(begins, end) || saves < 4 {
		t.Errorf("%d saves, and the epoch's end has changed the model: %t", saves, !bytes.Equal(begins, end))
	}
}

// TestLocalSGDIsSavedAgain: a checkpoint with the progress of the one before is another where copies have met between the two, or weights
// were loaded, though no step was made.
func TestLocalSGDIsSavedAgain(t *testing.T) {
	t.Parallel()
	s := strategy.Sync()
	s.LocalSGD = strategy.LocalSGD{KSteps: 3}
	s.Recovery = strategy.Recovery{Dir: t.TempDir()}
	weights := make([][]float32, 4) // by worker, when the job ends, and when it goes on
	for leg := range 2 {
		fleettest.Run(t, 0, 2, func(ctx context.Context, f *fleet.Fleet) error {
			w, g := f.WorkerIndex(), trial.NewGiven(1, -2)
			return trial.Play(ctx, f, g, optimizer.SGD{LR: 0.1}, s, func() (err error) {
				for step := 0; leg == 0 && step < 3; step++ { // the last two are of each worker alone
					if _, err := g.Step(ctx, 4, float32(step+w), float32(w)); err != nil {
						return err
					}
				}
				if leg == 0 {
					err = f.Checkpoint(ctx)
					err = errors.Join(err, g.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx), f.Checkpoint(ctx))
				}
				if err == nil {
					weights[2*leg+w], err = g.Weights(ctx)
				}
				return err
			})
		})
	}
	if !slices.Equal(weights[0], weights[1]) || !slices.Equal(weights[2], weights[0]) ||
		!slices.Equal(weights[3], weights[0]) {
		t.Errorf("the copies are %v and %v, and go on as %v and %v", weights[0], weights[1], weights[2], weights[3])
	}
}

// TestALoadIsSavedAgain: weights that were loaded between two checkpoints, of the same step and with the same progress, are in the second.
func TestALoadIsSavedAgain(t *testing.T) {
	t.Parallel()
	other, s := t.TempDir(), strategy.Sync()
	var ended [][]float32
	for leg := range 3 {
		if leg == 1 {
			s.Recovery = strategy.Recovery{Dir: t.TempDir()}
		}
		fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error { // others load before they train
			g := trial.NewGiven(1, -2)
			return trial.Play(ctx, f, g, optimizer.SGD{LR: 0.1}, s, func() (err error) {
				if leg < 2 {
					_, err = g.Step(ctx, 4, float32(leg+1), 1)
				}
				if leg == 1 && err == nil {
					err = errors.Join(f.Checkpoint(ctx), f.LoadModel(ctx, other), f.Checkpoint(ctx))
				}
				if err != nil {
					return err
				}
				w, err := g.Weights(ctx)
				if ended = append(ended, w); err == nil && leg == 0 {
					err = f.SavePersistables(ctx, other)
				}
				return err
			})
		})
	}
	if !slices.Equal(ended[1], ended[0]) || !slices.Equal(ended[2], ended[1]) {
		t.Errorf("loaded %v, it has %v and goes on with %v", ended[0], ended[1], ended[2])
	}
}
