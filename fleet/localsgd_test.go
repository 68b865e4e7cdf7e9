package fleet_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// dense is an objective of one weight vector whose gradients are given.
type dense struct {
	w       *optimizer.Param
	loss    float64 // of the next step
	trainer optimizer.Trainer
	session optimizer.Session
}

func newDense(w ...float32) *dense {
	values := optimizer.Assign(w)
	return &dense{w: &optimizer.Param{Name: "w", Shape: []int{len(w)}, Init: values, W: make([]float32, len(w)), G: make([]float32, len(w))}}
}

func (d *dense) Params() []*optimizer.Param { return []*optimizer.Param{d.w} }
func (d *dense) Bind(t optimizer.Trainer)   { d.trainer = t }

// step makes a step of n samples with gradient g and returns what the weights were before it.
func (d *dense) step(ctx context.Context, n int, g ...float32) (before []float32, err error) {
	if d.session == nil {
		if d.session, err = d.trainer.Open(d.Params()); err != nil {
			return nil, err
		}
	}
	st := &optimizer.Step{Samples: n}
	if err := d.session.Begin(ctx, st); err != nil {
		return nil, err
	}
	before = slices.Clone(d.w.W)
	copy(d.w.G, g)
	st.Loss = d.loss
	return before, d.session.End(ctx, st)
}

// eval is what the weights are now.
func (d *dense) eval(ctx context.Context) ([]float32, error) {
	st := &optimizer.Step{Eval: true}
	err := d.session.Begin(ctx, st)
	return slices.Clone(d.w.W), errors.Join(err, d.session.End(ctx, st))
}

// trainDense runs steps on every worker and returns each one's weights in the end, after its epoch has ended or before.
func trainDense(t *testing.T, workers int, rule optimizer.Rule, s strategy.Strategy, endEpoch bool,
	steps func(ctx context.Context, worker int, d *dense) error) [][]float32 {
	t.Helper()
	weights := make([][]float32, workers)
	fleettest.Run(t, 0, workers, func(ctx context.Context, f *fleet.Fleet) error {
		d := newDense(1, 2)
		opt, err := f.DistributedOptimizer(rule, s)
		if err == nil {
			err = opt.Minimize(d)
		}
		if err == nil {
			err = f.InitWorker(ctx)
		}
		if err == nil {
			err = steps(ctx, f.WorkerIndex(), d)
		}
		if err == nil && endEpoch {
			err = d.trainer.EndEpoch(ctx)
		}
		if err != nil {
			return err
		}
		weights[f.WorkerIndex()], err = d.eval(ctx)
		return errors.Join(err, f.StopWorker(ctx))
	})
	return weights
}

// TestLocalSGD follows the formula by hand in float64: each worker goes its own way from step BeginStep on and meets the others
// every KSteps; with momentum each keeps its own velocity.
func TestLocalSGD(t *testing.T) {
	const lr, k, begin, steps = 0.1, 3, 2, 9
	grad := func(worker, step int) float64 { return float64((worker+1)*(step*step%5) - 2) }
	for name, c := range map[string]struct {
		rule optimizer.Rule
		mu   float64
	}{"SGD": {optimizer.SGD{LR: lr}, 0}, "Momentum": {optimizer.Momentum{LR: lr, Momentum: 0.9}, 0.9}} {
		s := strategy.Sync()
		s.LocalSGD = strategy.LocalSGD{KSteps: k, BeginStep: begin}
		got := trainDense(t, 2, c.rule, s, false, func(ctx context.Context, worker int, d *dense) error {
			for step := 1; step <= steps; step++ {
				if _, err := d.step(ctx, 4, float32(grad(worker, step)), 0); err != nil {
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
	const steps, init = 41, 5
	grad := func(worker, step int) float64 { return float64((worker+1)*(step*step%5) - 2) }
	loss := func(worker, step int) float64 { return float64(8+worker) / float64(1+step%13) }
	schedule := optimizer.ExponentialDecay{LR: 0.1, Gamma: 0.95}
	s := strategy.Sync()
	s.AdaptiveLocalSGD.InitKSteps = init
	got := trainDense(t, 2, optimizer.SGD{Schedule: schedule}, s, false, func(ctx context.Context, worker int, d *dense) error {
		for step := 1; step <= steps; step++ {
			d.loss = loss(worker, step)
			if _, err := d.step(ctx, 4, float32(grad(worker, step)), 0); err != nil {
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
	s := strategy.Sync()
	s.LocalSGD.KSteps = 2
	got := trainDense(t, 3, optimizer.SGD{LR: 0.1}, s, true, func(ctx context.Context, worker int, d *dense) error {
		for step := range 2 + 3*worker {
			if _, err := d.step(ctx, 4, float32(step), float32(worker)); err != nil {
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
	g, n := []float32{1, 3, -2, 6, 5}, []int{4, 4, 4, 8, 4} // the fifth step waits for three more, or the end of the epoch
	for _, c := range []struct {
		sum, ended bool
		want       float32
	}{{false, false, 1 - 0.1*56/20}, {true, false, 1 - 0.1*8}, {false, true, 1 - 0.1*(56./20+5)}, {true, true, 1 - 0.1*(8+5)}} {
		s := strategy.Sync()
		s.GradientMerge = strategy.GradientMerge{KSteps: 4, Sum: c.sum}
		for _, workers := range []int{1, 2} {
			for i, w := range trainDense(t, workers, optimizer.SGD{LR: 0.1}, s, c.ended, func(ctx context.Context, _ int, d *dense) error {
				for step := range g {
					before, err := d.step(ctx, n[step], g[step], 0)
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
	models := map[int][]byte{}
	for _, k := range []int{1, 4} {
		dir := t.TempDir()
		s := strategy.Sync()
		s.GradientMerge.KSteps = k
		fleettest.Run(t, 0, 2, func(ctx context.Context, f *fleet.Fleet) error {
			o := newToy()
			opt, err := f.DistributedOptimizer(optimizer.Adagrad{LR: 0.1}, s)
			if err == nil {
				err = opt.Minimize(o)
			}
			if err == nil {
				err = f.InitWorker(ctx)
			}
			for step := range 5 {
				for part := range k {
					batch := samples(32, step)[16*f.WorkerIndex():][16/k*part : 16/k*(part+1)]
					if err == nil {
						err = o.train(ctx, batch, nil)
					}
				}
			}
			if err == nil && f.IsFirstWorker() {
				err = f.SaveInferenceModel(ctx, dir, o)
			}
			return errors.Join(err, f.StopWorker(ctx))
		})
		models[k] = read(t, filepath.Join(dir, "weights.safetensors"))
	}
	if far := distance(t, models[1], models[4]); far > 1e-5 {
		t.Errorf("merged steps are %g away from whole ones", far)
	}
}

func TestWithoutServersIsRefusedWithServers(t *testing.T) {
	for want, change := range map[string]func(*strategy.Strategy){
		"localsgd is for jobs without servers":             func(s *strategy.Strategy) { s.LocalSGD.KSteps = 2 },
		"adaptive_localsgd is for jobs without servers":    func(s *strategy.Strategy) { s.AdaptiveLocalSGD.InitKSteps = 2 },
		"fuse_grad_size_in_MB is for jobs without servers": func(s *strategy.Strategy) { s.FuseGradSizeInMB = 2 },
	} {
		s := strategy.Sync()
		change(&s)
		for role, err := range (fleettest.Cluster{Servers: 1, Workers: 1}).Errors(t, func(_ context.Context, f *fleet.Fleet) error {
			_, err := f.DistributedOptimizer(optimizer.SGD{}, s)
			return err
		}) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", role, err, want)
			}
		}
	}
	s := strategy.Sync()
	s.LocalSGD.KSteps = 2
	for want, rule := range map[string]optimizer.Rule{"it is for SGD and Momentum": optimizer.Adam{LR: 1}, `with embedding "emb"`: optimizer.SGD{LR: 1}} {
		for role, err := range (fleettest.Cluster{Workers: 2}).Errors(t, func(_ context.Context, f *fleet.Fleet) error {
			opt, err := f.DistributedOptimizer(rule, s)
			return errors.Join(err, opt.Minimize(newToy()))
		}) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", role, err, want)
			}
		}
	}
}

// TestAdaptiveNeedsALoss: an objective that says no loss is told so, not trained with a k of nothing.
func TestAdaptiveNeedsALoss(t *testing.T) {
	s := strategy.Sync()
	s.AdaptiveLocalSGD.InitKSteps = 2
	for role, err := range (fleettest.Cluster{Workers: 2}).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		defer f.Close()
		d := newDense(1)
		opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, s)
		if err = errors.Join(err, opt.Minimize(d), f.InitWorker(ctx)); err == nil {
			_, err = d.step(ctx, 1, 1)
		}
		return err
	}) {
		if err == nil || !strings.Contains(err.Error(), "the objective says none") {
			t.Errorf("%s: %v", role, err)
		}
	}
}
